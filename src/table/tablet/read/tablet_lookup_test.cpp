#include "table/tablet/read/test_reader.h"

namespace moraine::table {
namespace {

const std::vector<ColumnIndex> kAllColumns = {0, 1, 2, 3};

struct LookupTest : testing::Test {
  TestReader tablet;
  Rowset rows;

  Result<void> lookup(const std::vector<std::int64_t>& numbers, Timestamp timestamp,
                      std::vector<ColumnIndex> columns = kAllColumns,
                      std::optional<bool> cache = std::nullopt, Timestamp retention = 0) {
    std::vector<std::string> keys;
    for (const std::int64_t number : numbers) keys.push_back(key_of(number));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const LookupRequest request{.keys = views,
                                .columns = columns,
                                .timestamp = timestamp,
                                .retention_timestamp = retention,
                                .use_lookup_cache = cache};
    return tablet.run(tablet.reader.lookup(request, rows));
  }
  // "-" is null, "no row": none.
  std::string show(std::size_t row) {
    if (!rows.exists(row)) return "no row";
    std::string text;
    for (const Value& value : rows.row(row)) {
      if (!text.empty()) text += ' ';
      if (value.is_null()) text += '-';
      if (value.type() == ValueType::kInt64) text += std::to_string(value.as_int64());
      if (value.has_text()) text += value.text();
    }
    return text;
  }
  std::string read(std::int64_t number, Timestamp timestamp) {
    const Result<void> found = lookup({number}, timestamp);
    return found ? show(0) : found.error().message();
  }
};

TEST_F(LookupTest, FindsRowsOfMemoryAndSaysWhichKeysAreNotThere) {
  tablet.write(1, 10, {{1, "one"}, {2, std::int64_t{5}}});
  tablet.write(2, 11, {{1, "two"}});
  ASSERT_TRUE(lookup({2, 3, 1}, kSyncLastCommitted));
  EXPECT_EQ(show(0), "2 two - -");
  EXPECT_EQ(show(1), "no row");
  EXPECT_EQ(show(2), "1 one 5 -");
  EXPECT_EQ(tablet.statistics.lookup.get(LookupStatistics::kRows), 2u);
  EXPECT_EQ(tablet.statistics.lookup.get(LookupStatistics::kMissingRows), 1u);
  EXPECT_EQ(tablet.statistics.lookup.get(LookupStatistics::kUnmergedRows), 2u);
  EXPECT_EQ(tablet.statistics.lookup.get(LookupStatistics::kRequests), 1u);
}

TEST_F(LookupTest, SeesWhatWasCommittedAtOrBeforeTheTimestampAndNothingElse) {
  tablet.write(1, 10, {{1, "old"}});
  tablet.flush();
  tablet.write(1, 20, {{1, "new"}});
  tablet.remove(1, 30);
  EXPECT_EQ(read(1, 9), "no row");
  EXPECT_EQ(read(1, 10), "1 old - -");
  EXPECT_EQ(read(1, 19), "1 old - -");
  EXPECT_EQ(read(1, 20), "1 new - -");
  EXPECT_EQ(read(1, 30), "no row");
  EXPECT_EQ(read(1, kAsyncLastCommitted), "no row");
}

TEST_F(LookupTest, FoldsDeltasOfAllStores) {
  tablet.write(1, 10, {{2, std::int64_t{100}}});
  tablet.flush();
  tablet.write(1, 20, {{2, std::int64_t{10}, true}});
  tablet.flush();
  tablet.write(1, 30, {{2, std::int64_t{1}, true}});
  EXPECT_EQ(read(1, kSyncLastCommitted), "1 - 111 -");
  EXPECT_EQ(read(1, 20), "1 - 110 -");
}

TEST_F(LookupTest, ReturnsColumnsInTheRequestedOrder) {
  tablet.write(7, 10, {{1, "v"}, {2, std::int64_t{2}}, {3, "w"}});
  ASSERT_TRUE(lookup({7}, kSyncLastCommitted, {3, 0, 1}));
  EXPECT_EQ(show(0), "w 7 v");
  ASSERT_TRUE(lookup({7}, kSyncLastCommitted, {2, 2}));
  EXPECT_EQ(show(0), "2 2");
  ASSERT_TRUE(lookup({7}, kSyncLastCommitted, {0}));
  EXPECT_EQ(show(0), "7");
  ASSERT_TRUE(lookup({7}, kSyncLastCommitted, {}));
  EXPECT_TRUE(rows.exists(0));
  EXPECT_EQ(lookup({7}, kSyncLastCommitted, {9}).error().code, Errc::kInvalidArgument);
}

TEST_F(LookupTest, ReadsBlocksThatAreNotInMemoryAndKeepsThem) {
  for (int i = 0; i < 1'000; ++i) tablet.write(i, 10, {{1, std::string_view("text")}});
  tablet.flush();
  ASSERT_TRUE(lookup({1, 500, 999, 5'000}, kSyncLastCommitted));
  EXPECT_EQ(show(0), "1 text - -");
  EXPECT_EQ(show(1), "500 text - -");
  EXPECT_EQ(show(2), "999 text - -");
  EXPECT_EQ(show(3), "no row");
  const std::size_t reads = tablet.blobs.reads;
  EXPECT_GT(reads, 0u);
  ASSERT_TRUE(lookup({1, 500, 999}, kSyncLastCommitted));
  EXPECT_EQ(show(1), "500 text - -");
  EXPECT_EQ(tablet.blobs.reads, reads);
}

TEST_F(LookupTest, TheDurationOfEveryLookupIsCountedAlsoOfThoseInMemory) {
  for (int i = 0; i < 100; ++i) tablet.write(i, 10, {{1, "text"}});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(lookup({i}, kSyncLastCommitted));
  EXPECT_EQ(tablet.statistics.lookup_duration.count(), 100u);
  tablet.flush();
  ASSERT_TRUE(lookup({1, 2, 3}, kSyncLastCommitted)) << "from the disk";
  ASSERT_TRUE(lookup({1, 2, 3}, kSyncLastCommitted)) << "from the cache";
  EXPECT_EQ(tablet.statistics.lookup_duration.count(), 102u);
  EXPECT_EQ(tablet.statistics.lookup.get(LookupStatistics::kRequests), 102u);
}

TEST_F(LookupTest, ChunksAreSearchedWithoutTheirFilterWhenTheOptionSaysSo) {
  for (int i = 0; i < 1'000; i += 2) tablet.write(i, 10, {{1, "text"}});
  tablet.flush();
  const ChunkReadCounters& counters = tablet.statistics.chunks.of(ReadKind::kLookup);
  for (int i = 101; i < 301; i += 2) ASSERT_TRUE(lookup({i}, kSyncLastCommitted));
  EXPECT_EQ(counters.get(ChunkReadCounters::kFilterKeys), 100u);
  EXPECT_GE(counters.get(ChunkReadCounters::kFilteredKeys), 90u);
  ReaderOptions options;
  options.use_key_filter = false;
  tablet.reader.set_options(options);
  const std::uint64_t cached = counters.get(ChunkReadCounters::kCacheBytes);
  for (int i = 101; i < 301; i += 2) {
    ASSERT_TRUE(lookup({i}, kSyncLastCommitted));
    EXPECT_EQ(show(0), "no row");
  }
  EXPECT_EQ(read(102, kSyncLastCommitted), "102 text - -");
  EXPECT_EQ(counters.get(ChunkReadCounters::kFilterKeys), 100u);
  EXPECT_GT(counters.get(ChunkReadCounters::kCacheBytes), cached);
}

TEST_F(LookupTest, UpdatesOfSingleColumnsAreMergedOverStores) {
  tablet.write(1, 10, {{1, "v10"}, {3, "w10"}});
  tablet.flush();
  tablet.write(1, 20, {{3, "w20"}});
  tablet.flush(OptimizeFor::kScan);
  tablet.write(1, 30, {{2, std::int64_t{3}}});
  EXPECT_EQ(read(1, kSyncLastCommitted), "1 v10 3 w20");
  EXPECT_EQ(read(1, 15), "1 v10 - w10");
}

TEST_F(LookupTest, OlderVersionsInYoungerStoresAreNotLost) {
  tablet.write(1, 20, {{1, "newer"}, {2, std::int64_t{1}}, {3, "x"}});
  tablet.flush();
  tablet.write(1, 10, {{1, "older"}, {2, std::int64_t{2}}, {3, "y"}});
  EXPECT_EQ(read(1, kSyncLastCommitted), "1 newer 1 x");
  EXPECT_EQ(read(1, 15), "1 older 2 y");
}

TEST_F(LookupTest, LongValuesAreReadFromTheirHunksInOneReadWhenTheyAreNeighbours) {
  const std::string long_a(1'000, 'a');
  const std::string long_b(2'000, 'b');
  tablet.write(1, 10, {{1, "x"}, {3, std::string_view(long_a)}});
  tablet.write(2, 11, {{1, "y"}, {3, std::string_view(long_b)}});
  tablet.flush();
  ASSERT_TRUE(lookup({1, 2}, kSyncLastCommitted));
  const std::size_t reads = tablet.blobs.reads;
  ASSERT_TRUE(lookup({1, 2, 3}, kSyncLastCommitted, {3, 1}));
  EXPECT_EQ(rows.at(0, 0).text(), long_a);
  EXPECT_EQ(rows.at(0, 1).text(), "x");
  EXPECT_EQ(rows.at(1, 0).text(), long_b);
  EXPECT_FALSE(rows.exists(2));
  EXPECT_EQ(tablet.blobs.reads, reads + 1);
  EXPECT_EQ(tablet.statistics.hunks.get(ChunkReadCounters::kDiskBytes), 6'000u);
}

TEST_F(LookupTest, ADamagedHunkIsNamed) {
  const std::string text(1'000, 'a');
  tablet.write(1, 10, {{3, std::string_view(text)}});
  const auto chunk = tablet.flush();
  ASSERT_EQ(chunk->record().hunks.size(), 1u);
  const blob::BlobId blob = chunk->record().hunks[0].blob;
  std::string bytes(tablet.blobs.blobs[blob].text());
  bytes[bytes.size() / 2] ^= 1;
  tablet.blobs.blobs[blob] = Slice::copy_of(bytes);
  const Result<void> found = lookup({1}, kSyncLastCommitted);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kCorrupt);
  EXPECT_NE(found.error().context.find(blob.to_string()), std::string::npos);
}

TEST_F(LookupTest, SyncReadersWaitForTwoPhaseRowsAndAsyncOnesDoNot) {
  tablet.write(1, 10, {{1, "before"}});
  MemoryStore::Row& row = tablet.touch(1);
  tablet.active().prepare(row, {.since = 15, .two_phase = true});
  EXPECT_EQ(read(1, kAsyncLastCommitted), "1 before - -");
  EXPECT_TRUE(tablet.undecided.waited.empty());
  tablet.undecided.decide = [&] {
    tablet.write(1, 20, {{1, "after"}});
    tablet.active().resolve(row, {.since = 15, .two_phase = true});
  };
  EXPECT_EQ(read(1, kSyncLastCommitted), "1 after - -");
  EXPECT_EQ(tablet.undecided.waited.size(), 1u);
  EXPECT_EQ(tablet.statistics.lookup.get(LookupStatistics::kWaits), 1u);
}

TEST_F(LookupTest, ReadersAtATimestampWaitForTransactionsThatBeganBeforeIt) {
  tablet.write(1, 10, {{1, "before"}});
  tablet.active().prepare(tablet.touch(1), {.since = 15, .two_phase = false});
  EXPECT_EQ(read(1, 14), "1 before - -");
  EXPECT_EQ(read(1, kSyncLastCommitted), "1 before - -");
  EXPECT_TRUE(tablet.undecided.waited.empty());
  EXPECT_EQ(read(1, 15), "timeout: undecided");
}

TEST_F(LookupTest, TimestampsThatCannotBeReadAreRefused) {
  tablet.write(1, 10, {{1, "v"}});
  StoreSet::Change change;
  change.retained_timestamp = 50;
  tablet.stores.apply(std::move(change));
  const Result<void> old = lookup({1}, 49);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().code, Errc::kInvalidArgument);
  EXPECT_EQ(old.error().context, "Timestamp 49 is less than tablet retained timestamp 50");
  EXPECT_TRUE(lookup({1}, 50));
  const Result<void> crossed = lookup({1}, 60, kAllColumns, std::nullopt, 61);
  ASSERT_FALSE(crossed);
  EXPECT_EQ(crossed.error().context, "Retention timestamp 61 is greater than read timestamp 60");
}

TEST_F(LookupTest, VersionsBelowTheRetentionTimestampAreNotSeen) {
  tablet.write(1, 10, {{1, "v"}});
  tablet.flush();
  tablet.write(1, 20, {{2, std::int64_t{2}}});
  ASSERT_TRUE(lookup({1}, kSyncLastCommitted, kAllColumns, std::nullopt, 15));
  EXPECT_EQ(show(0), "1 - 2 -");
  ASSERT_TRUE(lookup({1}, kSyncLastCommitted, kAllColumns, std::nullopt, 21));
  EXPECT_EQ(show(0), "no row");
}

TEST_F(LookupTest, TheRowCacheReplacesTheChunks) {
  tablet.cache.set_rows_max(100);
  tablet.write(1, 10, {{1, "a"}});
  tablet.flush();
  tablet.write(1, 20, {{1, "b"}});
  tablet.flush();
  ASSERT_TRUE(lookup({1}, kSyncLastCommitted, kAllColumns, true));
  EXPECT_EQ(show(0), "1 b - -");
  EXPECT_EQ(tablet.cache.statistics().inserts, 1u);
  ASSERT_TRUE(lookup({1}, kSyncLastCommitted, kAllColumns, true));
  EXPECT_EQ(show(0), "1 b - -");
  EXPECT_EQ(tablet.cache.statistics().hits, 1u);
  ASSERT_TRUE(lookup({1}, 15, kAllColumns, true));
  EXPECT_EQ(show(0), "1 a - -");
  tablet.write(1, 30, {{3, "w"}});
  ASSERT_TRUE(lookup({1}, kSyncLastCommitted, kAllColumns, true));
  EXPECT_EQ(show(0), "1 b - w");
  tablet.flush();
  ASSERT_TRUE(lookup({1}, kSyncLastCommitted, kAllColumns, true));
  EXPECT_EQ(show(0), "1 b - w");
}

// The newest of many plain values decides: chunks need not keep such a row.
TEST_F(LookupTest, RowsOfManyPlainVersionsAreCached) {
  tablet.cache.set_rows_max(100);
  for (Timestamp at = 10; at < 310; ++at) tablet.write(1, at, {{1, at == 309 ? "new" : "old"}});
  tablet.flush();
  ASSERT_TRUE(lookup({1}, 15, kAllColumns, true));
  EXPECT_EQ(show(0), "1 old - -");
  EXPECT_EQ(tablet.cache.statistics().inserts, 0u) << "a chunk may keep what later ones read";
  for (std::uint64_t time = 0; time < 3; ++time) {
    ASSERT_TRUE(lookup({1}, kSyncLastCommitted, kAllColumns, true));
    EXPECT_EQ(show(0), "1 new - -");
    EXPECT_EQ(tablet.cache.statistics().inserts, 1u);
    EXPECT_EQ(tablet.cache.statistics().hits, time);
  }
  ASSERT_TRUE(lookup({1}, 15, kAllColumns, true));
  EXPECT_EQ(show(0), "1 old - -");
}

TEST_F(LookupTest, VersionedLookupsReturnEveryVersionWithItsTimestamp) {
  tablet.write(1, 10, {{1, "a"}});
  tablet.flush();
  tablet.remove(1, 20);
  tablet.write(1, 30, {{1, "c"}});
  const auto found = tablet.run(tablet.reader.lookup_versions(key_of(1), 100, std::nullopt));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->exists);
  EXPECT_EQ(found->row.write_timestamps, (std::vector<Timestamp>{30, 10}));
  EXPECT_EQ(found->row.delete_timestamps, (std::vector<Timestamp>{20}));
  ASSERT_EQ(found->row.values.size(), 2u);
  EXPECT_EQ(found->row.values[0].value.text(), "c");
  EXPECT_EQ(found->row.values[1].value.text(), "a");
  EXPECT_EQ(as_text(found->row.key), key_of(1));
  const auto older = tablet.run(tablet.reader.lookup_versions(key_of(1), 20, std::nullopt));
  ASSERT_TRUE(older);
  EXPECT_EQ(older->row.values.size(), 1u);
  const auto none = tablet.run(tablet.reader.lookup_versions(key_of(2), 20, std::nullopt));
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->exists);
}

TEST_F(LookupTest, VersionedLookupsLeaveOutWhatRetentionWould) {
  tablet.write(1, 10, {{1, "a"}});
  tablet.flush();
  tablet.write(1, 20, {{1, "b"}});
  RetentionConfig newest_only;
  newest_only.min_data_versions = 0;
  newest_only.min_data_ttl = {};
  newest_only.max_data_ttl = 1h;
  const auto found = tablet.run(tablet.reader.lookup_versions(key_of(1), 100, newest_only));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->row.values.size(), 1u);
  EXPECT_EQ(found->row.values[0].value.text(), "b");
}

TEST_F(LookupTest, ManyKeysAreFoundInPartitionsAndEden) {
  for (int i = 0; i < 3'000; ++i) tablet.write(i, 10, {{2, std::int64_t{i}}});
  tablet.flush(OptimizeFor::kLookup, false);
  for (int i = 0; i < 3'000; i += 2) tablet.write(i, 20, {{2, std::int64_t{-i}}});
  tablet.flush(OptimizeFor::kScan);
  std::vector<std::int64_t> numbers;
  for (int i = 0; i < 3'000; i += 3) numbers.push_back(i);
  ASSERT_TRUE(lookup(numbers, kSyncLastCommitted, {0, 2}));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_TRUE(rows.exists(i));
    EXPECT_EQ(rows.at(i, 0).as_int64(), numbers[i]);
    EXPECT_EQ(rows.at(i, 1).as_int64(), numbers[i] % 2 == 0 ? -numbers[i] : numbers[i]);
  }
}

}  // namespace
}  // namespace moraine::table
