#include "table/model/change_set.h"

#include <gtest/gtest.h>

#include "expression/farm_hash.h"
#include "table/model/key.h"
#include "table/model/limits.h"

namespace moraine::table {
namespace {

using Row = std::vector<NamedValue>;

TableSchema test_schema() {
  TableSchema schema;
  schema.columns = {
      {.name = "h", .type = ColumnType::kUint64, .key = true, .expression = "farm_hash(k)"},
      {.name = "k", .type = ColumnType::kInt64, .key = true},
      {.name = "a", .type = ColumnType::kInt64, .lock = "la"},
      {.name = "b", .type = ColumnType::kString, .lock = "lb"},
      {.name = "s", .type = ColumnType::kInt64, .aggregate = Aggregate::kSum}};
  return schema;
}

class ChangeSetTest : public testing::Test {
 protected:
  void use(TableSchema schema, ChangeLimits limits = {}) {
    auto layout = RowLayout::make(std::make_shared<const TableSchema>(std::move(schema)));
    ASSERT_TRUE(layout) << layout.error().message();
    set_ = std::make_unique<ChangeSet>(*layout, ValueRules(), std::move(limits));
  }
  void SetUp() override { use(test_schema()); }
  std::string insert(const Row& row, InsertOptions options = {}) {
    const auto result = set_->insert(row, options);
    return result ? "" : result.error().context;
  }
  std::string erase(const Row& key) {
    const auto result = set_->erase(NamedRow(key));
    return result ? "" : result.error().context;
  }
  static std::string show(const RowChange& change) {
    std::string text;
    if (change.kind == ChangeKind::kDelete) text = "delete";
    if (change.kind == ChangeKind::kLock) text = "lock";
    if (change.kind == ChangeKind::kWrite) {
      std::vector<VersionedValue> cells;
      read_image(as_bytes(change.image), 0, nullptr, cells);
      for (const VersionedValue& cell : cells) {
        if (!text.empty()) text += ' ';
        text += std::to_string(cell.column) + (cell.aggregate ? "+" : "=");
        if (cell.value.is_null()) text += '#';
        if (cell.value.has_text()) text += cell.value.text();
        if (cell.value.type() == ValueType::kInt64) text += std::to_string(cell.value.as_int64());
      }
    }
    return text;
  }
  // The only change.
  std::string taken() {
    const std::vector<RowChange> changes = set_->take();
    if (changes.size() != 1) return std::to_string(changes.size()) + " changes";
    EXPECT_TRUE(change_is_valid(changes[0]));
    return show(changes[0]);
  }
  bool change_is_valid(const RowChange& change) const {
    Encoder encoder;
    append_change(encoder, change);
    EXPECT_EQ(encoder.size(), change_bytes(change));
    Decoder decoder(encoder.span());
    return take_change(decoder, set_->layout().schema()).has_value();
  }

  std::unique_ptr<ChangeSet> set_;
};

TEST_F(ChangeSetTest, AnOverwritingInsertSetsUnnamedColumnsToNull) {
  EXPECT_EQ(insert({{"k", 1}, {"a", 5}}), "");
  EXPECT_EQ(taken(), "2=5 3=#");
  EXPECT_EQ(insert({{"k", 1}}), "") << "a row of keys alone exists";
  EXPECT_EQ(taken(), "2=# 3=#");
}

TEST_F(ChangeSetTest, AnUpdateLeavesUnnamedColumnsAlone) {
  EXPECT_EQ(insert({{"k", 1}, {"a", 5}}, {.update = true}), "");
  EXPECT_EQ(taken(), "2=5");
  EXPECT_EQ(insert({{"k", 1}}, {.update = true}), "At least one non-key column must be specified");
  EXPECT_TRUE(set_->empty());
}

TEST_F(ChangeSetTest, ComputedColumnsAreComputedAndCannotBeGiven) {
  EXPECT_EQ(insert({{"k", 2}}), "");
  const Value key[] = {Value(3427386618069609762U), Value(2)};
  EXPECT_EQ(set_->take().at(0).key, encode_key(key));
  const Row named = {{"k", 2}};
  EXPECT_EQ(encode_lookup_key(set_->layout(), named).value(), encode_key(key));
  EXPECT_EQ(encode_lookup_key(set_->layout(), Key(key + 1, 1)).value(), encode_key(key));
  EXPECT_EQ(insert({{"k", 2}, {"h", 1}}), "No column \"h\" in table schema");
  EXPECT_EQ(erase({{"k", 2}, {"h", 1}}), "No column \"h\" in table schema");
}

TEST_F(ChangeSetTest, BadRowsAreRefusedAndLeaveNoTrace) {
  EXPECT_EQ(insert({{"zzz", 1}}), "No column \"zzz\" in table schema");
  EXPECT_TRUE(insert({{"k", "text"}}).starts_with("Invalid type"));
  EXPECT_EQ(insert({{"k", 1}, {"k", 1}}), "Column \"k\" is given twice");
  EXPECT_EQ(erase({{"a", 1}}), "Column \"a\" is not a key column");
  EXPECT_EQ(insert(Row(kColumnsMax + 1, {"k", 1})), "Too many values in row");
  EXPECT_TRUE(set_->empty());
}

TEST_F(ChangeSetTest, RequiredColumnsMustBeThere) {
  TableSchema schema;
  schema.columns = {{.name = "kr", .type = ColumnType::kInt64, .required = true, .key = true},
                    {.name = "ko", .type = ColumnType::kInt64, .key = true},
                    {.name = "vr", .type = ColumnType::kInt64, .required = true},
                    {.name = "vo", .type = ColumnType::kInt64}};
  use(schema);
  EXPECT_EQ(insert({}), "Required column \"vr\" cannot have \"null\" value");
  EXPECT_EQ(insert({{"kr", 1}, {"vo", 1}}), "Required column \"vr\" cannot have \"null\" value");
  EXPECT_EQ(insert({{"ko", 1}, {"vr", 1}}), "Required column \"kr\" cannot have \"null\" value");
  EXPECT_EQ(insert({{"kr", 1}, {"vo", 1}}, {.update = true}), "Missing required column \"vr\"");
  EXPECT_EQ(insert({{"kr", 1}, {"vr", 1}}, {.update = true}), "");
  EXPECT_EQ(taken(), "2=1");
  EXPECT_EQ(erase({{"ko", 1}}), "Required column \"kr\" cannot have \"null\" value");
  EXPECT_EQ(erase({{"kr", 1}}), "") << "a missing optional key column is null";
  const Value key[] = {Value(1), Value()};
  EXPECT_EQ(set_->take().at(0).key, encode_key(key));
}

TEST_F(ChangeSetTest, LaterValuesOfOneKeyWin) {
  EXPECT_EQ(insert({{"k", 1}, {"a", 1}, {"b", "x"}}), "");
  EXPECT_EQ(insert({{"k", 1}, {"a", 2}}, {.update = true}), "");
  EXPECT_EQ(taken(), "2=2 3=x");
  EXPECT_EQ(insert({{"k", 1}, {"b", "x"}}, {.update = true}), "");
  EXPECT_EQ(insert({{"k", 1}, {"a", 2}}, {.update = true}), "");
  EXPECT_EQ(taken(), "2=2 3=x");
  EXPECT_EQ(insert({{"k", 1}, {"b", "x"}}, {.update = true}), "");
  EXPECT_EQ(insert({{"k", 1}, {"a", 2}}), "");
  EXPECT_EQ(taken(), "2=2 3=#") << "an overwriting insert nulls what an update set";
}

TEST_F(ChangeSetTest, ADeleteThenAWriteIsAWriteWithNullsElsewhere) {
  EXPECT_EQ(erase({{"k", 1}}), "");
  EXPECT_EQ(insert({{"k", 1}, {"a", 2}}, {.update = true}), "");
  EXPECT_EQ(taken(), "2=2 3=# 4=#");
  EXPECT_EQ(erase({{"k", 1}}), "");
  EXPECT_EQ(insert({{"k", 1}, {"s", 5}}, {.update = true, .aggregate = true}), "");
  EXPECT_EQ(insert({{"k", 1}, {"s", 6}}, {.update = true, .aggregate = true}), "");
  EXPECT_EQ(taken(), "2=# 3=# 4=11") << "deltas over nothing are values";
}

TEST_F(ChangeSetTest, AWriteThenADeleteIsADelete) {
  EXPECT_EQ(insert({{"k", 1}, {"a", 2}}), "");
  EXPECT_EQ(erase({{"k", 1}}), "");
  EXPECT_EQ(taken(), "delete");
}

TEST_F(ChangeSetTest, DeltasOfOneTransactionAreFolded) {
  const InsertOptions delta{.update = true, .aggregate = true};
  EXPECT_EQ(insert({{"k", 1}, {"s", 5}}, delta), "");
  EXPECT_EQ(insert({{"k", 1}, {"s", 6}}, delta), "");
  EXPECT_EQ(taken(), "4+11");
  EXPECT_EQ(insert({{"k", 1}, {"s", 100}}, {.update = true}), "");
  EXPECT_EQ(insert({{"k", 1}, {"s", 6}}, delta), "");
  EXPECT_EQ(taken(), "4=106");
  EXPECT_EQ(insert({{"k", 1}, {"s", 5}}, delta), "");
  EXPECT_EQ(insert({{"k", 1}, {"s", 7}}, {.update = true}), "");
  EXPECT_EQ(taken(), "4=7");
}

TEST_F(ChangeSetTest, NullDeltasAndUnnamedAggregatingColumnsChangeNothing) {
  EXPECT_EQ(insert({{"k", 1}, {"s", Value()}}, {.update = true, .aggregate = true}), "");
  EXPECT_EQ(taken(), "");
  EXPECT_EQ(insert({{"k", 1}, {"a", 1}}, {.aggregate = true}), "");
  EXPECT_EQ(taken(), "2=1 3=#");
  EXPECT_EQ(insert({{"k", 1}, {"s", Value()}}, {.update = true}), "");
  EXPECT_EQ(taken(), "4=#") << "a plain null overwrites";
  EXPECT_EQ(insert({{"k", 1}, {"a", 1}}, {.update = true, .aggregate = true}), "");
  EXPECT_EQ(taken(), "2=1") << "the flag means nothing to other columns";
}

TEST_F(ChangeSetTest, LocksAreThoseOfTheColumnsThatAreTouched) {
  EXPECT_EQ(insert({{"k", 1}, {"b", "x"}}, {.update = true}), "");
  LockSet expected;
  expected.add(2, LockMode::kExclusive);
  EXPECT_EQ(set_->take().at(0).locks, expected);
  EXPECT_EQ(insert({{"k", 1}, {"b", "x"}}, {.lock = LockMode::kSharedWrite}), "");
  expected = {};
  for (std::size_t lock = 0; lock < 3; ++lock) expected.add(lock, LockMode::kSharedWrite);
  EXPECT_EQ(set_->take().at(0).locks, expected);
  EXPECT_EQ(erase({{"k", 1}}), "");
  expected = {};
  expected.add(0, LockMode::kExclusive);
  EXPECT_EQ(set_->take().at(0).locks, expected);
}

TEST_F(ChangeSetTest, LocksAloneChangeNothingAndJoinWrites) {
  const Value key[] = {Value(1)};
  const std::string names[] = {"la"};
  ASSERT_TRUE(set_->lock(Key(key), names, LockMode::kSharedWeak));
  EXPECT_EQ(insert({{"k", 1}, {"b", "x"}}, {.update = true}), "");
  ASSERT_TRUE(set_->lock(Key(key), {}, LockMode::kSharedStrong));
  const RowChange change = set_->take().at(0);
  EXPECT_EQ(show(change), "3=x");
  LockSet expected;
  expected.add(0, LockMode::kSharedStrong);
  expected.add(1, LockMode::kSharedWeak);
  expected.add(2, LockMode::kExclusive);
  EXPECT_EQ(change.locks, expected);
  const std::string unknown[] = {"none"};
  const auto refused = set_->lock(Key(key), unknown, LockMode::kSharedWeak);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context, "No lock \"none\" in table schema");
}

TEST_F(ChangeSetTest, ChangesComeByAscendingKey) {
  for (int i = 100; i > 0; --i) EXPECT_EQ(insert({{"k", i % 50}}), "");
  const std::vector<RowChange> changes = set_->take();
  ASSERT_EQ(changes.size(), 50U);
  for (std::size_t i = 1; i < changes.size(); ++i) EXPECT_LT(changes[i - 1].key, changes[i].key);
  EXPECT_TRUE(set_->empty());
}

TEST_F(ChangeSetTest, KeysAndRowsAreBounded) {
  TableSchema schema;
  schema.columns = {{.name = "k", .key = true}};
  for (int i = 0; i < 10; ++i) schema.columns.push_back({.name = "v" + std::to_string(i)});
  use(schema);
  const std::string key(kKeyBytesMax, 'x');
  EXPECT_TRUE(insert({{"k", std::string_view(key)}}).starts_with("Key is too long"));
  const std::string value(kValueBytesMax, 'x');
  Row row = {{"k", "k"}};
  for (int i = 0; i < 7; ++i) row.push_back({schema.columns[1 + i].name, std::string_view(value)});
  EXPECT_EQ(insert(row, {.update = true}), "");
  const Row more = {{"k", "k"}, {"v7", std::string_view(value)}};
  EXPECT_TRUE(insert(more, {.update = true}).starts_with("Row weight is too large"));
  EXPECT_EQ(insert(row, {.update = true}), "") << "the same columns again weigh the same";
  EXPECT_EQ(set_->take().size(), 1U);
}

TEST_F(ChangeSetTest, RowsOfATransactionAreBounded) {
  for (std::size_t i = 0; i < kTransactionRowsMax; ++i) {
    ASSERT_EQ(insert({{"k", static_cast<std::int64_t>(i)}}), "");
  }
  EXPECT_TRUE(insert({{"k", -1}}).starts_with("Transaction affects too many rows in tablet"));
  EXPECT_EQ(insert({{"k", 1}}), "") << "a row that is there already is no new one";
  EXPECT_EQ(set_->rows(), kTransactionRowsMax);
}

TEST_F(ChangeSetTest, EachTabletTakesSoManyRowsAndBytesOfATransaction) {
  TableSchema schema;
  schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true}, {.name = "v"}};
  const Value ten[] = {Value(10)};
  use(schema, {.pivots = {encode_key(ten)}, .rows = 3, .bytes = 300});
  for (int k : {1, 2, 3, 10, 11, 12}) EXPECT_EQ(insert({{"k", k}, {"v", "x"}}), "");
  EXPECT_EQ(insert({{"k", 4}}), "Transaction affects too many rows in tablet: at most 3");
  EXPECT_EQ(insert({{"k", 13}}), "Transaction affects too many rows in tablet: at most 3");
  const std::string some(150, 's');
  EXPECT_EQ(insert({{"k", 1}, {"v", some}}), "");
  EXPECT_TRUE(insert({{"k", 2}, {"v", some}})
                  .starts_with("Transaction affects too many bytes in tablet: "));
  EXPECT_EQ(insert({{"k", 12}, {"v", some}}), "") << "the other tablet has room";
  EXPECT_EQ(insert({{"k", 1}, {"v", "short"}}), "");
  EXPECT_EQ(insert({{"k", 2}, {"v", some}}), "") << "what was replaced counts no more";
  EXPECT_EQ(set_->take().size(), 6U);
  EXPECT_EQ(insert({{"k", 4}, {"v", some}}), "") << "what was taken counts no more";
}

TEST_F(ChangeSetTest, AValueOrRowThatNoTransactionCouldHoldIsRefusedByName) {
  use(test_schema(), {.pivots = {}, .bytes = 300});
  const std::string large(301, 'x');
  EXPECT_EQ(insert({{"k", 1}, {"b", large}}),
            "Column \"b\": value is too long: 301 bytes; at most 300 bytes of a transaction fit "
            "into a tablet");
  const std::string most(290, 'x');
  const std::string why = insert({{"k", 1}, {"b", most}});
  EXPECT_TRUE(why.starts_with("Row is too large: ")) << why;
  EXPECT_NE(why.find("of them 290 in column \"b\"; at most 300 bytes"), std::string::npos) << why;
  EXPECT_TRUE(set_->empty());
}

}  // namespace
}  // namespace moraine::table
