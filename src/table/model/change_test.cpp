#include "table/model/change.h"

#include <gtest/gtest.h>

#include "table/model/key.h"

namespace moraine::table {
namespace {

TableSchema test_schema() {
  TableSchema schema;
  schema.columns = {{.name = "k", .type = ColumnType::kInt64, .key = true},
                    {.name = "i", .type = ColumnType::kInt8},
                    {.name = "u", .type = ColumnType::kUint64, .aggregate = Aggregate::kSum},
                    {.name = "d", .type = ColumnType::kDouble},
                    {.name = "b", .type = ColumnType::kBoolean},
                    {.name = "s", .type = ColumnType::kString},
                    {.name = "a", .type = ColumnType::kAny}};
  return schema;
}

std::string full_image() {
  std::string image;
  begin_image(image);
  append_cell(image, 1, false, std::int64_t{-3});
  append_cell(image, 2, true, std::uint64_t{7});
  append_cell(image, 3, false, 2.5);
  append_cell(image, 4, false, true);
  append_cell(image, 5, false, "text");
  append_cell(image, 6, false, Value::any("[1]"));
  finish_image(image, 6);
  return image;
}

RowChange test_write() {
  RowChange change;
  const Value key[] = {Value(std::int64_t{1})};
  change.key = encode_key(key);
  change.locks.add(0, LockMode::kExclusive);
  change.locks.add(32, LockMode::kSharedWeak);
  change.image = full_image();
  return change;
}

TEST(Change, ReadingAnImageReturnsItsCells) {
  const std::string image = full_image();
  ASSERT_TRUE(check_image(as_bytes(image), test_schema()));
  std::vector<VersionedValue> cells;
  read_image(as_bytes(image), 42, nullptr, cells);
  ASSERT_EQ(cells.size(), 6U);
  const Value expected[] = {std::int64_t{-3}, std::uint64_t{7}, 2.5, true,
                            "text",           Value::any("[1]")};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].column, i + 1);
    EXPECT_EQ(cells[i].timestamp, 42U);
    EXPECT_EQ(cells[i].aggregate, i == 1);
    EXPECT_EQ(cells[i].value, expected[i]);
  }
}

TEST(Change, CellsOfUnwantedColumnsAreSkipped) {
  const std::string image = full_image();
  ColumnSet wanted = ColumnSet::none(7);
  wanted.add(5);
  std::vector<VersionedValue> cells;
  read_image(as_bytes(image), 1, &wanted, cells);
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].value, Value("text"));
}

TEST(Change, AnImageThatDoesNotFitTheSchemaIsRefused) {
  const TableSchema schema = test_schema();
  const auto refused = [&](ColumnIndex column, bool delta, const Value& value) {
    std::string image;
    begin_image(image);
    append_cell(image, column, delta, value);
    finish_image(image, 1);
    return !check_image(as_bytes(image), schema);
  };
  EXPECT_TRUE(refused(0, false, std::int64_t{1})) << "a key column";
  EXPECT_TRUE(refused(7, false, Value())) << "no such column";
  EXPECT_TRUE(refused(1, false, std::uint64_t{1})) << "another type";
  EXPECT_TRUE(refused(1, true, std::int64_t{1})) << "a delta of a column that does not aggregate";
  EXPECT_FALSE(refused(1, false, Value()));
}

TEST(Change, AnImageOutOfOrderOrOfWrongLengthIsRefused) {
  std::string image;
  begin_image(image);
  append_cell(image, 5, false, "x");
  append_cell(image, 5, false, "x");
  finish_image(image, 2);
  EXPECT_FALSE(check_image(as_bytes(image), test_schema()));
  const std::string whole = full_image();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(check_image(as_bytes(whole.substr(0, size)), test_schema())) << size;
  }
  EXPECT_FALSE(check_image(as_bytes(whole + "x"), test_schema()));
}

TEST(Change, AChangeInALargerFormatIsDecodedAsEncoded) {
  RowChange erase = test_write();
  erase.kind = ChangeKind::kDelete;
  erase.image.clear();
  Encoder encoder;
  append_change(encoder, test_write());
  append_change(encoder, erase);
  Decoder decoder(encoder.span());
  for (const RowChange& expected : {test_write(), erase}) {
    const auto change = take_change(decoder, test_schema());
    ASSERT_TRUE(change) << change.error().message();
    EXPECT_EQ(change->key, expected.key);
    EXPECT_EQ(change->kind, expected.kind);
    EXPECT_EQ(change->locks, expected.locks);
    EXPECT_EQ(change->image, expected.image);
  }
  EXPECT_TRUE(decoder.finished());
}

TEST(Change, AChangeWithAKeyOfAnotherSchemaIsRefused) {
  RowChange change = test_write();
  const Value key[] = {"text"};
  change.key = encode_key(key);
  Encoder encoder;
  append_change(encoder, change);
  Decoder decoder(encoder.span());
  EXPECT_FALSE(take_change(decoder, test_schema()));
}

TEST(LockSet, LocksOfOneTransactionAreAsStrongAsAllOfThemTogether) {
  using enum LockMode;
  for (const LockMode read : {kSharedWeak, kSharedStrong}) {
    for (const bool read_first : {true, false}) {
      LockSet locks;
      locks.add(1, read_first ? read : kSharedWrite);
      locks.add(1, read_first ? kSharedWrite : read);
      EXPECT_EQ(locks.modes[1], kExclusive) << "a shared write would not see that it was overtaken";
      EXPECT_EQ(locks.modes[0], kNone);
    }
  }
  LockSet locks;
  locks.add(2, kSharedWrite);
  locks.add(2, kSharedWrite);
  locks.add(2, kNone);
  EXPECT_EQ(locks.modes[2], kSharedWrite);
  locks.add(3, kSharedWeak);
  locks.add(3, kSharedStrong);
  EXPECT_EQ(locks.modes[3], kSharedStrong);
  locks.add(3, kExclusive);
  EXPECT_EQ(locks.modes[3], kExclusive);
}

}  // namespace
}  // namespace moraine::table
