// Accounts in a table: transfers in transactions, balances read from one snapshot.
#include <cstdio>

#include "moraine/database.h"

using namespace moraine;

namespace {

int fail_with(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

// Moves money, or fails with kAborted when another transfer was first.
Result<Timestamp> transfer(Database& db, const Table& accounts, int from, int to, int amount) {
  auto tx = db.begin();
  if (!tx) return std::unexpected(tx.error());
  const Value keys[] = {from, to};
  const Key both[] = {Key(&keys[0], 1), Key(&keys[1], 1)};
  Rowset rows;
  if (auto read = tx->lookup(accounts, both, {}, rows); !read) return std::unexpected(read.error());
  for (int i = 0; i < 2; ++i) {
    const auto balance = rows.at(i, 1).as_int64() + (i == 0 ? -amount : amount);
    const auto written = tx->insert(accounts, {{"id", keys[i]}, {"balance", balance}});
    if (!written) return std::unexpected(written.error());
  }
  return tx->commit();
}

}  // namespace

int main(int count, char** arguments) {
  auto db = Database::open(count > 1 ? arguments[1] : "./data");
  if (!db) return fail_with(db.error());
  TableSchema schema;
  schema.columns = {{.name = "id", .type = ColumnType::kInt64, .key = true},
                    {.name = "balance", .type = ColumnType::kInt64}};
  const auto made = db->run(db->create_table("/bank/accounts", schema));
  if (!made && made.error().code != Errc::kAlreadyExists) return fail_with(made.error());
  auto accounts = db->table("/bank/accounts");
  if (!accounts) return fail_with(accounts.error());
  auto tx = db->begin();
  if (!tx) return fail_with(tx.error());
  for (int id : {1, 2}) {
    const auto written = tx->insert(*accounts, {{"id", id}, {"balance", 100}});
    if (!written) return fail_with(written.error());
  }
  if (auto opened = tx->commit(); !opened) return fail_with(opened.error());
  if (auto moved = transfer(*db, *accounts, 1, 2, 30); !moved) return fail_with(moved.error());
  auto scan = accounts->scan();
  ScanBatch batch;
  while (scan && scan->next(batch).value_or(false)) {
    for (std::size_t i = 0; i < batch.rows; ++i) {
      std::printf("account %lld: %lld\n", static_cast<long long>(batch.columns[0].at(i).as_int64()),
                  static_cast<long long>(batch.columns[1].at(i).as_int64()));
    }
  }
}
