#include <gtest/gtest.h>

#include "io/random.h"
#include "table/tablet/maintenance/test_plan_model.h"

namespace moraine::table {
namespace {

using namespace std::chrono_literals;

MountConfig one_version_at_once() {
  MountConfig mount;
  mount.min_data_ttl = 0ms;
  mount.max_data_ttl = 0ms;
  return mount;
}

// 10 million rows of 116 bytes, 500 per key of the model; a flush has 300 thousand rows.
constexpr std::uint64_t kRowBytes = 116 * 500;
constexpr PlanModel::Key kKeys = 20'000;
constexpr std::size_t kKeysPerFlush = 600;

void overwrite_all(PlanModel& model, SeededRandom& random) {
  std::vector<PlanModel::Key> order(kKeys);
  for (PlanModel::Key key = 0; key < kKeys; ++key) order[key] = key;
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.next() % i]);
  }
  std::map<PlanModel::Key, bool> rows;
  for (const PlanModel::Key key : order) {
    rows[key] = true;
    if (rows.size() < kKeysPerFlush) continue;
    model.flush(std::exchange(rows, {}));
    model.settle(false);
  }
  if (!rows.empty()) model.flush(rows);
  model.settle(false);
}

TEST(CompactionPlanCost, LoadingInRandomOrderWritesEachByteAtMostFiveTimes) {
  PlanModel model(one_version_at_once(), kRowBytes);
  SeededRandom random(1);
  overwrite_all(model, random);
  RecordProperty("write_amplification", fmt::format("{:.2f}", model.write_amplification()));
  EXPECT_LT(model.write_amplification(), 5.0);
  model.settle(true);
  RecordProperty("write_amplification_settled", fmt::format("{:.2f}", model.write_amplification()));
  EXPECT_LT(model.write_amplification(), 6.0);
  EXPECT_EQ(model.stored_bytes(), model.live_bytes());
}

TEST(CompactionPlanCost, ThreeOverwritesInRandomOrderStayBelowSixWritesAndLeaveFewDeadBytes) {
  PlanModel model(one_version_at_once(), kRowBytes);
  SeededRandom random(2);
  double most = 1;
  for (int i = 0; i < 4; ++i) {
    overwrite_all(model, random);
    const double space =
        static_cast<double>(model.stored_bytes()) / static_cast<double>(model.live_bytes());
    most = std::max(most, space);
  }
  EXPECT_LT(model.write_amplification(), 6.0);
  EXPECT_LT(most, 1.5);
  model.settle(true);
  EXPECT_LT(model.write_amplification(), 6.0);
  EXPECT_LT(static_cast<double>(model.stored_bytes()),
            1.1 * static_cast<double>(model.live_bytes()));
  RecordProperty("write_amplification", fmt::format("{:.2f}", model.write_amplification()));
  RecordProperty("space", fmt::format("{:.2f}", most));
}

// One million rows of 116 bytes: a few flushes.
TEST(CompactionPlanCost, ALoadOfAFewFlushesIsWrittenOnceAndAnOverwriteOfAllTwice) {
  PlanModel model(one_version_at_once(), kRowBytes);
  std::vector<double> written;
  for (int pass = 0; pass < 3; ++pass) {
    const std::uint64_t before = model.written_bytes;
    for (PlanModel::Key flush = 0; flush < 3; ++flush) {
      std::map<PlanModel::Key, bool> rows;
      for (PlanModel::Key key = flush; key < 2'000; key += 3) rows[key] = true;
      model.flush(rows);
      model.settle(false);
    }
    model.settle(true);
    written.push_back(static_cast<double>(model.written_bytes - before) /
                      static_cast<double>(model.live_bytes()));
    EXPECT_LE(model.stored_bytes(), model.live_bytes());
  }
  EXPECT_NEAR(written[0], 1, 0.01);
  EXPECT_NEAR(written[1], 2, 0.01);
  EXPECT_NEAR(written[2], 2, 0.01);
}

TEST(CompactionPlanCost, LoadingInKeyOrderRewritesNothing) {
  PlanModel model(one_version_at_once(), kRowBytes);
  std::map<PlanModel::Key, bool> rows;
  for (PlanModel::Key key = 0; key < kKeys; ++key) {
    rows[key] = true;
    if (rows.size() < kKeysPerFlush) continue;
    model.flush(std::exchange(rows, {}));
    model.settle(false);
  }
  model.flush(rows);
  model.settle(true);
  EXPECT_LT(model.write_amplification(), 2.1);
  EXPECT_GT(model.pivots.size(), 3u);
}

// Appends at growing keys and deletes at the old end.
TEST(CompactionPlanCost, AQueueStaysUnderTwiceItsLiveBytesHoweverLongItRuns) {
  for (const PlanModel::Key live : {600u, 3'000u, 12'000u}) {
    PlanModel model(one_version_at_once(), kRowBytes);
    PlanModel::Key first = 0;
    PlanModel::Key next = 0;
    std::map<PlanModel::Key, bool> rows;
    const auto flush = [&] {
      model.flush(std::exchange(rows, {}));
      model.settle(false);
    };
    double most = 0;
    while (next < 40 * live) {
      rows[next++] = true;
      if (next - first > live) rows[first++] = false;
      // A row that is inserted and deleted between two flushes leaves its tombstone.
      if (rows.size() < kKeysPerFlush) continue;
      flush();
      if (next < 2 * live) continue;
      most = std::max(most, static_cast<double>(model.stored_bytes()) /
                                static_cast<double>(model.live_bytes()));
    }
    RecordProperty(fmt::format("space_{}", live), fmt::format("{:.2f}", most));
    RecordProperty(fmt::format("queue_{}", live),
                   fmt::format("{:.2f}", model.write_amplification()));
    EXPECT_LT(most, 2.0) << live;
    EXPECT_LT(model.write_amplification(), 8.0) << live;
    EXPECT_EQ(model.visible(), model.live);
  }
}

MountConfig random_options(SeededRandom& random, std::uint64_t row_bytes) {
  MountConfig mount = one_version_at_once();
  const std::uint64_t unit = row_bytes * (1 + random.next() % 50);
  mount.min_partition_data_size = 4 * unit;
  mount.desired_partition_data_size = 10 * unit;
  mount.max_partition_data_size = 14 * unit;
  mount.compaction_data_size_base = unit * (random.next() % 4);
  mount.compaction_data_size_ratio = 1.0 + static_cast<double>(random.next() % 30) / 10;
  mount.min_compaction_store_count = 2 + static_cast<std::uint32_t>(random.next() % 4);
  mount.max_compaction_store_count =
      mount.min_compaction_store_count + static_cast<std::uint32_t>(random.next() % 8);
  mount.max_overlapping_store_count = 3 + static_cast<std::uint32_t>(random.next() % 30);
  return mount;
}

void check_promises(PlanModel& model, std::uint64_t seed) {
  EXPECT_EQ(model.visible(), model.live) << seed;
  const PlanInput input = model.input(false);
  for (const PlannedPartition& partition : input.partitions) {
    EXPECT_LE(depth(partition.chunks) + input.eden.size(), model.mount.max_overlapping_store_count)
        << seed;
    std::uint64_t bytes = 0;
    double dead = 0;
    for (const PlannedChunk& chunk : partition.chunks) {
      bytes += chunk.record->statistics.data_bytes;
      dead += chunk.dead_fraction * static_cast<double>(chunk.record->statistics.data_bytes);
    }
    EXPECT_LE(bytes, model.mount.max_partition_data_size) << seed;
    EXPECT_LE(dead, static_cast<double>(bytes) / 2) << seed;
  }
}

TEST(CompactionPlanRandom, EveryPlanEndsAndKeepsItsPromises) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SeededRandom random(seed);
    constexpr std::uint64_t kBytes = 1'000;
    PlanModel model(random_options(random, kBytes), kBytes);
    const PlanModel::Key keys = 50 + static_cast<PlanModel::Key>(random.next() % 2'000);
    const std::uint64_t deletes = random.next() % 60;
    for (int flushes = 0; flushes < 40; ++flushes) {
      std::map<PlanModel::Key, bool> rows;
      const PlanModel::Key begin = static_cast<PlanModel::Key>(random.next() % keys);
      const PlanModel::Key width = 1 + static_cast<PlanModel::Key>(random.next() % keys);
      for (std::uint64_t count = 1 + random.next() % 80; count > 0; --count) {
        const auto key = begin + static_cast<PlanModel::Key>(random.next() % width);
        rows[key] = random.next() % 100 >= deletes;
      }
      model.flush(rows);
      model.settle(random.next() % 4 == 0, 500);
      check_promises(model, seed);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace moraine::table
