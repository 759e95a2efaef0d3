// Tablets of one node, used from another over a network that repeats itself.
#include "transaction/remote_tablets.h"

#include <gtest/gtest.h>

#include "io/request_router.h"
#include "table/tablet/test_table.h"
#include "transaction/tablet_server.h"

namespace moraine {
namespace {

constexpr TabletId kTable{91};
constexpr TabletId kCoordinator{9};

class RemoteTabletsTest : public testing::Test {
 protected:
  RemoteTabletsTest() {
    table_.boot();
    served_ = std::move(table_.tablet);
    EXPECT_TRUE(world_.run(server_.add(kTable, served_, table_.timestamps)));
  }
  ~RemoteTabletsTest() override {
    server_.remove(served_.get());
    table_.tablet.reset();
    world_.run(served_->stop());
    if (coordinator_) {
      server_.remove(coordinator_.get());
      world_.run(coordinator_->stop());
    }
  }
  void serve_coordinator() {
    auto booted = world_.run(Coordinator::boot(table_.storage.world(), table_.storage,
                                               TabletInfo::simple(kCoordinator, kTestGroup, 3),
                                               remote_, table_.timestamps));
    ASSERT_TRUE(booted) << booted.error().message();
    coordinator_ = std::move(*booted);
    ASSERT_TRUE(world_.run(server_.add(kCoordinator, coordinator_, table_.timestamps)));
  }

  Instant soon() { return world_.executor().now() + 5s; }
  Result<Timestamp> commit(TabletWrite write) {
    return world_.run(remote_.commit(kTable, std::move(write), soon()));
  }
  TabletWrite put(std::int64_t key, std::int64_t delta) {
    return table_.transaction({table_.rows.put({{"k", key}, {"n", delta}}, true, true)});
  }
  std::int64_t sum(std::int64_t key, Timestamp at = kSyncLastCommitted) {
    const auto found =
        world_.run(remote_.lookup(kTable, {at, {2}, {table_.rows.key({{"k", key}})}}, soon()));
    if (!found || !found->front().exists) return -1;
    std::vector<table::VersionedValue> cells;
    table::read_image(as_bytes(found->front().image), 1, nullptr, cells);
    return cells.empty() ? 0 : cells.front().value.as_int64();
  }
  Errc code(const auto& result) { return result ? Errc::kAlreadyExists : result.error().code; }

  table::TestTable table_{77};
  SimWorld& world_ = table_.world;
  SimNode& client_ = world_.add_node();
  std::optional<NodeId> where_ = table_.storage.node().id();
  RequestRouter router_{table_.storage.world().network};
  TabletServer server_{router_.port(kTablesProtocol)};
  RemoteTablets remote_{client_.world().network, [this](TabletId) { return where_; }};
  std::shared_ptr<table::TableTablet> served_;
  std::shared_ptr<Coordinator> coordinator_;
};

TEST_F(RemoteTabletsTest, ACommitOfAnotherNodeIsRead) {
  const auto done = commit(put(1, 5));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(sum(1), 5);
  EXPECT_EQ(sum(1, *done - 1), -1);
  const auto page = world_.run(remote_.scan(kTable, {kSyncLastCommitted, {0, 2}, {}, 10}, soon()));
  ASSERT_TRUE(page) << page.error().message();
  ASSERT_EQ(page->rows.size(), 1u);
  EXPECT_EQ(page->rows[0].key, table_.rows.key({{"k", 1}}));
  EXPECT_FALSE(page->more);
}

TEST_F(RemoteTabletsTest, AScanGivesPages) {
  for (std::int64_t key = 0; key < 5; ++key) ASSERT_TRUE(commit(put(key, 1)));
  ScanCall call{kSyncLastCommitted, {2}, {}, 2};
  std::size_t rows = 0;
  for (bool more = true; more;) {
    const auto page = world_.run(remote_.scan(kTable, call, soon()));
    ASSERT_TRUE(page);
    rows += page->rows.size();
    more = page->more;
    if (more) call.bounds.from = page->rows.back().key + '\0';
  }
  EXPECT_EQ(rows, 5u);
}

TEST_F(RemoteTabletsTest, ARepeatedCommitIsAppliedOnceAndAnsweredAlike) {
  world_.network().everywhere().duplicate.one_in = 1;
  std::int64_t expected = 0;
  for (std::int64_t delta = 1; delta <= 20; ++delta) {
    const auto done = commit(put(1, delta));
    ASSERT_TRUE(done) << done.error().message();
    expected += delta;
    EXPECT_EQ(sum(1), expected);
  }
  EXPECT_EQ(served_->statistics().commits, 20u);
}

TEST_F(RemoteTabletsTest, WhatWasRefusedStaysRefused) {
  const TabletWrite first = put(1, 5);
  TabletWrite second = put(1, 7);
  second.start = first.start;
  ASSERT_TRUE(commit(first));
  EXPECT_EQ(code(commit(second)), Errc::kAborted);
  EXPECT_EQ(code(commit(second)), Errc::kAborted);
  EXPECT_EQ(sum(1), 5);
}

TEST_F(RemoteTabletsTest, ATransactionOlderThanTheIncarnationHasAnUnknownOutcome) {
  const TabletWrite old = put(1, 5);
  server_.remove(served_.get());
  ASSERT_TRUE(world_.run(server_.add(kTable, served_, table_.timestamps)));
  EXPECT_EQ(code(commit(old)), Errc::kUnknownOutcome);
  EXPECT_TRUE(commit(put(1, 6)));
  EXPECT_EQ(sum(1), 6);
}

TEST_F(RemoteTabletsTest, ReadsOfASupersededIncarnationAreNotAnswered) {
  ASSERT_TRUE(commit(put(1, 5)));
  table_.boot();
  EXPECT_EQ(sum(1), -1);
  const auto key = table_.rows.key({{"k", 1}});
  const auto found = world_.run(remote_.lookup(kTable, {kSyncLastCommitted, {2}, {key}}, soon()));
  EXPECT_EQ(code(found), Errc::kConflict);
  table_.stop();
}

TEST_F(RemoteTabletsTest, CallsOfATabletThatRunsNowhereFail) {
  EXPECT_EQ(code(world_.run(remote_.abort_prepared(TabletId{5}, {}, soon()))), Errc::kNotHere);
  where_.reset();
  EXPECT_EQ(code(commit(put(1, 5))), Errc::kNotHere);
}

TEST_F(RemoteTabletsTest, ACoordinatorDecidesForOthers) {
  serve_coordinator();
  world_.network().everywhere().duplicate.one_in = 2;
  const TabletWrite write = put(1, 5);
  const auto done = world_.run(remote_.decide(kCoordinator, {{kTable, write}}, soon()));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(sum(1), 5);
  const auto outcome = world_.run(remote_.outcome(kCoordinator, write.transaction, soon()));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, TransactionOutcome::Kind::kCommitted);
  EXPECT_EQ(outcome->commit, *done);
  const auto other = world_.run(remote_.outcome(kCoordinator, table_.new_id(), soon()));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->kind, TransactionOutcome::Kind::kAborted);
}

TEST_F(RemoteTabletsTest, ASupersededCoordinatorDoesNotSayThatSomethingWasAborted) {
  serve_coordinator();
  auto newer = world_.run(Coordinator::boot(table_.storage.world(), table_.storage,
                                            TabletInfo::simple(kCoordinator, kTestGroup, 3),
                                            remote_, table_.timestamps));
  ASSERT_TRUE(newer);
  const auto outcome = world_.run(remote_.outcome(kCoordinator, table_.new_id(), soon()));
  EXPECT_FALSE(outcome);
  world_.run((*newer)->stop());
}

}  // namespace
}  // namespace moraine
