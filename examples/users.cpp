// The program of the README: a row is written in a transaction and read back.
#include <cstdio>
#include <string>

#include "moraine/database.h"

using namespace moraine;

Result<std::string> run(const char* folder) {
  auto db = Database::open(folder);
  if (!db) return std::unexpected(db.error());
  TableSchema schema;
  schema.columns = {{.name = "id", .type = ColumnType::kInt64, .key = true},
                    {.name = "name", .type = ColumnType::kString},
                    {.name = "score", .type = ColumnType::kDouble}};
  auto made = db->run(db->create_table("/users", schema));
  if (!made && made.error().code != Errc::kAlreadyExists) return std::unexpected(made.error());
  auto users = db->table("/users");
  if (!users) return std::unexpected(users.error());

  auto tx = db->begin();
  if (!tx) return std::unexpected(tx.error());
  auto written = tx->insert(*users, {{"id", 1}, {"name", "Ada"}, {"score", 3}});
  if (!written) return std::unexpected(written.error());
  auto committed = tx->commit();  // Durable when it returns.
  if (!committed) return std::unexpected(committed.error());

  Rowset rows;
  auto found = users->lookup({1}, {}, rows);
  if (!found) return std::unexpected(found.error());
  return rows.exists(0) ? std::string(rows.at(0, 1).text()) : "nobody";
}

int main(int count, char** arguments) {
  const auto name = run(count > 1 ? arguments[1] : "./data");
  if (!name) {
    std::fprintf(stderr, "%s\n", name.error().message().c_str());
    return 1;
  }
  std::printf("%s\n", name->c_str());
}
