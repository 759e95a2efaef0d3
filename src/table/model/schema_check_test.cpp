#include "table/model/schema_check.h"

#include <gtest/gtest.h>

#include "table/model/limits.h"
#include "table/model/logical_type.h"

namespace moraine::table {
namespace {

class SchemaCheck : public testing::Test {
 protected:
  SchemaCheck() {
    schema_.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                       {.name = "v", .type = ColumnType::kString}};
  }
  ColumnSchema& key() { return schema_.columns.front(); }
  ColumnSchema& value() { return schema_.columns.back(); }
  void add(ColumnSchema column) { schema_.columns.push_back(std::move(column)); }
  // Empty: valid. Checks the common beginning of the error.
  std::string why(TableKind kind = TableKind::kSorted) {
    const auto checked = check_schema(schema_, kind);
    if (checked) return "";
    constexpr std::string_view kBegin = "New table schema is not valid: ";
    EXPECT_TRUE(checked.error().context.starts_with(kBegin)) << checked.error().context;
    return checked.error().context.substr(kBegin.size());
  }

  TableSchema schema_;
};

TEST_F(SchemaCheck, KeyAndValueAreEnough) {
  EXPECT_EQ(why(), "");
}

TEST_F(SchemaCheck, ASortedTableNeedsAKeyAndAValue) {
  schema_.columns.pop_back();
  EXPECT_EQ(why(), "There must be at least one non-key column");
  EXPECT_EQ(why(TableKind::kStatic), "");
  key().key = false;
  EXPECT_EQ(why(), "There must be at least one key column");
  EXPECT_EQ(why(TableKind::kStatic), "");
}

TEST_F(SchemaCheck, KeysFormAPrefix) {
  add({.name = "l", .key = true});
  EXPECT_EQ(why(), "column \"l\" is a key column after a value column: keys must form a prefix");
}

TEST_F(SchemaCheck, NamesAreUniqueNotEmptyAndBounded) {
  value().name = "k";
  EXPECT_EQ(why(), "column \"k\" is listed twice");
  value().name = "";
  EXPECT_EQ(why(), "a column has no name");
  value().name = std::string(kNameBytesMax, 'x');
  EXPECT_EQ(why(), "");
  value().name += 'x';
  EXPECT_TRUE(why().ends_with("has a name that is too long"));
}

TEST_F(SchemaCheck, NamesWithADollarAreReservedButForTtl) {
  value().name = "$value";
  EXPECT_EQ(why(), "column \"$value\" has a reserved name");
  value().name = "$ttl";
  EXPECT_EQ(why(), "column \"$ttl\" must be an optional uint64 value");
  value().type = ColumnType::kUint64;
  EXPECT_EQ(why(), "");
  EXPECT_EQ(why(TableKind::kStatic), "column \"$ttl\" has a reserved name");
  value().required = true;
  EXPECT_EQ(why(), "column \"$ttl\" must be an optional uint64 value");
}

TEST_F(SchemaCheck, LocksAreBoundedAndNotOnKeys) {
  value().lock = std::string(kNameBytesMax + 1, 'x');
  EXPECT_EQ(why(), "column \"v\" has a lock name that is too long");
  value().lock = "l";
  EXPECT_EQ(why(), "");
  for (int i = 0; i < 31; ++i) add({.name = "a" + std::to_string(i), .lock = std::to_string(i)});
  EXPECT_EQ(why(), "");
  add({.name = "b", .lock = "b"});
  EXPECT_EQ(why(), "Too many column locks");
  schema_.columns.pop_back();
  key().lock = "l";
  EXPECT_EQ(why(), "column \"k\" is a key column and cannot have a lock");
}

TEST_F(SchemaCheck, GroupNamesAreBounded) {
  value().group = std::string(kNameBytesMax + 1, 'x');
  EXPECT_EQ(why(), "column \"v\" has a group name that is too long");
}

TEST_F(SchemaCheck, AnyCannotBeRequired) {
  value().type = ColumnType::kAny;
  value().required = true;
  EXPECT_EQ(why(), "column \"v\" of type any cannot be required");
}

TEST_F(SchemaCheck, ComputedColumnsAreOptionalKeysOverPlainKeys) {
  schema_.columns.insert(
      schema_.columns.begin(),
      {.name = "h", .type = ColumnType::kUint64, .key = true, .expression = "farm_hash(k)"});
  EXPECT_EQ(why(), "");
  key().required = true;
  EXPECT_EQ(why(), "column \"h\" is computed and cannot be required");
  key().required = false;
  key().expression = "farm_hash(v)";
  EXPECT_EQ(why(), "column \"h\" has a bad expression: column \"v\" is not a key column");
  key().expression = "h";
  EXPECT_EQ(why(), "column \"h\" has a bad expression: column \"h\" is computed");
  key().expression = "k";
  EXPECT_EQ(why(), "column \"h\" has an expression of type int64 and is of type uint64");
  key().expression = "k +";
  EXPECT_EQ(why(), "column \"h\" has a bad expression: unexpected end at byte 3");
  key().expression = "farm_hash(k)";
  value().expression = "k";
  EXPECT_EQ(why(), "column \"v\" is computed and must be a key column");
}

TEST_F(SchemaCheck, AggregatesFitTheirTypesAndAreNotOnKeys) {
  value().aggregate = Aggregate::kSum;
  EXPECT_EQ(why(), "column \"v\" of type string cannot have aggregate \"sum\"");
  for (const ColumnType type : {ColumnType::kInt64, ColumnType::kUint64, ColumnType::kDouble}) {
    value().type = type;
    EXPECT_EQ(why(), "");
  }
  value().type = ColumnType::kInt8;
  EXPECT_NE(why(), "");
  value().aggregate = Aggregate::kMin;
  EXPECT_EQ(why(), "");
  value().aggregate = Aggregate::kDictSum;
  EXPECT_NE(why(), "");
  value().type = ColumnType::kAny;
  EXPECT_EQ(why(), "");
  value().aggregate = Aggregate::kMax;
  EXPECT_NE(why(), "");
  value().aggregate = Aggregate::kFirst;
  EXPECT_EQ(why(), "");
  key().aggregate = Aggregate::kMax;
  EXPECT_EQ(why(), "column \"k\" is a key column and cannot be aggregated");
}

TEST_F(SchemaCheck, XdeltaIsForStrings) {
  value().aggregate = Aggregate::kXdelta;
  EXPECT_EQ(why(), "");
  for (const ColumnType type : {ColumnType::kUtf8, ColumnType::kAny, ColumnType::kUint64}) {
    value().type = type;
    EXPECT_TRUE(why().ends_with("cannot have aggregate \"xdelta\"")) << why();
  }
}

TEST_F(SchemaCheck, FewColumnsHaveXdelta) {
  schema_.columns.pop_back();
  for (std::size_t i = 0; i < kXdeltaColumnsMax; ++i) {
    add({.name = "v" + std::to_string(i),
         .type = ColumnType::kString,
         .aggregate = Aggregate::kXdelta});
  }
  EXPECT_EQ(why(), "");
  add({.name = "more", .type = ColumnType::kString, .aggregate = Aggregate::kXdelta});
  EXPECT_EQ(why(), "Too many columns with aggregate \"xdelta\": at most 8 are allowed");
}

TEST_F(SchemaCheck, UnknownAggregatesAreRefused) {
  value().aggregate = static_cast<Aggregate>(99);
  EXPECT_EQ(why(), "column \"v\" has an unknown aggregate");
}

TEST_F(SchemaCheck, HunksAreForPlainStringLikeValues) {
  value().max_inline_hunk_size = 0;
  EXPECT_EQ(why(), "column \"v\" has max_inline_hunk_size 0");
  value().max_inline_hunk_size = 10;
  EXPECT_EQ(why(), "");
  value().aggregate = Aggregate::kFirst;
  EXPECT_TRUE(why().starts_with("column \"v\" cannot have max_inline_hunk_size"));
  value().aggregate = Aggregate::kNone;
  value().type = ColumnType::kInt64;
  EXPECT_TRUE(why().starts_with("column \"v\" cannot have max_inline_hunk_size"));
  value() = {.name = "v"};
  key().type = ColumnType::kString;
  key().max_inline_hunk_size = 10;
  EXPECT_TRUE(why().starts_with("column \"k\" cannot have max_inline_hunk_size"));
}

TEST_F(SchemaCheck, ColumnsAreBounded) {
  while (schema_.columns.size() < kColumnsMax) {
    add({.name = "v" + std::to_string(schema_.columns.size())});
  }
  EXPECT_EQ(why(), "");
  add({.name = "more"});
  EXPECT_EQ(why(), "Too many columns");
  EXPECT_EQ(why(TableKind::kStatic), "");
}

TEST_F(SchemaCheck, KeyColumnsAreBounded) {
  schema_.columns.clear();
  for (std::size_t i = 0; i < kKeyColumnsMax; ++i) {
    add({.name = "k" + std::to_string(i), .key = true});
  }
  add({.name = "v"});
  EXPECT_EQ(why(), "");
  schema_.columns.insert(schema_.columns.begin(), {.name = "k", .key = true});
  EXPECT_EQ(why(), "Too many key columns");
  EXPECT_EQ(why(TableKind::kStatic), "");
}

TEST_F(SchemaCheck, ADynamicTableIsStrictWithUniqueKeys) {
  schema_.strict = false;
  EXPECT_EQ(why(), "the schema of a dynamic table must be strict");
  schema_.strict = true;
  schema_.unique_keys = false;
  EXPECT_EQ(why(), "a sorted dynamic table must have unique keys");
  EXPECT_EQ(why(TableKind::kStatic), "");
}

TEST(SchemaCheckTypes, TypesThatColumnsCannotHaveAreRefused) {
  const auto why = [](std::string_view yson, auto change) {
    TableSchema schema;
    schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true}, {.name = "v"}};
    set_type(schema.columns[1], *parse_type_text(yson));
    change(schema);
    const auto checked = check_schema(schema);
    return checked ? std::string() : checked.error().context;
  };
  const auto nothing = [](TableSchema&) {};
  EXPECT_EQ(why("{type_name=list;item=int8}", nothing), "");
  EXPECT_EQ(why("{type_name=decimal;precision=3;scale=2}", nothing), "");
  EXPECT_EQ(why("void", nothing), "");
  EXPECT_NE(why("yson", nothing), "") << "any cannot be required";
  const auto is_key = [](TableSchema& schema) {
    schema.columns[1].key = true;
    schema.columns.push_back({.name = "w"});
  };
  EXPECT_EQ(why("{type_name=decimal;precision=3;scale=2}", is_key), "");
  EXPECT_NE(why("{type_name=list;item=int8}", is_key), "");
  const auto sums = [](TableSchema& schema) { schema.columns[1].aggregate = Aggregate::kSum; };
  EXPECT_NE(why("{type_name=tagged;tag=t;item=int64}", sums), "");
  EXPECT_NE(why("void", [](TableSchema& schema) { schema.columns[1].required = true; }), "");
  EXPECT_NE(why("{type_name=list;item=int8}",
                [](TableSchema& schema) { schema.columns[1].type = ColumnType::kString; }),
            "");
  EXPECT_NE(why("int8", [](TableSchema& schema) { schema.columns[1].type_v3 = "{a=1}"; }), "");
}

TEST(SchemaCheckOrdered, OrderedTablesHaveNoKeysAndNoAggregates) {
  const auto fits = [](std::vector<ColumnSchema> columns) {
    TableSchema schema;
    schema.columns = std::move(columns);
    return check_schema(schema, TableKind::kOrdered).has_value();
  };
  EXPECT_TRUE(fits({{.name = "v"}}));
  EXPECT_TRUE(fits({{.name = "$timestamp", .type = ColumnType::kUint64}, {.name = "v"}}));
  EXPECT_TRUE(fits({{.name = "$cumulative_data_weight", .type = ColumnType::kInt64}}));
  EXPECT_FALSE(fits({}));
  EXPECT_FALSE(fits({{.name = "k", .key = true}, {.name = "v"}}));
  EXPECT_FALSE(fits({{.name = "$timestamp", .type = ColumnType::kInt64}}));
  EXPECT_FALSE(fits({{.name = "$timestamp", .type = ColumnType::kUint64, .required = true}}));
  EXPECT_FALSE(fits({{.name = "$row_index", .type = ColumnType::kInt64}}));
  EXPECT_FALSE(fits({{.name = "$ttl", .type = ColumnType::kUint64}}));
  EXPECT_FALSE(fits({{.name = "v", .lock = "l"}}));
  EXPECT_FALSE(fits({{.name = "v", .type = ColumnType::kInt64, .aggregate = Aggregate::kSum}}));
}

}  // namespace
}  // namespace moraine::table
