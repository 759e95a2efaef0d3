#include <gtest/gtest.h>

#include "table/model/logical_type.h"
#include "table/model/schema_check.h"

namespace moraine::table {
namespace {

class SchemaAlter : public testing::Test {
 protected:
  SchemaAlter() {
    old_.columns = {
        {.name = "h", .type = ColumnType::kUint64, .key = true, .expression = "farm_hash(k)"},
        {.name = "k", .type = ColumnType::kInt8, .key = true},
        {.name = "a", .type = ColumnType::kInt32},
        {.name = "r", .type = ColumnType::kUtf8, .required = true},
        {.name = "s", .type = ColumnType::kInt64, .aggregate = Aggregate::kSum},
        {.name = "x", .type = ColumnType::kString, .lock = "l", .max_inline_hunk_size = 10}};
    new_ = old_;
  }
  ColumnSchema& column(std::string_view name) { return new_.columns[*new_.find(name)]; }
  void insert(std::string_view before, ColumnSchema column) {
    new_.columns.insert(new_.columns.begin() + static_cast<std::ptrdiff_t>(*new_.find(before)),
                        std::move(column));
  }
  bool allowed() {
    const auto checked = check_alter(old_, new_);
    if (!checked) context_ = checked.error().context;
    return checked.has_value();
  }
  // Refused as incompatible with this reason.
  bool refused(std::string_view reason) {
    return !allowed() && context_.starts_with("Table schemas are incompatible: ") &&
           context_.contains(reason);
  }

  TableSchema old_;
  TableSchema new_;
  std::string context_;
};

TEST_F(SchemaAlter, TheSameSchemaIsAllowed) {
  EXPECT_TRUE(allowed());
}

TEST_F(SchemaAlter, ValueColumnsMayBeAddedAnywhere) {
  insert("a", {.name = "new"});
  new_.columns.push_back({.name = "last"});
  EXPECT_TRUE(allowed()) << context_;
}

TEST_F(SchemaAlter, KeyColumnsMayBeAddedAfterTheOldOnesOnly) {
  insert("a", {.name = "new", .key = true});
  EXPECT_TRUE(allowed()) << context_;
  new_ = old_;
  insert("k", {.name = "new", .key = true});
  EXPECT_TRUE(refused("place in the key")) << context_;
  new_ = old_;
  new_.columns.push_back({.name = "new", .key = true});
  EXPECT_FALSE(allowed());
  EXPECT_TRUE(context_.starts_with("New table schema is not valid")) << context_;
}

TEST_F(SchemaAlter, ColumnsMayNotGoAwayOrMoveInTheKey) {
  new_.columns.pop_back();
  EXPECT_TRUE(refused("column \"x\" is missing")) << context_;
  new_ = old_;
  std::swap(new_.columns[0], new_.columns[1]);
  EXPECT_TRUE(refused("place in the key")) << context_;
}

TEST_F(SchemaAlter, TypesMayBecomeWiderOnly) {
  column("k").type = ColumnType::kInt64;
  column("a").type = ColumnType::kInt64;
  column("r").type = ColumnType::kString;
  EXPECT_TRUE(allowed()) << context_;
  column("a").type = ColumnType::kAny;
  EXPECT_TRUE(allowed()) << context_;
  column("a").type = ColumnType::kInt16;
  EXPECT_TRUE(refused("from int32 to int16")) << context_;
  column("a").type = ColumnType::kUint64;
  EXPECT_TRUE(refused("from int32 to uint64")) << context_;
  new_ = old_;
  new_.columns[0].expression.clear();
  column("k").type = ColumnType::kAny;
  EXPECT_FALSE(allowed()) << "a key column does not become any";
}

TEST_F(SchemaAlter, EveryWideningOfTheFactsIsKnown) {
  using enum ColumnType;
  const auto wider = [](ColumnType from, ColumnType to, bool key) {
    return is_wider(ColumnSchema{.name = "c", .type = from, .key = key},
                    ColumnSchema{.name = "c", .type = to, .key = key});
  };
  EXPECT_TRUE(wider(kUint8, kUint16, true));
  EXPECT_TRUE(wider(kUint16, kUint64, true));
  EXPECT_TRUE(wider(kFloat, kDouble, true));
  EXPECT_TRUE(wider(kUtf8, kString, true));
  EXPECT_TRUE(wider(kString, kAny, false));
  EXPECT_FALSE(wider(kString, kAny, true));
  EXPECT_FALSE(wider(kDouble, kFloat, false));
  EXPECT_FALSE(wider(kString, kUtf8, false));
  EXPECT_FALSE(wider(kBoolean, kInt64, false));
}

TEST_F(SchemaAlter, TypesOfTypeV3AreWidenedByTheirParts) {
  const auto typed = [](std::string_view yson) {
    ColumnSchema made{.name = "c"};
    set_type(made, *parse_type_text(yson));
    return made;
  };
  const ColumnSchema list = typed("{type_name=list;item=int8}");
  EXPECT_TRUE(is_wider(list, typed("{type_name=list;item=int32}")));
  EXPECT_FALSE(is_wider(typed("{type_name=list;item=int32}"), list));
  EXPECT_TRUE(is_wider(list, typed("{type_name=optional;item={type_name=list;item=int8}}")));
  EXPECT_TRUE(is_wider(list, ColumnSchema{.name = "c", .type = ColumnType::kAny}));
  EXPECT_FALSE(is_wider(ColumnSchema{.name = "c", .type = ColumnType::kAny}, list));
  const ColumnSchema decimal = typed("{type_name=decimal;precision=3;scale=2}");
  EXPECT_FALSE(is_wider(decimal, ColumnSchema{.name = "c", .type = ColumnType::kString}));
}

TEST_F(SchemaAlter, RequiredMayBeDroppedAndNotIntroduced) {
  column("r").required = false;
  EXPECT_TRUE(allowed()) << context_;
  column("a").required = true;
  EXPECT_TRUE(refused("column \"a\" cannot become required")) << context_;
  new_ = old_;
  new_.columns.push_back({.name = "new", .required = true});
  EXPECT_TRUE(refused("column \"new\" is new and cannot be required")) << context_;
}

TEST_F(SchemaAlter, ExpressionsStayAsTheyAre) {
  column("h").expression = "farm_hash(k + 1)";
  EXPECT_TRUE(refused("expression")) << context_;
  column("h").expression = "";
  EXPECT_TRUE(refused("expression")) << context_;
  new_ = old_;
  insert("a",
         {.name = "new", .type = ColumnType::kUint64, .key = true, .expression = "farm_hash(k)"});
  EXPECT_TRUE(refused("is new and cannot be computed")) << context_;
}

TEST_F(SchemaAlter, AggregatesMayBeIntroducedAndNotChanged) {
  column("a").aggregate = Aggregate::kMax;
  EXPECT_TRUE(allowed()) << context_;
  column("s").aggregate = Aggregate::kMin;
  EXPECT_TRUE(refused("column \"s\" cannot change its aggregate")) << context_;
  column("s").aggregate = Aggregate::kNone;
  EXPECT_TRUE(refused("aggregate")) << context_;
}

TEST_F(SchemaAlter, GroupsLocksAndHunkSizesMayChange) {
  column("a").group = "g";
  column("a").lock = "l";
  column("x").lock = "";
  column("x").max_inline_hunk_size = 20;
  column("r").max_inline_hunk_size = 20;
  EXPECT_TRUE(allowed()) << context_;
  column("x").max_inline_hunk_size.reset();
  EXPECT_TRUE(refused("cannot lose max_inline_hunk_size")) << context_;
}

TEST_F(SchemaAlter, SortedStaysSortedAndStrictStaysStrict) {
  for (ColumnSchema& column : new_.columns) {
    column.key = false;
    column.expression.clear();
  }
  EXPECT_FALSE(check_alter(old_, new_, TableKind::kStatic));
  new_ = old_;
  new_.strict = false;
  EXPECT_FALSE(check_alter(old_, new_, TableKind::kSorted));
}

TEST_F(SchemaAlter, AStaticTableMayBecomeWeakAndStaysSo) {
  new_.strict = false;
  EXPECT_TRUE(check_alter(old_, new_, TableKind::kStatic));
  EXPECT_FALSE(check_alter(new_, old_, TableKind::kStatic));
  TableSchema more = new_;
  more.columns.push_back({.name = "more"});
  EXPECT_FALSE(check_alter(new_, more, TableKind::kStatic)) << "rows may have such a column";
}

}  // namespace
}  // namespace moraine::table
