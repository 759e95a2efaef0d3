#include "table/tablet/maintenance/dead_space.h"

#include <gtest/gtest.h>

#include <deque>

namespace moraine::table {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kStart = 1'000'000;  // Seconds.

class DeadSpaceTest : public testing::Test {
 protected:
  DeadSpaceTest() {
    input.now_ms = kStart * 1'000;
    input.in_common = [this](const ChunkRecord&, const ChunkRecord&) { return in_common; };
    input.retention.min_data_ttl = 0ms;
    input.retention.max_data_ttl = 0ms;
  }
  ChunkRecord& add(std::string first, std::string last, std::uint64_t rows, std::uint64_t written,
                   std::uint64_t deletes = 0) {
    ChunkRecord& record = records_.emplace_back();
    record.id = records_.size();
    ChunkStatistics& figures = record.statistics;
    figures.first_key = std::move(first);
    figures.last_key = std::move(last);
    figures.rows = rows;
    figures.values = rows - deletes;
    figures.deletes = deletes;
    figures.min_timestamp = figures.max_timestamp = timestamp_of_seconds(written);
    input.chunks.push_back({&record, false, 0});
    return record;
  }

  DeadSpaceInput input;
  double in_common = 1;

 private:
  std::deque<ChunkRecord> records_;
};

TEST_F(DeadSpaceTest, RowsOfAnOlderChunkThatAYoungerOneHasTooAreDead) {
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 300, kStart - 50);
  const auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0.3);
  EXPECT_DOUBLE_EQ(report.chunks[1].dead, 0);
}

TEST_F(DeadSpaceTest, NewRowsAmongOldOnesKillNothing) {
  in_common = 0;
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 300, kStart - 50);
  EXPECT_DOUBLE_EQ(find_dead_space(input).chunks[0].dead, 0);
}

TEST_F(DeadSpaceTest, WithoutSamplesRowsAreSpreadOverWhatLiesBeneath) {
  in_common = -1;
  add("a", "c", 1'000, kStart - 100);
  add("d", "f", 3'000, kStart - 90);
  add("a", "f", 400, kStart - 50);
  const auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0.1);
  EXPECT_DOUBLE_EQ(report.chunks[1].dead, 0.1);
}

TEST_F(DeadSpaceTest, WhatTombstonesAloneHaveKilledIsReportedSeparately) {
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 200, kStart - 50);
  add("a", "z", 300, kStart - 40, 300);
  const auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0.5);
  EXPECT_DOUBLE_EQ(report.chunks[0].deleted, 0.3);
}

TEST_F(DeadSpaceTest, WhatOnlyEdenKnowsIsReportedSeparately) {
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 300, kStart - 50);
  input.chunks[1].eden = true;
  const auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead_by_eden, 0.3);
}

TEST_F(DeadSpaceTest, NothingIsDeadBeforeMinDataTtlHasPassedAndTheTimeIsReported) {
  input.retention.min_data_ttl = 60s;
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 500, kStart - 50);
  auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0);
  EXPECT_EQ(report.next_ms, (kStart + 11) * 1'000);
  input.now_ms = report.next_ms;
  report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0.5);
  EXPECT_EQ(report.next_ms, 0u);
}

TEST_F(DeadSpaceTest, WhatAReaderOfThePastSeesIsNotDead) {
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 500, kStart - 50);
  input.needed_ms = (kStart - 70) * 1'000;
  const auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0);
  EXPECT_GT(report.next_ms, input.now_ms);
  input.needed_ms = (kStart - 50) * 1'000;
  EXPECT_DOUBLE_EQ(find_dead_space(input).chunks[0].dead, 0.5);
}

TEST_F(DeadSpaceTest, TombstonesWithNothingBeneathAreDead) {
  add("a", "c", 1'000, kStart - 100, 1'000);
  EXPECT_DOUBLE_EQ(find_dead_space(input).chunks[0].dead, 1);
}

TEST_F(DeadSpaceTest, TombstonesAboveRowsGoOnlyWithThem) {
  in_common = 0.1;
  add("a", "z", 100'000, kStart - 100);
  add("a", "z", 1'000, kStart - 50, 1'000);
  EXPECT_DOUBLE_EQ(find_dead_space(input).chunks[1].dead, 0);
}

TEST_F(DeadSpaceTest, WhatACompactionHasLeftIsNotCountedAgain) {
  add("a", "z", 1'000, kStart - 100, 500);
  input.chunks[0].retained_ms = (kStart - 10) * 1'000;
  EXPECT_DOUBLE_EQ(find_dead_space(input).chunks[0].dead, 0);
}

TEST_F(DeadSpaceTest, SeveralVersionsThatMayStayAreNotDead) {
  input.retention.max_data_versions = 3;
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 500, kStart - 50);
  EXPECT_DOUBLE_EQ(find_dead_space(input).chunks[0].dead, 0);
}

TEST_F(DeadSpaceTest, AChunkOlderThanMaxDataTtlIsExpiredWhenNoVersionNeedStay) {
  input.retention = {
      .min_data_versions = 0, .max_data_versions = 1, .min_data_ttl = 0ms, .max_data_ttl = 60s};
  add("a", "c", 1'000, kStart - 100);
  add("d", "f", 1'000, kStart - 10);
  auto report = find_dead_space(input);
  EXPECT_TRUE(report.chunks[0].all_expired);
  EXPECT_FALSE(report.chunks[1].all_expired);
  EXPECT_EQ(report.next_ms, (kStart + 51) * 1'000);
  input.retention.min_data_versions = 1;
  EXPECT_FALSE(find_dead_space(input).chunks[0].all_expired);
  input.retention.min_data_versions = 0;
  input.row_ttl = true;
  EXPECT_FALSE(find_dead_space(input).chunks[0].all_expired);
}

TEST_F(DeadSpaceTest, AnExpiredChunkStaysWhileItHidesOlderVersionsOfAnotherOne) {
  input.retention = {
      .min_data_versions = 0, .max_data_versions = 1, .min_data_ttl = 0ms, .max_data_ttl = 60s};
  add("a", "c", 1'000, kStart - 100);
  ChunkRecord& mixed = add("a", "z", 1'000, kStart - 10);
  mixed.statistics.min_timestamp = timestamp_of_seconds(kStart - 200);
  EXPECT_FALSE(find_dead_space(input).chunks[0].all_expired);
  mixed.statistics.min_timestamp = timestamp_of_seconds(kStart - 90);
  EXPECT_TRUE(find_dead_space(input).chunks[0].all_expired);
}

TEST_F(DeadSpaceTest, AnExpiredChunkStaysWhileOlderVersionsAreInMemory) {
  input.retention = {
      .min_data_versions = 0, .max_data_versions = 1, .min_data_ttl = 0ms, .max_data_ttl = 60s};
  add("a", "c", 1'000, kStart - 100);
  input.memory_since = timestamp_of_seconds(kStart - 150);
  EXPECT_FALSE(find_dead_space(input).chunks[0].all_expired);
}

TEST_F(DeadSpaceTest, IsFoundInStepsThatGrowWithTheNumberOfChunks) {
  input.retention.min_data_versions = 0;
  input.retention.max_data_ttl = 1s;
  std::vector<std::uint64_t> took;
  for (const std::size_t count : {1'000, 8'000}) {
    input.chunks.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = i / 8 * 100 + i % 8;
      // The first of a series of neighbours is kept, and keeps those above it one after another.
      const std::uint64_t written = i == 0 ? kStart : kStart - 1'000 + i % 900;
      add(std::to_string(10'000'000 + first), std::to_string(10'000'000 + first + 99), 1'000,
          written);
    }
    const auto report = find_dead_space(input);
    took.push_back(report.steps);
  }
  EXPECT_GT(took[0], 1'000u);
  EXPECT_LT(took[1], 8 * took[0] * 2);
}

TEST_F(DeadSpaceTest, IsFoundInPartsAsAtOnce) {
  for (int i = 0; i < 30; ++i) {
    add(std::string(1, static_cast<char>('a' + i % 20)),
        std::string(1, static_cast<char>('c' + i % 20)), 100 + static_cast<std::uint64_t>(i),
        kStart - 100 + static_cast<std::uint64_t>(i));
  }
  const auto whole = find_dead_space(input);
  DeadSpaceFinder finder(input);
  std::size_t turns = 1;
  while (!finder.run(3)) ++turns;
  const auto parts = finder.finish();
  EXPECT_GT(turns, 5u);
  for (std::size_t i = 0; i < whole.chunks.size(); ++i) {
    EXPECT_DOUBLE_EQ(whole.chunks[i].dead, parts.chunks[i].dead) << i;
  }
}

TEST_F(DeadSpaceTest, NothingCountsAsExpiredWhereNotAllOverlapsAreKnown) {
  input.retention.min_data_versions = 0;
  for (std::size_t i = 0; i < 1'000; ++i) add("a", "z", 10, kStart - 1'000);
  const auto report = find_dead_space(input);
  for (const DeadSpace& space : report.chunks) EXPECT_FALSE(space.all_expired);
}

}  // namespace
}  // namespace moraine::table
