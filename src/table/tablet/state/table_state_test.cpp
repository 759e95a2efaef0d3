#include "table/tablet/state/table_state.h"

#include <gtest/gtest.h>

#include "table/tablet/state/test_state.h"

namespace moraine::table {
namespace {

constexpr TabletId kOwn{91};

class TableStateTest : public testing::Test {
 protected:
  TableStateTest() : state_(kOwn, schema_) { rows_.schema = schema_; }

  static BlobId blob(std::uint32_t cookie, TabletId tablet = kOwn) {
    return BlobId(tablet, 2, 3, kFirstDataChannel, 100, cookie);
  }
  static ChunkRecord chunk(std::uint64_t id, std::vector<BlobId> hunks = {},
                           TabletId tablet = kOwn) {
    ChunkRecord record;
    record.id = id;
    record.meta = blob(static_cast<std::uint32_t>(id) * 10, tablet);
    record.data = {blob(static_cast<std::uint32_t>(id) * 10 + 1, tablet)};
    for (const BlobId& hunk : hunks) record.hunks.push_back({hunk, 50});
    return record;
  }
  static TransactionId id_of(std::uint8_t number) {
    TransactionId id;
    id.bytes[3] = number;
    return id;
  }
  void replay(const LogRecord& record) {
    const auto replayed = state_.replay(encode(record));
    ASSERT_TRUE(replayed) << replayed.error().message();
  }
  std::vector<RowChange> row(int key, std::string_view text) {
    return {rows_.put({{"k", key}, {"v", text}})};
  }
  // A state restored from a snapshot of this one.
  std::unique_ptr<TableState> again() {
    auto copy = std::make_unique<TableState>(kOwn, schema_);
    const auto restored = copy->restore(state_.snapshot());
    EXPECT_TRUE(restored) << restored.error().message();
    return copy;
  }

  std::shared_ptr<const TableSchema> schema_ = std::make_shared<const TableSchema>(test_schema());
  TestRows rows_;
  TableState state_;
};

TEST_F(TableStateTest, RowsAreInTheStoresOfTheirNumbersUntilThoseAreFlushed) {
  replay(RowsRecord{1, 100, id_of(1), row(1, "a")});
  replay(RowsRecord{2, 101, id_of(2), row(2, "b")});
  replay(RowsRecord{1, 102, id_of(3), row(3, "c")});
  ReplaceRecord flush;
  flush.flushed = {1};
  flush.added = {chunk(1)};
  replay(flush);
  const auto copy = again();
  EXPECT_EQ(copy->last_commit(), 102u);
  EXPECT_EQ(copy->chunks().size(), 1u);
  EXPECT_EQ(rows_in(*copy, 1), 0u);
  EXPECT_EQ(rows_in(state_, 2), 1u);
}

TEST_F(TableStateTest, ASnapshotOfASnapshotIsTheSame) {
  for (int i = 0; i < 300; ++i) {
    const std::string text(static_cast<std::size_t>(i) * 10, 'x');
    replay(RowsRecord{1, 100 + static_cast<Timestamp>(i), id_of(1), row(i % 50, text)});
  }
  replay(RowsRecord{1, 500, id_of(1), {rows_.erase({{"k", 3}})}});
  replay(PrepareRecord{1, id_of(9), 400, TabletId{5}, row(1000, "p")});
  replay(PrepareRecord{1, id_of(8), 410, TabletId{5}, row(1001, "p")});
  replay(CommitRecord{id_of(8), 600});
  ReplaceRecord compact;
  compact.added = {chunk(4), chunk(5)};
  compact.added_to_eden = {5};
  compact.pivots = std::vector<std::string>{"", "m"};
  compact.retained_timestamp = 77;
  replay(compact);
  const std::vector<Slice> first = state_.snapshot();
  const std::vector<Slice> second = again()->snapshot();
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(equal(first[i], second[i])) << i;
}

TEST_F(TableStateTest, PreparedTransactionsKeepTheirLocks) {
  replay(PrepareRecord{1, id_of(9), 400, TabletId{5}, row(7, "p")});
  replay(RowsRecord{1, 500, id_of(1), row(1, "a")});
  const auto copy = again();
  StoreSet stores(schema_, {}, 1, Instant{});
  ASSERT_TRUE(copy->begin(stores));
  const auto changes = row(7, "other");
  EXPECT_FALSE(copy->locks().acquire(id_of(2), 600, changes));
  EXPECT_EQ(copy->prepared().size(), 1u);
}

TEST_F(TableStateTest, AfterASnapshotWhatBeganBeforeItsNewestCommitConflicts) {
  replay(RowsRecord{1, 500, id_of(1), row(1, "a")});
  const auto copy = again();
  const auto changes = row(1, "b");
  EXPECT_FALSE(copy->locks().acquire(id_of(2), 499, changes));
  EXPECT_TRUE(copy->locks().acquire(id_of(2), 501, changes));
}

TEST_F(TableStateTest, OutcomesAreRemembered) {
  replay(PrepareRecord{1, id_of(1), 400, TabletId{5}, row(1, "a")});
  replay(PrepareRecord{1, id_of(2), 401, TabletId{5}, row(2, "a")});
  replay(CommitRecord{id_of(1), 450});
  replay(AbortRecord{id_of(2)});
  const auto copy = again();
  EXPECT_EQ(copy->finished().outcome(id_of(1)), 450u);
  EXPECT_EQ(copy->finished().outcome(id_of(2)), 0u);
  EXPECT_EQ(copy->finished().outcome(id_of(3)), std::nullopt);
}

TEST_F(TableStateTest, OldOutcomesAreForgottenAndTheirAgeIsRefused) {
  FinishedTransactions finished;
  finished.add({id_of(1), timestamp_of_seconds(1'000), timestamp_of_seconds(1'001)});
  finished.forget(timestamp_of_seconds(1'200));
  EXPECT_TRUE(finished.outcome(id_of(1)));
  finished.forget(timestamp_of_seconds(1'400));
  EXPECT_FALSE(finished.outcome(id_of(1)));
  EXPECT_EQ(finished.horizon(), timestamp_of_seconds(1'001));
}

TEST_F(TableStateTest, PastTheirNumberOutcomesOfCommitsRaiseTheHorizonAndAbortsDoNot) {
  FinishedTransactions finished(2);
  finished.add({id_of(1), 100, 0});
  finished.add({id_of(2), 101, 150});
  finished.add({id_of(3), 90, 160});
  EXPECT_FALSE(finished.outcome(id_of(1)));
  EXPECT_EQ(finished.horizon(), 0u);
  finished.add({id_of(4), 91, 170});
  EXPECT_FALSE(finished.outcome(id_of(2)));
  EXPECT_EQ(finished.horizon(), 150u);
}

TEST_F(TableStateTest, BlobsOfOtherTabletsAreNeverItsOwn) {
  AdoptRecord adopt;
  adopt.chunks = {chunk(1, {blob(99, TabletId{90})}, TabletId{90})};
  replay(adopt);
  EXPECT_TRUE(state_.adopted());
  EXPECT_TRUE(state_.live_blobs().empty());
  EXPECT_TRUE(state_.unused_blobs(adopt.chunks[0]).empty());
  EXPECT_TRUE(again()->adopted());
}

TEST_F(TableStateTest, AHunkBlobLivesAsLongAsAChunkRefersToIt) {
  const BlobId hunk = blob(500);
  const ChunkRecord first = chunk(1, {hunk});
  const ChunkRecord second = chunk(2, {hunk});
  ReplaceRecord add;
  add.added = {first, second};
  replay(add);
  ReplaceRecord remove;
  remove.removed = {1};
  replay(remove);
  const auto contains = [&](const std::vector<BlobId>& blobs) {
    return std::ranges::find(blobs, hunk) != blobs.end();
  };
  EXPECT_TRUE(contains(state_.live_blobs()));
  EXPECT_FALSE(contains(state_.unused_blobs(first)));
  remove.removed = {2};
  replay(remove);
  EXPECT_FALSE(contains(state_.live_blobs()));
  EXPECT_TRUE(contains(state_.unused_blobs(second)));
}

TEST_F(TableStateTest, BuildsEndWithTheirIncarnation) {
  replay(BuildRecord{1, {blob(1)}});
  EXPECT_TRUE(state_.live_blobs().empty());
  state_.built(2, {blob(2), blob(3), blob(4)});
  EXPECT_EQ(state_.live_blobs().size(), 3u);
  ReplaceRecord record;
  record.build = 2;
  record.added = {chunk(1)};
  record.added[0].meta = blob(2);
  record.added[0].data = {blob(3)};
  EXPECT_EQ(state_.replace(record), std::vector{blob(4)});
  EXPECT_EQ(state_.live_blobs(), (std::vector{blob(2), blob(3)}));
}

}  // namespace
}  // namespace moraine::table
