// A database in a new folder, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "moraine/database.h"

namespace moraine {

inline ColumnSchema column(std::string name, ColumnType type, bool key = false) {
  ColumnSchema made;
  made.name = std::move(name);
  made.type = type;
  made.key = key;
  return made;
}

inline TableSchema users_schema() {
  TableSchema schema;
  schema.columns = {column("id", ColumnType::kInt64, true), column("name", ColumnType::kString),
                    column("score", ColumnType::kInt64)};
  schema.columns[2].aggregate = Aggregate::kSum;
  return schema;
}

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "moraine-db-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    open();
  }
  ~DatabaseTest() override {
    db_.reset();
    std::filesystem::remove_all(folder_);
  }
  void open() {
    OpenOptions options;
    options.device_bytes = std::uint64_t{512} << 20;
    auto opened = Database::open(folder_ + "/data", options);
    ASSERT_TRUE(opened) << opened.error().message();
    db_.emplace(std::move(*opened));
  }
  void reopen() {
    db_.reset();
    open();
  }
  void expect_ok(const Result<void>& result) { EXPECT_TRUE(result) << result.error().message(); }
  Table users() {
    auto table = db_->table("/users");
    EXPECT_TRUE(table) << table.error().message();
    return std::move(*table);
  }
  Timestamp insert(const Table& table, std::initializer_list<NamedValue> row,
                   WriteOptions options = {}) {
    auto tx = db_->begin();
    EXPECT_TRUE(tx) << tx.error().message();
    expect_ok(tx->insert(table, row, options));
    const auto committed = tx->commit();
    EXPECT_TRUE(committed) << committed.error().message();
    return committed.value_or(0);
  }
  // "-": no such row.
  std::string name_of(const Table& table, std::int64_t id, ReadOptions options = {}) {
    Rowset rows;
    const auto found = table.lookup({Value(id)}, options, rows);
    if (!found) return found.error().message();
    if (!rows.exists(0)) return "-";
    return std::string(rows.at(0, 1).text());
  }

  std::string folder_;
  std::optional<Database> db_;
};

}  // namespace moraine
