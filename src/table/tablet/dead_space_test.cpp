#include "table/tablet/dead_space.h"

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

TEST_F(DeadSpaceTest, WhatTombstonesAloneHaveKilledIsToldApart) {
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 200, kStart - 50);
  add("a", "z", 300, kStart - 40, 300);
  const auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0.5);
  EXPECT_DOUBLE_EQ(report.chunks[0].deleted, 0.3);
}

TEST_F(DeadSpaceTest, WhatOnlyEdenKnowsIsToldApart) {
  add("a", "z", 1'000, kStart - 100);
  add("a", "z", 300, kStart - 50);
  input.chunks[1].eden = true;
  const auto report = find_dead_space(input);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead, 0);
  EXPECT_DOUBLE_EQ(report.chunks[0].dead_by_eden, 0.3);
}

TEST_F(DeadSpaceTest, NothingIsDeadBeforeMinDataTtlHasPassedAndTheTimeIsTold) {
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

}  // namespace
}  // namespace moraine::table
