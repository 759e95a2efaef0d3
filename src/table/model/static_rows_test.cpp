#include "table/model/static_rows.h"

#include <gtest/gtest.h>

#include <cstring>

#include "table/model/limits.h"
#include "yson/yson.h"

namespace moraine::table {
namespace {

std::shared_ptr<const RowLayout> layout(bool key, bool unique) {
  auto schema = std::make_shared<TableSchema>();
  ColumnSchema first;
  first.name = "k";
  first.type = ColumnType::kInt64;
  first.key = key;
  ColumnSchema second;
  second.name = "v";
  schema->columns = {first, second};
  schema->unique_keys = unique;
  return RowLayout::make(std::move(schema)).value();
}

Result<void> add(StaticRows& rows, std::int64_t key, std::string_view text) {
  const NamedValue row[] = {{"k", key}, {"v", text}};
  return rows.add(row);
}

TEST(StaticRows, AreRefusedOutOfOrderWithBothKeys) {
  StaticRows rows(layout(true, true));
  ASSERT_TRUE(add(rows, 5, "a"));
  const auto refused = add(rows, 4, "b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context,
            "Sort order violation: row 1 with key (4) comes after key (5)");
  EXPECT_EQ(rows.size(), 1u);
}

TEST(StaticRows, OfUniqueKeysMayNotRepeatAndOthersMay) {
  StaticRows unique(layout(true, true));
  ASSERT_TRUE(add(unique, 5, "a"));
  const auto refused = add(unique, 5, "b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().context, "Duplicate key (5) in row 1");
  StaticRows repeated(layout(true, false));
  EXPECT_TRUE(add(repeated, 5, "a"));
  EXPECT_TRUE(add(repeated, 5, "b"));
  StaticRows unsorted(layout(false, false));
  EXPECT_TRUE(add(unsorted, 5, "a"));
  EXPECT_TRUE(add(unsorted, 4, "b"));
}

TEST(StaticRows, WithoutUniqueKeysAreStoredWithTheirNumbersInOrder) {
  auto rows = std::make_shared<StaticRows>(layout(true, false));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(add(*rows, 5, "text"));
  const auto cursor = StaticRows::cursor(rows, 100, 7);
  std::string before;
  std::size_t count = 0;
  while (cursor->next() == RowCursor::Step::kRow) {
    const VersionedRow& row = cursor->row();
    EXPECT_LT(before, as_text(row.key));
    before = as_text(row.key);
    EXPECT_EQ(printable_key(before), "(5, " + std::to_string(100 + count) + "u)");
    ASSERT_EQ(row.values.size(), 1u);
    EXPECT_EQ(row.values[0].column, 2u);
    EXPECT_EQ(row.values[0].value.text(), "text");
    EXPECT_EQ(row.write_timestamps[0], 7u);
    ++count;
  }
  EXPECT_EQ(count, 3u);
}

TEST(StaticRows, KnowTheSchemaTheyAreStoredBy) {
  const TableSchema sorted = layout(true, true)->schema();
  EXPECT_EQ(stored_schema(sorted), sorted);
  const TableSchema numbered = stored_schema(layout(false, true)->schema());
  EXPECT_EQ(numbered.columns[0].name, kRowNumberColumn);
  EXPECT_EQ(numbered.key_count(), 1u);
}

TEST(StaticRows, OfWeakSchemasKeepOtherColumnsInOneMap) {
  TableSchema weak = layout(true, false)->schema();
  weak.strict = false;
  const TableSchema stored = stored_schema(weak);
  EXPECT_EQ(stored.columns.back().name, kOtherColumns);
  EXPECT_TRUE(stored.strict);
  auto rows =
      std::make_shared<StaticRows>(RowLayout::make(std::make_shared<TableSchema>(weak)).value());
  const NamedValue row[] = {{"z", "text"}, {"k", 1}, {"a", Value()}, {"m", 5u}};
  ASSERT_TRUE(rows->add(row));
  const NamedValue none[] = {{"k", 2}};
  ASSERT_TRUE(rows->add(none));
  const auto cursor = StaticRows::cursor(rows, 0, 7);
  ASSERT_EQ(cursor->next(), RowCursor::Step::kRow);
  ASSERT_EQ(cursor->row().values.size(), 1u);
  EXPECT_EQ(cursor->row().values[0].column, stored.columns.size() - 1);
  const auto map = parse_yson(cursor->row().values[0].value.text());
  ASSERT_TRUE(map);
  EXPECT_EQ(write_yson(*map, YsonFormat::kText), R"({"a"=#;"m"=5u;"z"="text";})");
  ASSERT_EQ(cursor->next(), RowCursor::Step::kRow);
  EXPECT_TRUE(cursor->row().values.empty());
}

TEST(StaticRows, OfWeakSchemasRefuseWrongNamesAndTooMuch) {
  TableSchema weak = layout(false, false)->schema();
  weak.strict = false;
  StaticRows rows(RowLayout::make(std::make_shared<TableSchema>(weak)).value());
  const auto refused = [&](std::vector<NamedValue> row) {
    const auto added = rows.add(row);
    return added ? std::string() : added.error().context;
  };
  EXPECT_EQ(refused({{"a", 1}, {"a", 2}}), "Column \"a\" is given twice");
  EXPECT_NE(refused({{"", 1}}), "");
  EXPECT_NE(refused({{"$row_number", 1}}), "");
  EXPECT_NE(refused({{std::string_view("x"), Value::any("{a=")}}), "") << "no YSON";
  std::deque<std::string> names;
  std::vector<NamedValue> many;
  for (std::size_t i = 0; i <= kColumnsMax; ++i) {
    many.push_back({names.emplace_back("c" + std::to_string(i)), 1});
  }
  EXPECT_NE(refused(many).find("Too many values"), std::string::npos);
  many.pop_back();
  EXPECT_EQ(refused(many), "");
  const std::string text(kValueBytesMax / 2, 'x');
  EXPECT_NE(refused({{"a", text}, {"b", text}}).find("Row is too large"), std::string::npos);
  EXPECT_EQ(rows.size(), 1u);
}

TEST(Keys, PrintableOnesShowEveryColumn) {
  std::string key;
  for (const Value& value : {Value(-1), Value(2u), Value(true), Value(), Value("a\"b")}) {
    append_key_column(key, value);
  }
  EXPECT_EQ(printable_key(key), R"((-1, 2u, true, #, "a\"b"))");
}

}  // namespace
}  // namespace moraine::table
