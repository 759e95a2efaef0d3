#include "table/tablet/maintenance/compaction_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace moraine::table {
namespace {

using namespace std::chrono_literals;
using Kind = CompactionJob::Kind;

constexpr std::uint64_t kMb = std::uint64_t{1} << 20;

class CompactionPlan : public testing::Test {
 protected:
  CompactionPlan() {
    input.mount = &mount;
    input.partitions.resize(1);
    input.now_ms = 1'000'000;
  }

  PlannedChunk chunk(std::string first, std::string last, std::uint64_t bytes) {
    ChunkRecord& record = records_.emplace_back();
    record.id = records_.size();
    record.statistics.first_key = std::move(first);
    record.statistics.last_key = std::move(last);
    record.statistics.data_bytes = bytes;
    record.statistics.rows = bytes / 100;
    record.created_ms = 900'000;
    PlannedChunk planned;
    planned.record = &record;
    return planned;
  }
  PlannedChunk& add(std::string first, std::string last, std::uint64_t bytes,
                    std::size_t partition = 0) {
    auto& chunks = input.partitions[partition].chunks;
    return chunks.emplace_back(chunk(std::move(first), std::move(last), bytes));
  }
  PlannedChunk& add_to_eden(std::string first, std::string last, std::uint64_t bytes) {
    return input.eden.emplace_back(chunk(std::move(first), std::move(last), bytes));
  }
  void two_partitions() {
    input.partitions.resize(2);
    input.partitions[0].to = "m";
    input.partitions[1].from = "m";
  }

  MountConfig mount;
  PlanInput input;
  std::deque<ChunkRecord> records_;
};

TEST_F(CompactionPlan, AnEmptyTabletNeedsNothing) {
  EXPECT_FALSE(plan_compaction(input));
}

TEST_F(CompactionPlan, ChunksInWhichEverythingIsExpiredAreDroppedUnread) {
  add("a", "z", 100 * kMb).all_expired = true;
  add("a", "z", kMb);
  add_to_eden("a", "z", kMb).all_expired = true;
  two_partitions();
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kDrop);
  EXPECT_EQ(job->chunks, (std::vector<std::uint64_t>{3, 1}));
}

TEST_F(CompactionPlan, WhenItIsTurnedOffNothingIsDoneButWhatIsForced) {
  mount.enable_compaction_and_partitioning = false;
  for (int i = 0; i < 40; ++i) add("a", "z", kMb);
  EXPECT_FALSE(plan_compaction(input));
  input.partitions[0].chunks[3].forced = true;
  EXPECT_TRUE(plan_compaction(input));
}

TEST_F(CompactionPlan, ForcedChunksGoWithAllOfTheirPartition) {
  two_partitions();
  add("a", "b", 100 * kMb);
  add("a", "b", kMb);
  add("n", "o", 100 * kMb, 1).forced = true;
  add("p", "q", kMb, 1);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kCompact);
  EXPECT_EQ(job->partition, 1u);
  EXPECT_EQ(job->chunks, (std::vector<std::uint64_t>{3, 4}));
}

TEST_F(CompactionPlan, ChunksMadeBeforeTheForcedTimeAreCompacted) {
  add("a", "b", 100 * kMb);
  EXPECT_FALSE(plan_compaction(input));
  input.forced_before_ms = 900'001;
  EXPECT_TRUE(plan_compaction(input));
}

TEST_F(CompactionPlan, AutoCompactionComesWithinItsPeriodAndAThird) {
  mount.auto_compaction_period = 1'000s;
  add("a", "b", 100 * kMb);
  const std::uint64_t due = next_periodic_ms(input);
  EXPECT_GE(due, 1'900'000u);
  EXPECT_LE(due, 2'200'000u);
  EXPECT_FALSE(plan_compaction(input));
  input.now_ms = due;
  EXPECT_TRUE(plan_compaction(input));
}

TEST_F(CompactionPlan, AutoCompactionIsSpreadOverChunksMadeTogether) {
  mount.auto_compaction_period = 1'000s;
  std::set<std::uint64_t> times;
  for (int i = 0; i < 20; ++i) {
    input.partitions[0].chunks.clear();
    add("a", "b", kMb);
    times.insert(next_periodic_ms(input));
  }
  EXPECT_GT(times.size(), 15u);
}

TEST_F(CompactionPlan, ALittleEdenStaysAsItIs) {
  two_partitions();
  add("a", "b", 200 * kMb);
  add("n", "o", 200 * kMb, 1);
  add_to_eden("a", "z", 30 * kMb);
  EXPECT_FALSE(plan_compaction(input));
}

TEST_F(CompactionPlan, EnoughEdenIsPartitioned) {
  two_partitions();
  add("a", "b", 200 * kMb);
  add("n", "o", 200 * kMb, 1);
  for (int i = 0; i < 4; ++i) add_to_eden("a", "z", 30 * kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kPartition);
  EXPECT_EQ(job->chunks.size(), 4u);
  EXPECT_EQ(job->partitions, 2u);
}

TEST_F(CompactionPlan, ManyTinyEdenChunksBecomeOneOfEden) {
  two_partitions();
  add("a", "b", 200 * kMb);
  add("n", "o", 200 * kMb, 1);
  for (std::size_t i = 0; i <= kEdenStoresMax; ++i) add_to_eden("a", "z", 1'000);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kCompactEden);
}

TEST_F(CompactionPlan, RunsOfLikeSizeAreMergedAndTheBigOneIsLeftAlone) {
  add("a", "z", 250 * kMb);
  for (int i = 0; i < 7; ++i) add("a", "z", 8 * kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kCompact);
  EXPECT_EQ(job->chunks, (std::vector<std::uint64_t>{2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(CompactionPlan, ChunksThatDoNotOverlapAreOneRun) {
  for (char key = 'a'; key < 'a' + 9; ++key) {
    add(std::string(1, key) + "0", std::string(1, key) + "9", 20 * kMb);
  }
  EXPECT_EQ(depth(input.partitions[0].chunks), 1u);
  EXPECT_FALSE(plan_compaction(input));
}

TEST_F(CompactionPlan, ManySmallChunksSideBySideAreJoined) {
  for (char key = 'a'; key < 'a' + 12; ++key) {
    add(std::string(1, key) + "0", std::string(1, key) + "9", 1'000);
  }
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->chunks.size(), 12u);
}

TEST_F(CompactionPlan, ReadsNeverMeetMoreStoresThanAllowed) {
  mount.max_overlapping_store_count = 4;
  std::uint64_t size = 250 * kMb;
  for (int i = 0; i < 5; ++i, size /= 4) add("a", "z", size);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_GE(job->chunks.size(), 2u);
}

TEST_F(CompactionPlan, AFewRunsSideBySideAreNotWorthARewrite) {
  for (int i = 0; i < 3; ++i) add("a", "z", 20 * kMb);
  EXPECT_FALSE(plan_compaction(input));
  input.idle = true;
  EXPECT_FALSE(plan_compaction(input));
  input.resting = true;
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->chunks.size(), 3u);
  input.resting = false;
  add("a", "z", 20 * kMb);
  EXPECT_TRUE(plan_compaction(input));
}

TEST_F(CompactionPlan, AtRestRunsBecomeOneUnlessMuchIsRewrittenForLittle) {
  input.idle = input.resting = true;
  add("a", "z", 200 * kMb);
  add("a", "z", 40 * kMb);
  EXPECT_FALSE(plan_compaction(input));
  add("b", "c", 10 * kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->chunks.size(), 3u);
  input.resting = false;
  EXPECT_FALSE(plan_compaction(input));
}

TEST_F(CompactionPlan, FewDeadBytesWaitForMoreWhileRowsAreWritten) {
  add("a", "z", 60 * kMb).dead_fraction = 0.9;
  add("b", "y", 50 * kMb);
  EXPECT_FALSE(plan_compaction(input));
  input.partitions[0].chunks.front().dead_fraction = 0.95;
  EXPECT_TRUE(plan_compaction(input));  // The greater part of all.
}

TEST_F(CompactionPlan, DeadBytesBringAWholePartitionTogether) {
  add("a", "z", 200 * kMb).dead_fraction = 0.5;
  add("a", "z", 60 * kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->chunks.size(), 2u);
}

TEST_F(CompactionPlan, AChunkWithADenseRangeOfTombstonesAboveItIsMergedWithThemAlone) {
  add("a", "c", 30 * kMb).dead_fraction = 0.4;
  add("d", "f", 100 * kMb);
  add("g", "i", 100 * kMb);
  add("a", "b", kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->chunks, (std::vector<std::uint64_t>{1, 4}));
}

TEST_F(CompactionPlan, ADeletedChunkGoesAtOnceWithItsTombstonesAlone) {
  const auto tombstones = [this](std::string first, std::string last) {
    add(std::move(first), std::move(last), kMb / 10);
    ChunkStatistics& figures = records_.back().statistics;
    figures.deletes = figures.rows;
  };
  PlannedChunk& gone = add("a", "c", kMb);
  gone.dead_fraction = gone.deleted_fraction = 0.97;
  add("b", "z", 200 * kMb);
  tombstones("a", "b");
  tombstones("c", "e");
  tombstones("f", "g");
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kCompact);
  EXPECT_EQ(job->chunks, (std::vector<std::uint64_t>{1, 3, 4}));
  input.partitions[0].chunks[0].deleted_fraction = 0.9;
  EXPECT_FALSE(plan_compaction(input));
}

TEST_F(CompactionPlan, FewerDeadBytesAreToleratedWhileNothingIsWritten) {
  add("a", "z", 200 * kMb).dead_fraction = 0.15;
  add("a", "z", 30 * kMb);
  EXPECT_FALSE(plan_compaction(input));
  input.idle = true;
  EXPECT_TRUE(plan_compaction(input));
}

TEST_F(CompactionPlan, WhatEdenHasDeletedBringsEdenDownFirst) {
  two_partitions();
  add("a", "b", 200 * kMb).dead_by_eden = 0.5;
  add("n", "o", 200 * kMb, 1);
  add_to_eden("a", "z", kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kPartition);
}

TEST_F(CompactionPlan, ABigPartitionIsCutBetweenChunksWithoutRewriting) {
  for (char key = 'a'; key < 'a' + 5; ++key) {
    add(std::string(1, key) + "0", std::string(1, key) + "9", 100 * kMb);
  }
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kSplit);
  EXPECT_TRUE(job->chunks.empty());
  EXPECT_EQ(job->pivots, (std::vector<std::string>{"c0", "e0"}));
}

TEST_F(CompactionPlan, ABigPartitionWhoseChunksOverlapIsRewrittenInParts) {
  add("a", "z", 200 * kMb);
  add("b", "y", 200 * kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kSplit);
  EXPECT_EQ(job->chunks.size(), 2u);
  EXPECT_EQ(job->partitions, 3u);
  input.partitions[0].whole = true;
  EXPECT_FALSE(plan_compaction(input));
}

TEST_F(CompactionPlan, SmallNeighboursBecomeOnePartition) {
  two_partitions();
  add("a", "b", 50 * kMb);
  add("n", "o", 150 * kMb, 1);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->kind, Kind::kMerge);
  EXPECT_EQ(job->partition, 0u);
}

TEST_F(CompactionPlan, ChunksThatReferToGarbageHunksAreRewritten) {
  add("a", "b", 50 * kMb);
  add("c", "d", 50 * kMb).hunk_garbage = true;
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->chunks, (std::vector<std::uint64_t>{2}));
}

TEST_F(CompactionPlan, ChunksTakenOverInPartAreRewrittenWhenThereIsNothingElseToDo) {
  add("a", "b", 50 * kMb).borrowed = true;
  EXPECT_FALSE(plan_compaction(input));
  input.idle = true;
  EXPECT_TRUE(plan_compaction(input));
}

TEST_F(CompactionPlan, BoundsOfATakenOverChunkCountInPlaceOfItsKeys) {
  PlannedChunk& taken = add("a", "z", 50 * kMb);
  auto& record = const_cast<ChunkRecord&>(*taken.record);
  record.from = "f";
  record.to = "k";
  EXPECT_EQ(first_key(record), "f");
  EXPECT_EQ(last_key(record), "k");
  add("l", "z", 50 * kMb);
  EXPECT_EQ(depth(input.partitions[0].chunks), 1u);
}

TEST_F(CompactionPlan, PartitionsWithUnlistedChunksKeepTheirBounds) {
  two_partitions();
  add("a", "b", 50 * kMb);
  add("n", "o", 150 * kMb, 1);
  input.partitions[1].keeps_bounds = true;
  EXPECT_FALSE(plan_compaction(input));
  for (const char* key : {"c", "d", "e", "f", "g"}) add(key, key, 100 * kMb);
  input.partitions[0].keeps_bounds = true;
  EXPECT_FALSE(plan_compaction(input));
}

TEST_F(CompactionPlan, TakesStepsThatGrowWithTheNumberOfChunks) {
  mount.max_partition_data_size = ~std::uint64_t{0};
  mount.max_overlapping_store_count = 1'000;
  for (const std::size_t runs : {1, 8}) {
    std::vector<std::uint64_t> took;
    for (const std::size_t count : {1'000, 8'000}) {
      input.partitions.assign(1, {});
      records_.clear();
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t first = i / runs * 100 + i % runs;
        add(fmt::format("{:08}", first), fmt::format("{:08}", first + 99), 30 * kMb);
      }
      std::uint64_t steps = 0;
      input.steps = &steps;
      plan_compaction(input);
      took.push_back(steps);
    }
    EXPECT_GT(took[0], 1'000u);
    EXPECT_LT(took[1], 8 * took[0] * 2) << runs;
  }
}

TEST_F(CompactionPlan, OfVeryManyChunksOverEachOtherMergesSome) {
  std::uint64_t steps = 0;
  input.steps = &steps;
  for (std::size_t i = 0; i < 4'000; ++i) add("a", "z", kMb);
  const auto job = plan_compaction(input);
  ASSERT_TRUE(job);
  EXPECT_GE(job->chunks.size(), 2u);
  EXPECT_LT(steps, 4'000u * 300);
}

}  // namespace
}  // namespace moraine::table
