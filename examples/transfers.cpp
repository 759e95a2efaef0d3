// Coroutines: many concurrent transfers on the database's thread; one that loses a conflict is
// retried.
#include <cstdio>

#include "moraine/database.h"
#include "moraine/when_all.h"

using namespace moraine;

namespace {

Task<Result<Timestamp>> try_transfer(Database& db, Table accounts, int from, int to) {
  auto tx = co_await db.begin_async();
  if (!tx) co_return std::unexpected(tx.error());
  const std::vector<std::vector<Value>> keys = {std::vector<Value>{from}, std::vector<Value>{to}};
  Rowset rows;
  const auto read = co_await tx->lookup_async(accounts, keys, {}, rows);
  if (!read) co_return std::unexpected(read.error());
  for (int i = 0; i < 2; ++i) {
    const auto balance = rows.exists(i) ? rows.at(i, 1).as_int64() : 100;
    const auto changed =
        tx->insert(accounts, {{"id", keys[i][0]}, {"balance", balance + (i == 0 ? -1 : 1)}});
    if (!changed) co_return std::unexpected(changed.error());
  }
  co_return co_await tx->commit_async();
}

Task<Result<Timestamp>> transfer(Database& db, Table accounts, int from, int to) {
  for (;;) {
    auto done = co_await try_transfer(db, accounts, from, to);
    if (done || done.error().code != Errc::kAborted) co_return done;
  }
}

Task<void> transfer_all(Database& db, Table accounts) {
  std::vector<Task<Result<Timestamp>>> transfers;
  for (int i = 0; i < 20; ++i) transfers.push_back(transfer(db, accounts, 1, 2 + i % 2));
  for (const auto& done : co_await when_all(std::move(transfers))) {
    if (!done) std::printf("%s\n", done.error().message().c_str());
  }
}

}  // namespace

int main(int count, char** arguments) {
  auto db = Database::open(count > 1 ? arguments[1] : "./data");
  TableSchema schema;
  schema.columns = {{.name = "id", .key = true}, {.name = "balance"}};
  for (ColumnSchema& column : schema.columns) column.type = ColumnType::kInt64;
  if (!db || !db->run(db->create_table("/accounts", schema))) return 1;
  const auto accounts = db->table("/accounts");
  if (!accounts) return 1;
  db->run<void>([&] { return transfer_all(*db, *accounts); });
  Rowset rows;
  for (int id : {1, 2, 3}) {
    if (!accounts->lookup({id}, {}, rows)) return 1;
    std::printf("account %d: %d\n", id, static_cast<int>(rows.at(0, 1).as_int64()));
  }
  return db->run(db->remove_table("/accounts")) ? 0 : 1;
}
