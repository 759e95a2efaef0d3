#include "table/tablet/maintenance/maintenance.h"

#include <gtest/gtest.h>

#include <set>

#include "table/model/change.h"
#include "table/model/key.h"
#include "table/tablet/maintenance/test_store_log.h"
#include "tablet/test_tablet.h"

namespace moraine::table {
namespace {

TableSchema hunk_schema() {
  TableSchema schema;
  schema.columns.resize(2);
  schema.columns[0] = {.name = "k", .type = ColumnType::kInt64, .key = true};
  schema.columns[1] = {.name = "v", .type = ColumnType::kString};
  schema.columns[1].max_inline_hunk_size = 100;
  return schema;
}

class NoTimestamps final : public TimestampSource {
 public:
  Task<Result<Timestamp>> next() override { co_return Timestamp{1}; }
};
class NoGroups final : public BlobGroups {
 public:
  blob::Proxy* group(GroupId) override { return nullptr; }
};

// The tablet's executor and the background one differ, as in the real program: the log and the
// blobs check that they are called on the first.
class MaintenanceTest : public testing::Test {
 protected:
  MaintenanceTest() {
    settings.schema = std::make_shared<const TableSchema>(hunk_schema());
    settings.mount.min_data_ttl = 0ms;
    settings.mount.max_data_ttl = 0ms;
    start();
  }
  ~MaintenanceTest() override {
    world.run(maintenance->stop());
    maintenance.reset();
    stores.reset();
    while (!run_retired()) {
    }
  }
  void start() {
    stores = std::make_unique<StoreSet>(settings.schema, KeyBounds{}, 1, lane.now());
    maintenance =
        std::make_unique<Maintenance>(resources, settings, *stores, log, cache, log, statistics);
    maintenance->start();
  }

  static std::string key(std::int64_t number) {
    std::string encoded;
    append_key_column(encoded, number);
    return encoded;
  }
  Timestamp put(std::int64_t number, std::string_view text) {
    std::string image;
    begin_image(image);
    append_cell(image, 1, false, text);
    finish_image(image, 1);
    return add(number, ChangeKind::kWrite, image);
  }
  Timestamp erase(std::int64_t number) { return add(number, ChangeKind::kDelete, {}); }
  Timestamp add(std::int64_t number, ChangeKind kind, const std::string& image) {
    const std::string encoded = key(number);
    MemoryStore& store = *stores->active().store;
    auto& row = store.touch(as_bytes(encoded), key_hash(as_bytes(encoded)));
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(resources.world.clock.since_epoch());
    const Timestamp now = timestamp_of_seconds(static_cast<std::uint64_t>(seconds.count()));
    last_ = std::max(last_ + 1, now);
    store.add(row, last_, kind, as_bytes(image));
    return last_;
  }
  Result<void> flush() { return world.run(maintenance->flush_all()); }
  Result<void> compact() { return world.run(maintenance->compact_all()); }
  TabletStatistics figures() const {
    TabletStatistics told;
    maintenance->add_statistics(told);
    return told;
  }
  std::uint64_t hunk_bytes_stored() const {
    std::uint64_t bytes = 0;
    std::set<BlobId> seen;
    for (const auto& [id, reader] : stores->chunks()) {
      for (const HunkUse& use : reader->record().hunks) {
        if (seen.insert(use.blob).second) bytes += use.blob.size();
      }
    }
    return bytes;
  }

  SimWorld world{17};
  SimNode& node = world.add_node();
  LabelledExecutor lane{node.world().executor, true};
  LabelledExecutor background{node.world().executor};
  NoTimestamps timestamps;
  NoGroups groups;
  BlockCache blocks{16u << 20};
  SlabMemory memory{1u << 20};
  World outer = node.world();
  World parts{lane, outer.clock, outer.random, outer.disks, outer.network};
  TableResources resources{parts, groups, timestamps, background, blocks, nullptr, memory};
  TabletSettings settings;
  FakeStoreLog log{lane};
  RowCache cache{memory};
  ReadStatistics statistics;
  std::unique_ptr<StoreSet> stores;
  std::unique_ptr<Maintenance> maintenance;

 private:
  Timestamp last_ = 0;
};

TEST_F(MaintenanceTest, AFlushThatFailedIsReportedAndRetried) {
  log.failures = 1;
  put(1, "a");
  EXPECT_FALSE(flush());
  EXPECT_NE(figures().error.find("the log says no"), std::string::npos);
  EXPECT_EQ(log.dropped_builds, 1u);
  EXPECT_EQ(stores->memory_stores().size(), 2u);
  world.run_for(10s);
  EXPECT_EQ(figures().error, "");
  EXPECT_EQ(figures().flushes, 1u);
  EXPECT_EQ(stores->memory_stores().size(), 1u);
}

TEST_F(MaintenanceTest, ACompactionThatFailedLeavesTheChunksAndIsTriedAgain) {
  put(1, "a");
  ASSERT_TRUE(flush());
  put(2, "b");
  ASSERT_TRUE(flush());
  log.failures = 1;
  EXPECT_FALSE(compact());
  EXPECT_EQ(figures().chunks, 2u);
  world.run_for(30s);
  EXPECT_EQ(figures().chunks, 1u);
  EXPECT_EQ(figures().unmerged_rows, 2u);
}

TEST_F(MaintenanceTest, BlobsOfAReplacedChunkGoWhenItsLastReaderIsGone) {
  put(1, "a");
  ASSERT_TRUE(flush());
  put(1, "b");
  ASSERT_TRUE(flush());
  auto view = stores->views().hold();
  ASSERT_TRUE(compact());
  world.run_for(10s);
  EXPECT_EQ(log.discarded, 0u);
  view.reset();
  world.run_for(10s);
  EXPECT_EQ(log.discarded, 2u);
}

TEST_F(MaintenanceTest, HunksAreCarriedOverByReference) {
  const std::string long_text(5'000, 'x');
  for (int i = 0; i < 10; ++i) put(i, long_text);
  ASSERT_TRUE(flush());
  put(100, "short");
  ASSERT_TRUE(flush());
  const std::uint64_t before = hunk_bytes_stored();
  ASSERT_GE(before, 50'000u);
  ASSERT_TRUE(compact());
  EXPECT_EQ(hunk_bytes_stored(), before);
  world.run_for(10s);
  EXPECT_EQ(log.discarded, 2u);
  for (const auto& [id, reader] : stores->chunks()) {
    for (const HunkUse& use : reader->record().hunks) EXPECT_TRUE(log.stored.contains(use.blob));
  }
}

TEST_F(MaintenanceTest, HunksThatAreMostlyGarbageAreRewritten) {
  const std::string long_text(5'000, 'x');
  for (int i = 0; i < 10; ++i) put(i, long_text);
  ASSERT_TRUE(flush());
  for (int i = 0; i < 8; ++i) put(i, "short");
  world.run_for(2s);
  ASSERT_TRUE(flush());
  ASSERT_TRUE(compact());
  world.run(maintenance->settle());
  EXPECT_LT(hunk_bytes_stored(), 12'000u);
  world.run_for(10s);
  EXPECT_EQ(figures().unmerged_rows, 10u);
  std::uint64_t stored = 0;
  for (const auto& [id, blob] : log.stored) stored += blob.size();
  EXPECT_LT(stored, 20'000u);
}

TEST_F(MaintenanceTest, VersionsThatAReaderNeedsStay) {
  const Timestamp first = put(1, "a");
  put(1, "b");
  log.needed = first;
  ASSERT_TRUE(flush());
  world.run_for(5s);
  ASSERT_TRUE(compact());
  EXPECT_EQ(stores->chunks().begin()->second->record().statistics.values, 2u);
  log.needed = kMaxTimestamp;
  ASSERT_TRUE(compact());
  EXPECT_EQ(stores->chunks().begin()->second->record().statistics.values, 1u);
}

TEST_F(MaintenanceTest, AReaderOfThePastDoesNotMakeItCompactAgainAndAgain) {
  log.needed = put(1, "a");
  for (int i = 0; i < 5; ++i) {
    put(1, "b");
    ASSERT_TRUE(flush());
  }
  world.run_for(10min);
  EXPECT_LE(figures().compactions, 5u);
  log.needed = kMaxTimestamp;
  world.run_for(2min);
  EXPECT_EQ(stores->chunks().begin()->second->record().statistics.values, 1u);
}

TEST_F(MaintenanceTest, ARowThatWasNeverDroppedRaisesNoRetainedTimestamp) {
  put(1, "a");
  put(2, "a");
  ASSERT_TRUE(flush());
  world.run_for(5s);
  ASSERT_TRUE(compact());
  EXPECT_EQ(figures().retained, kMinTimestamp);
}

TEST_F(MaintenanceTest, TombstonesSideBySideGetAChunkOfTheirOwn) {
  settings.mount.enable_compaction_and_partitioning = false;
  for (int i = 0; i < 1'000; ++i) put(i, "a");
  ASSERT_TRUE(flush());
  for (int i = 0; i < 500; ++i) erase(i);
  for (int i = 1'000; i < 1'500; ++i) put(i, "a");
  ASSERT_TRUE(flush());
  ASSERT_EQ(stores->chunks().size(), 3u);
  EXPECT_EQ(stores->chunk(2)->record().statistics.deletes, 500u);
  EXPECT_EQ(stores->chunk(3)->record().statistics.deletes, 0u);
}

TEST_F(MaintenanceTest, BytesInFlightAreBounded) {
  const std::string text(200'000, 'x');
  SeededRandom random(1);
  for (int i = 0; i < 300; ++i) {
    std::string noise = text;
    for (char& byte : noise) byte = static_cast<char>(random.next());
    put(i, noise);
  }
  ASSERT_TRUE(flush());
  EXPECT_GT(log.in_flight_most, kChunkBlobBytes);
  EXPECT_LE(log.in_flight_most, kBuildBytesInFlightMax);
}

TEST_F(MaintenanceTest, StoppingEndsAFlushBetweenTwoBlobs) {
  const std::string text(100'000, 'x');
  for (int i = 0; i < 1'000; ++i) put(i, text);
  stores->rotate(lane.now());
  maintenance->wake();
  world.run_for(1us);
  world.run(maintenance->stop());
  EXPECT_TRUE(log.replaced.empty());
}

}  // namespace
}  // namespace moraine::table
