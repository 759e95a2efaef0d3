// Columns that became `any` while rows of the old type are in chunks.
#include <gtest/gtest.h>

#include "table/model/key.h"
#include "table/model/value_check.h"
#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

class WidenedColumns : public testing::TestWithParam<OptimizeFor> {
 protected:
  static TableSchema schema(ColumnType of_n, ColumnType of_v) {
    TableSchema made;
    made.columns = {key_column("k"), value_column("n", of_n), value_column("v", of_v)};
    made.columns[2].max_inline_hunk_size = 20;
    return made;
  }
  WidenedColumns() : table_(3, schema(ColumnType::kInt64, ColumnType::kString), mount()) {
    table_.settings.chunks.format = GetParam();
    table_.boot();
    table_.put({{"k", 1}, {"n", 300}, {"v", "5"}});
    table_.put({{"k", 2}, {"n", 301}, {"v", std::string_view(long_)}});
    EXPECT_TRUE(table_.world.run(table_.tablet->freeze()));
    table_.stop();
    table_.settings.schema =
        std::make_shared<const TableSchema>(schema(ColumnType::kAny, ColumnType::kAny));
    table_.rows.schema = table_.settings.schema;
    table_.boot();
  }
  static MountConfig mount() {
    MountConfig mount;
    mount.min_data_ttl = mount.max_data_ttl = 0ms;
    return mount;
  }
  // The value as an `any` column stores it.
  static std::string yson(const Value& scalar) {
    TextMemory memory;
    return std::string(as_any(scalar, memory).text());
  }
  std::vector<std::string> expected() const {
    return {"k=1 n=" + yson(300) + " v=" + yson("5"),
            "k=2 n=" + yson(301) + " v=" + yson(std::string_view(long_))};
  }
  void expect_rows() {
    EXPECT_EQ(table_.all(), expected());
    EXPECT_EQ(table_.get({{"k", 1}}), expected()[0]);
    EXPECT_EQ(table_.get({{"k", 2}}), expected()[1]);
  }

  const std::string long_ = std::string(100, 'x');
  TestTable table_;
};

TEST_P(WidenedColumns, ReadOldScalarsAsYsonInLookupsAndScans) {
  expect_rows();
}

TEST_P(WidenedColumns, ReadThemSoByVersionsToo) {
  for (const std::int64_t k : {1, 2}) {
    std::string key;
    append_key_column(key, Value(k));
    const auto row = table_.world.run(
        table_.tablet->reader().lookup_versions(key, kSyncLastCommitted, std::nullopt));
    ASSERT_TRUE(row) << row.error().message();
    ASSERT_EQ(row->row.values.size(), 2u);
    for (const VersionedValue& value : row->row.values) {
      EXPECT_EQ(value.value.type(), ValueType::kAny);
      const std::string of_n = yson(k == 1 ? 300 : 301);
      const std::string of_v = yson(k == 1 ? std::string_view("5") : std::string_view(long_));
      EXPECT_EQ(value.value.text(), value.column == 1 ? of_n : of_v);
    }
  }
}

TEST_P(WidenedColumns, ReadThemSoBesideYoungerRowsAndAfterACompaction) {
  table_.put({{"k", 3}, {"n", Value::any("7")}, {"v", Value::any("8")}});
  EXPECT_EQ(table_.all().size(), 3u);
  EXPECT_EQ(table_.all()[0], expected()[0]);
  table_.erase({{"k", 3}});
  table_.flush();
  table_.world.run_for(2s);
  table_.compact();
  expect_rows();
  table_.crash();
  expect_rows();
}

INSTANTIATE_TEST_SUITE_P(Formats, WidenedColumns,
                         testing::Values(OptimizeFor::kLookup, OptimizeFor::kScan),
                         [](const auto& info) {
                           return info.param == OptimizeFor::kLookup ? "Lookup" : "Scan";
                         });

}  // namespace
}  // namespace moraine::table
