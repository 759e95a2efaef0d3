// A tablet of an ordered table on a simulated machine. For tests.
#pragma once

#include <string>
#include <vector>

#include "table/model/ordered.h"
#include "table/tablet/test_table.h"

namespace moraine::table {

// v string, and the columns that the tablet fills in.
inline TableSchema ordered_test_schema() {
  TableSchema schema;
  schema.columns = {value_column("v"), value_column("$timestamp", ColumnType::kUint64),
                    value_column("$cumulative_data_weight", ColumnType::kInt64)};
  return ordered_schema(schema);
}

class OrderedTable : public TestTable {
 public:
  explicit OrderedTable(std::uint64_t seed, MountConfig mount = {},
                        TableSchema schema = ordered_test_schema())
      : TestTable(seed, std::move(schema), mount) {
    boot();
  }

  // As a client makes it: rows of the first tablet, numbered from 0.
  TabletWrite appending(const std::vector<std::string>& texts) {
    std::vector<RowChange> changes;
    for (const std::string& text : texts) {
      const auto number = static_cast<std::int64_t>(changes.size());
      changes.push_back(rows.put({{"$tablet_index", 0}, {"$row_index", number}, {"v", text}}));
    }
    return transaction(std::move(changes));
  }
  Result<Timestamp> append(const std::vector<std::string>& texts) {
    return world.run(tablet->commit(appending(texts)));
  }
  Result<void> trim(std::uint64_t count) { return world.run(tablet->trim(count)); }
  // The texts of all rows, each with its number: "0:a".
  std::vector<std::string> texts(Timestamp timestamp = kSyncLastCommitted) {
    std::vector<std::string> found;
    for (const std::string& line : all(timestamp)) found.push_back(short_line(line));
    return found;
  }

 private:
  static std::string field(const std::string& line, std::string_view name) {
    const std::size_t at = line.find(name);
    if (at == std::string::npos) return "?";
    const std::size_t from = at + name.size();
    return line.substr(from, line.find(' ', from) - from);
  }
  static std::string short_line(const std::string& line) {
    if (line.starts_with("error")) return line;
    return field(line, "$row_index=") + ":" + field(line, " v=");
  }
};

}  // namespace moraine::table
