#include "table/model/ordered.h"

#include <gtest/gtest.h>

#include "table/model/key.h"

namespace moraine::table {
namespace {

TableSchema schema_with_all() {
  TableSchema schema;
  schema.columns = {{.name = "$timestamp", .type = ColumnType::kUint64},
                    {.name = "v", .type = ColumnType::kString},
                    {.name = "$cumulative_data_weight", .type = ColumnType::kInt64},
                    {.name = "b", .type = ColumnType::kBoolean}};
  return ordered_schema(schema);
}

// v and b of the schema above.
RowChange row(std::string_view text, bool flag) {
  RowChange change;
  change.locks.add(0, LockMode::kExclusive);
  begin_image(change.image);
  append_cell(change.image, 2, false, Value());
  append_cell(change.image, 3, false, Value(text));
  append_cell(change.image, 5, false, Value(flag));
  finish_image(change.image, 3);
  return change;
}

std::vector<VersionedValue> cells_of(const RowChange& change) {
  std::vector<VersionedValue> cells;
  read_image(as_bytes(change.image), 7, nullptr, cells);
  return cells;
}

TEST(Ordered, RowsAreStoredByTabletAndNumber) {
  const TableSchema stored = schema_with_all();
  EXPECT_TRUE(is_ordered(stored));
  EXPECT_EQ(stored.key_count(), 2u);
  EXPECT_TRUE(stored.unique_keys);
  TableSchema sorted;
  sorted.columns = {{.name = "k", .key = true}, {.name = "v"}};
  EXPECT_FALSE(is_ordered(sorted));
}

TEST(Ordered, KeysHaveTheOrderOfRows) {
  std::string before;
  for (const std::uint64_t tablet : {0u, 1u, 2u, 300u}) {
    EXPECT_TRUE(before <= tablet_pivot(tablet));
    EXPECT_EQ(tablet_of_pivot(tablet_pivot(tablet)), tablet);
    for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40}) {
      const std::string key = encode_place({tablet, row});
      EXPECT_LT(before, key);
      EXPECT_LE(tablet_pivot(tablet), key);
      EXPECT_TRUE(check_key(as_bytes(key), schema_with_all()));
      EXPECT_EQ(decode_place(as_bytes(key)), (RowPlace{tablet, row}));
      before = key;
    }
  }
}

TEST(Ordered, OtherKeysAreNoPlaces) {
  const auto key = [](std::initializer_list<Value> values) {
    return encode_key(std::vector<Value>(values));
  };
  EXPECT_FALSE(decode_place(as_bytes(key({Value(1)}))));
  EXPECT_FALSE(decode_place(as_bytes(key({Value(1), Value(-1)}))));
  EXPECT_FALSE(decode_place(as_bytes(key({Value(1), Value()}))));
  EXPECT_FALSE(decode_place(as_bytes(key({Value(1), Value(1u)}))));
  EXPECT_FALSE(decode_place(as_bytes(std::string_view("?"))));
  EXPECT_FALSE(tablet_of_pivot(key({Value(0)})));
  EXPECT_FALSE(tablet_of_pivot(key({Value(1), Value(1)})));
}

TEST(Ordered, RowsAreNumberedFromTheEnd) {
  const FilledColumns filled(schema_with_all());
  std::vector<RowChange> changes = {row("abc", true), row("", false)};
  const RowEnd end = filled.place_rows(changes, 4, {.rows = 10, .weight = 100});
  EXPECT_EQ(changes[0].key, encode_place({4, 10}));
  EXPECT_EQ(changes[1].key, encode_place({4, 11}));
  EXPECT_EQ(changes[0].locks, LockSet());
  EXPECT_EQ(end, (RowEnd{.rows = 12, .weight = 107}));  // 1 + 3 + 1, and 1 + 0 + 1.
  EXPECT_EQ(filled.end_after(changes), end);
  EXPECT_EQ(cells_of(changes[0])[2].value, Value(105));
  EXPECT_EQ(cells_of(changes[1])[2].value, Value(107));

  filled.stamp(changes, 42);
  for (const RowChange& change : changes) {
    EXPECT_TRUE(check_image(as_bytes(change.image), schema_with_all()));
    EXPECT_EQ(cells_of(change)[0].value, Value(42u));
  }
  EXPECT_EQ(cells_of(changes[0])[1].value, Value("abc"));
  EXPECT_EQ(cells_of(changes[0])[3].value, Value(true));
  EXPECT_EQ(filled.end_after(changes), end);
}

TEST(Ordered, ColumnsThatTheSchemaHasNotAreNotFilled) {
  TableSchema schema;
  schema.columns = {{.name = "v"}};
  const FilledColumns filled(ordered_schema(schema));
  RowChange change;
  begin_image(change.image);
  append_cell(change.image, 2, false, Value("x"));
  finish_image(change.image, 1);
  const std::string image = change.image;
  EXPECT_EQ(filled.place_rows({&change, 1}, 0, {}), (RowEnd{.rows = 1}));
  filled.stamp({&change, 1}, 42);
  EXPECT_EQ(change.image, image);
}

}  // namespace
}  // namespace moraine::table
