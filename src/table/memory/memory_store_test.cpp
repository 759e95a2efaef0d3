#include "table/memory/memory_store.h"

#include <gtest/gtest.h>

#include <map>

#include "io/random.h"
#include "table/memory/test_rows.h"

namespace moraine::table {
namespace {

using Timestamps = std::vector<Timestamp>;
using Step = RowCursor::Step;

struct Seen {
  ColumnIndex column = 0;
  Timestamp timestamp = 0;
  std::int64_t value = 0;
  bool operator==(const Seen&) const = default;
};

std::vector<Seen> seen(const RowBuilder& row) {
  std::vector<Seen> all;
  for (const VersionedValue& value : row.values) {
    all.push_back({value.column, value.timestamp, value.value.as_int64()});
  }
  return all;
}

class MemoryStoreTest : public testing::Test {
 protected:
  RowBuilder read(std::int64_t key, const ReadSpec& spec) {
    RowBuilder out;
    const std::string encoded = test_key(key);
    const MemoryStore::Row* row = store_.find(as_bytes(encoded), key_hash(as_bytes(encoded)));
    if (row != nullptr) MemoryStore::read(*row, spec, out);
    return out;
  }
  std::vector<std::int64_t> scan(const std::string& from, const std::string& to) {
    std::vector<std::int64_t> keys;
    const auto cursor = store_.scan({from, to}, {});
    std::vector<Value> columns;
    std::string memory;
    while (cursor->next() == Step::kRow) {
      EXPECT_TRUE(decode_key(cursor->row().key, columns, memory));
      keys.push_back(columns.at(0).as_int64());
    }
    return keys;
  }

  MemoryStore store_;
};

TEST_F(MemoryStoreTest, ReturnsTheNewestWriteThatCoversTheOthers) {
  test_write(store_, test_key(1), 10, {{1, 100}, {2, 200}});
  test_write(store_, test_key(1), 20, {{1, 101}, {2, 201}});
  const RowBuilder row = read(1, {});
  EXPECT_EQ(row.write_timestamps, (Timestamps{20}));
  EXPECT_TRUE(row.delete_timestamps.empty());
  EXPECT_EQ(seen(row), (std::vector<Seen>{{1, 20, 101}, {2, 20, 201}}));
  EXPECT_EQ(as_text(row.key), test_key(1));
}

std::shared_ptr<const TableSchema> summing_schema() {
  auto schema = std::make_shared<TableSchema>();
  schema->columns.resize(3);
  schema->columns[0].key = true;
  schema->columns[1].aggregate = Aggregate::kSum;
  schema->columns[2].aggregate = Aggregate::kDictSum;
  return schema;
}

TEST(FoldedMemoryStore, ARowOfManyDeltasIsReadByAFewValues) {
  MemoryStore store(summing_schema());
  constexpr std::int64_t kDeltas = 20'000;
  const std::string key = test_key(1);
  for (std::int64_t i = 1; i <= kDeltas; ++i) {
    test_write(store, key, static_cast<Timestamp>(i),
               {{1, Value(i), true}, {2, Value::any("{a=1}"), true}});
  }
  const MemoryStore::Row* row = store.find(as_bytes(key), key_hash(as_bytes(key)));
  ASSERT_NE(row, nullptr);
  for (const std::int64_t at : {kDeltas, kDeltas / 2, std::int64_t{100}, std::int64_t{3}}) {
    RowBuilder few;
    MemoryStore::read(*row, {.timestamp = static_cast<Timestamp>(at), .may_fold = true}, few);
    EXPECT_LE(few.values.size(), 64u);
    std::int64_t sum = 0;
    for (const VersionedValue& value : few.values) {
      if (value.column == 1) sum += value.value.as_int64();
    }
    EXPECT_EQ(sum, at * (at + 1) / 2);
  }
  RowBuilder all;
  MemoryStore::read(*row, {}, all);
  EXPECT_EQ(all.values.size(), 2u * kDeltas) << "unfolded, for readers that request it";
  EXPECT_TRUE(all.folded.empty());
  EXPECT_LT(store.bytes(), 200u * kDeltas);
}

TEST(FoldedMemoryStore, AVersionThatComesLateIsNotLostAmongThoseThatAreFolded) {
  MemoryStore store(summing_schema());
  const std::string key = test_key(1);
  for (Timestamp at = 10; at < 1'000; at += 10) test_write(store, key, at, {{1, 1, true}});
  test_write(store, key, 505, {{1, 1'000, false}});
  const MemoryStore::Row* row = store.find(as_bytes(key), key_hash(as_bytes(key)));
  RowBuilder read;
  MemoryStore::read(*row, {.may_fold = true}, read);
  std::int64_t sum = 0;
  for (const VersionedValue& value : read.values) sum += value.value.as_int64();
  EXPECT_EQ(sum, 1'000 + 49);
}

TEST_F(MemoryStoreTest, ReadsAtATimestamp) {
  test_write(store_, test_key(1), 10, {{1, 100}});
  test_write(store_, test_key(1), 20, {{1, 101}});
  EXPECT_EQ(seen(read(1, {.timestamp = 19})), (std::vector<Seen>{{1, 10, 100}}));
  EXPECT_EQ(seen(read(1, {.timestamp = 20})), (std::vector<Seen>{{1, 20, 101}}));
  EXPECT_TRUE(read(1, {.timestamp = 9}).empty());
  EXPECT_TRUE(read(2, {}).empty());
}

TEST_F(MemoryStoreTest, AllVersionsComeByColumnThenNewestFirst) {
  test_write(store_, test_key(1), 10, {{1, 100}, {3, 300}});
  test_delete(store_, test_key(1), 15);
  test_write(store_, test_key(1), 20, {{1, 101}, {2, 201}});
  const RowBuilder row = read(1, {.all_versions = true});
  EXPECT_EQ(row.write_timestamps, (Timestamps{20, 10}));
  EXPECT_EQ(row.delete_timestamps, (Timestamps{15}));
  EXPECT_EQ(seen(row), (std::vector<Seen>{{1, 20, 101}, {1, 10, 100}, {2, 20, 201}, {3, 10, 300}}));
}

TEST_F(MemoryStoreTest, PartialWritesAreJoinedDownToTheNewestDelete) {
  test_write(store_, test_key(1), 5, {{4, 400}});
  test_delete(store_, test_key(1), 8);
  test_write(store_, test_key(1), 10, {{1, 100}, {2, 200}});
  test_write(store_, test_key(1), 20, {{2, 201}});
  test_write(store_, test_key(1), 30, {{2, 202}});
  const RowBuilder row = read(1, {});
  EXPECT_EQ(row.write_timestamps, (Timestamps{30}));
  EXPECT_EQ(row.delete_timestamps, (Timestamps{8}));
  EXPECT_EQ(seen(row), (std::vector<Seen>{{1, 10, 100}, {2, 30, 202}}));
}

TEST_F(MemoryStoreTest, ADeleteOnTopIsAllThatIsReturned) {
  test_write(store_, test_key(1), 10, {{1, 100}});
  test_delete(store_, test_key(1), 20);
  const RowBuilder row = read(1, {});
  EXPECT_TRUE(row.values.empty());
  EXPECT_TRUE(row.write_timestamps.empty());
  EXPECT_EQ(row.delete_timestamps, (Timestamps{20}));
}

TEST_F(MemoryStoreTest, DeltasAreReturnedDownToTheFullValue) {
  test_write(store_, test_key(1), 10, {{1, 1}});
  test_write(store_, test_key(1), 20, {{1, 100}});
  test_write(store_, test_key(1), 30, {{1, 3, true}});
  test_write(store_, test_key(1), 40, {{1, 4, true}});
  EXPECT_EQ(seen(read(1, {})), (std::vector<Seen>{{1, 40, 4}, {1, 30, 3}, {1, 20, 100}}));
}

TEST_F(MemoryStoreTest, AVersionThatComesLateTakesItsPlace) {
  test_write(store_, test_key(1), 30, {{1, 130}});
  test_write(store_, test_key(1), 10, {{1, 110}, {2, 210}});
  test_delete(store_, test_key(1), 5);
  test_write(store_, test_key(1), 20, {{3, 320}});
  const RowBuilder row = read(1, {});
  EXPECT_EQ(row.write_timestamps, (Timestamps{30}));
  EXPECT_EQ(row.delete_timestamps, (Timestamps{5}));
  EXPECT_EQ(seen(row), (std::vector<Seen>{{1, 30, 130}, {2, 10, 210}, {3, 20, 320}}));
  EXPECT_EQ(read(1, {.all_versions = true}).write_timestamps, (Timestamps{30, 20, 10}));
}

TEST_F(MemoryStoreTest, TheSameTimestampTwiceIsIgnored) {
  test_write(store_, test_key(1), 10, {{1, 100}});
  test_write(store_, test_key(1), 20, {{1, 200}});
  test_write(store_, test_key(1), 10, {{1, 999}});
  test_write(store_, test_key(1), 20, {{1, 999}});
  EXPECT_EQ(seen(read(1, {.all_versions = true})), (std::vector<Seen>{{1, 20, 200}, {1, 10, 100}}));
  EXPECT_EQ(store_.min_timestamp(), 10U);
  EXPECT_EQ(store_.max_timestamp(), 20U);
}

TEST_F(MemoryStoreTest, ReturnsOnlyTheRequestedColumns) {
  test_write(store_, test_key(1), 10, {{1, 100}, {2, 200}});
  test_write(store_, test_key(1), 20, {{3, 300}});
  ColumnSet columns = ColumnSet::none(4);
  columns.add(2);
  const RowBuilder row = read(1, {.columns = &columns});
  EXPECT_EQ(row.write_timestamps, (Timestamps{20}));
  EXPECT_EQ(seen(row), (std::vector<Seen>{{2, 10, 200}}));
}

// What a reader may see, computed from all versions.
std::vector<Seen> decided(const RowBuilder& all) {
  const Timestamp deleted = all.delete_timestamps.empty() ? 0 : all.delete_timestamps.front();
  std::vector<Seen> left;
  int closed = -1;
  for (const VersionedValue& value : all.values) {
    if (value.column == closed || value.timestamp < deleted) continue;
    left.push_back({value.column, value.timestamp, value.value.as_int64()});
    if (!value.aggregate) closed = value.column;
  }
  return left;
}

TEST_F(MemoryStoreTest, ReadsOfTheNewestValuesAgreeWithAllVersions) {
  SeededRandom random(6);
  constexpr std::int64_t kRows = 20;
  constexpr Timestamp kTimestamps = 300;
  for (int i = 0; i < 4'000; ++i) {
    const std::string key = test_key(static_cast<std::int64_t>(random.below(kRows)));
    const Timestamp timestamp =
        random.one_in(5) ? 1 + random.below(kTimestamps) : kTimestamps + static_cast<Timestamp>(i);
    if (random.one_in(50)) {
      test_delete(store_, key, timestamp);
      continue;
    }
    std::vector<TestCell> cells;
    for (ColumnIndex column = 0; column < 6; ++column) {
      if (random.one_in(3)) cells.push_back({column, i, column == 5 && random.one_in(2)});
    }
    test_write(store_, key, timestamp, cells);
  }
  for (std::int64_t key = 0; key < kRows; ++key) {
    for (int i = 0; i < 100; ++i) {
      const Timestamp at = 1 + random.below(kTimestamps + 4'000);
      const RowBuilder all = read(key, {.timestamp = at, .all_versions = true});
      const RowBuilder newest = read(key, {.timestamp = at});
      ASSERT_EQ(seen(newest), decided(all));
      const Timestamps& deletes = all.delete_timestamps;
      ASSERT_EQ(newest.delete_timestamps,
                Timestamps(deletes.begin(), deletes.begin() + (deletes.empty() ? 0 : 1)));
    }
  }
}

TEST_F(MemoryStoreTest, MarksShowTheLowestStartAndAnyTwoPhase) {
  MemoryStore::Row& row = test_touch(store_, test_key(1));
  EXPECT_EQ(MemoryStore::prepared(row).since, 0U);
  store_.prepare(row, {50, false});
  store_.prepare(row, {40, true});
  store_.prepare(row, {60, false});
  EXPECT_EQ(MemoryStore::prepared(row).since, 40U);
  EXPECT_TRUE(MemoryStore::prepared(row).two_phase);
  store_.resolve(row, {40, true});
  EXPECT_EQ(MemoryStore::prepared(row).since, 50U);
  EXPECT_FALSE(MemoryStore::prepared(row).two_phase);
  store_.resolve(row, {50, false});
  store_.resolve(row, {60, false});
  EXPECT_EQ(MemoryStore::prepared(row).since, 0U);
}

TEST_F(MemoryStoreTest, ScansRowsWithinTheBounds) {
  for (const std::int64_t key : {5, -3, 8, 1, 7}) test_write(store_, test_key(key), 10, {{1, key}});
  EXPECT_EQ(scan("", ""), (std::vector<std::int64_t>{-3, 1, 5, 7, 8}));
  EXPECT_EQ(scan(test_key(1), test_key(8)), (std::vector<std::int64_t>{1, 5, 7}));
  EXPECT_EQ(scan(test_key(6), ""), (std::vector<std::int64_t>{7, 8}));
  EXPECT_TRUE(scan(test_key(9), "").empty());
  EXPECT_EQ(store_.rows(), 5U);
}

TEST_F(MemoryStoreTest, AScanReturnsPreparedRowsAndSkipsEmptyOnes) {
  test_touch(store_, test_key(1));
  store_.prepare(test_touch(store_, test_key(2)), {50, false});
  test_write(store_, test_key(3), 70, {{1, 1}});
  store_.prepare(test_touch(store_, test_key(3)), {90, true});

  const auto later = store_.scan({}, {.timestamp = 60});
  ASSERT_EQ(later->next(), Step::kRow);
  EXPECT_EQ(as_text(later->row().key), test_key(2));
  EXPECT_TRUE(later->prepared());
  EXPECT_TRUE(later->row().write_timestamps.empty());
  EXPECT_EQ(later->next(), Step::kEnd);

  const auto sync = store_.scan({}, {.timestamp = kSyncLastCommitted});
  ASSERT_EQ(sync->next(), Step::kRow);
  EXPECT_EQ(as_text(sync->row().key), test_key(3));
  EXPECT_TRUE(sync->prepared());
  EXPECT_EQ(sync->next(), Step::kEnd);

  const auto async = store_.scan({}, {.timestamp = kAsyncLastCommitted});
  ASSERT_EQ(async->next(), Step::kRow);
  EXPECT_FALSE(async->prepared());
  EXPECT_EQ(async->next(), Step::kEnd);
}

TEST_F(MemoryStoreTest, EmptyStoreHasNothing) {
  EXPECT_TRUE(scan("", "").empty());
  EXPECT_EQ(store_.rows(), 0U);
  EXPECT_EQ(store_.min_timestamp(), 0U);
  EXPECT_EQ(store_.max_timestamp(), 0U);
}

// Keys of all shapes: dense, with long shared prefixes, one a prefix of another.
std::string odd_key(Random& random) {
  const Value number(static_cast<std::int64_t>(random.below(2'000)));
  switch (random.below(3)) {
    case 0: return encode_key(std::span(&number, 1));
    case 1: {
      std::string text(random.below(40), 'a');
      text += std::to_string(random.below(500));
      const Value columns[] = {Value(text), number};
      return encode_key(columns);
    }
    default: {
      const Value columns[] = {Value(), Value(std::string_view("\0\0\0", random.below(4))), number};
      return encode_key(columns);
    }
  }
}

TEST_F(MemoryStoreTest, AgreesWithAnOrderedMapOnRandomKeys) {
  constexpr int kWrites = 20'000;
  SeededRandom random(4);
  std::map<std::string, Timestamp> model;
  for (int i = 1; i <= kWrites; ++i) {
    const std::string key = odd_key(random);
    const auto timestamp = static_cast<Timestamp>(i);
    test_write(store_, key, timestamp, {{1, i}});
    model[key] = timestamp;
  }
  EXPECT_EQ(store_.rows(), model.size());
  for (int i = 0; i < 200; ++i) {
    const std::string from = i == 0 ? std::string() : odd_key(random);
    auto expected = model.lower_bound(from);
    const auto cursor = store_.scan({from, {}}, {});
    for (int step = 0; i == 0 || step < 50; ++step, ++expected) {
      const Step got = cursor->next();
      ASSERT_EQ(got == Step::kRow, expected != model.end());
      if (got != Step::kRow) break;
      ASSERT_EQ(as_text(cursor->row().key), expected->first);
      ASSERT_EQ(cursor->row().write_timestamps[0], expected->second);
    }
  }
  for (const auto& [key, timestamp] : model) {
    const MemoryStore::Row* row = store_.find(as_bytes(key), key_hash(as_bytes(key)));
    ASSERT_NE(row, nullptr);
  }
}

TEST_F(MemoryStoreTest, KeysThatComeInOrderOrInReverseAreScannedInOrder) {
  constexpr std::int64_t kRows = 5'000;
  for (std::int64_t i = 0; i < kRows; ++i) {
    test_write(store_, test_key(i), 1, {{1, i}});
    test_write(store_, test_key(-i), 1, {{1, i}});
  }
  const std::vector<std::int64_t> keys = scan("", "");
  ASSERT_EQ(keys.size(), static_cast<std::size_t>(2 * kRows - 1));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(keys[i], static_cast<std::int64_t>(i) - kRows + 1);
  }
}

}  // namespace
}  // namespace moraine::table
