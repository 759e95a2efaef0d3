// Opens the database in the given folder, writes a row and reads it.

#include <moraine/database.h>

#include <iostream>

namespace {

using namespace moraine;

Result<void> use(const std::string& folder) {
  Result<Database> db = Database::open(folder);
  if (!db) return std::unexpected(db.error());
  TableSchema schema;
  schema.columns = {{.name = "id", .type = ColumnType::kInt64, .key = true},
                    {.name = "name", .type = ColumnType::kString}};
  if (auto made = db->run(db->create_table("/users", schema)); !made) return made;
  Result<Table> users = db->table("/users");
  if (!users) return std::unexpected(users.error());
  Result<Transaction> tx = db->begin();
  if (!tx) return std::unexpected(tx.error());
  if (auto given = tx->insert(*users, {{"id", 1}, {"name", "Ada"}}); !given) return given;
  if (auto committed = tx->commit(); !committed) return std::unexpected(committed.error());
  Rowset rows;
  if (auto read = users->lookup({1}, {}, rows); !read) return read;
  std::cout << "user 1: " << rows.at(0, 1).text() << "\n";
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: external FOLDER\n";
    return 2;
  }
  if (auto used = use(argv[1]); !used) {
    std::cerr << used.error().message() << "\n";
    return 1;
  }
}
