// Tablets of one node, used from another over a network that repeats itself.
#include "transaction/remote_tablets.h"

#include <gtest/gtest.h>

#include "io/request_router.h"
#include "table/tablet/test_table.h"
#include "transaction/paged_scan.h"
#include "transaction/tablet_server.h"

namespace moraine {
namespace {

constexpr TabletId kTable{91};
constexpr TabletId kCoordinator{9};
constexpr TabletId kOracle{8};

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
  // The sum of a key; -1: no such row.
  std::int64_t sum(std::int64_t key, Timestamp at = kSyncLastCommitted) {
    const auto found = look(key, at);
    return found ? *found : -1;
  }
  Result<std::int64_t> look(std::int64_t number, Timestamp at = kSyncLastCommitted) {
    const std::string key = table_.rows.key({{"k", number}});
    const std::string_view keys[] = {key};
    const table::ColumnIndex columns[] = {2};
    table::LookupRequest request;
    request.keys = keys;
    request.columns = columns;
    request.timestamp = at;
    Rowset rows;
    TRY_VOID(world_.run(remote_.lookup(kTable, nullptr, request, rows, soon())));
    if (!rows.exists(0)) return -1;
    return rows.at(0, 0).is_null() ? 0 : rows.at(0, 0).as_int64();
  }
  Errc code(const auto& result) { return result ? Errc::kAlreadyExists : result.error().code; }

  table::TestTable table_{77};
  SimWorld& world_ = table_.world;
  SimNode& client_ = world_.add_node();
  std::optional<NodeId> where_ = table_.storage.node().id();
  RequestRouter router_{table_.storage.world().network};
  TabletServer server_{router_.port(kTablesProtocol), table_.storage.world().executor};
  RemoteTablets remote_{client_.world().executor, client_.world().network,
                        [this](TabletId) { return where_; }};
  std::shared_ptr<table::TableTablet> served_;
  std::shared_ptr<Coordinator> coordinator_;
};

TEST_F(RemoteTabletsTest, ACommitOfAnotherNodeIsRead) {
  const auto done = commit(put(1, 5));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(sum(1), 5);
  EXPECT_EQ(sum(1, *done - 1), -1);
}

TEST_F(RemoteTabletsTest, ALookupOfManyKeysIsSeveralRequests) {
  constexpr std::int64_t kRows = static_cast<std::int64_t>(kKeysPerCallMax) + 5;
  for (const std::int64_t key : {std::int64_t{0}, kRows - 1}) ASSERT_TRUE(commit(put(key, 3)));
  std::vector<std::string> keys;
  for (std::int64_t i = 0; i < kRows; ++i) keys.push_back(table_.rows.key({{"k", i}}));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const table::ColumnIndex columns[] = {2, 0};
  table::LookupRequest request;
  request.keys = views;
  request.columns = columns;
  Rowset rows;
  const auto found = world_.run(remote_.lookup(kTable, nullptr, request, rows, soon()));
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(rows.rows(), static_cast<std::size_t>(kRows));
  EXPECT_EQ(rows.at(0, 0).as_int64(), 3);
  EXPECT_FALSE(rows.exists(1));
  EXPECT_EQ(rows.at(static_cast<std::size_t>(kRows) - 1, 1).as_int64(), kRows - 1);
}

TEST_F(RemoteTabletsTest, LongRowsAreReadBySeveralRequests) {
  const std::string text(kRowBytesPerReply / 2 + 1, 'x');
  std::vector<std::string> keys;
  for (std::int64_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(commit(table_.transaction({table_.rows.put({{"k", i}, {"v", text}}, true)})));
    keys.push_back(table_.rows.key({{"k", i}}));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const table::ColumnIndex columns[] = {1};
  table::LookupRequest request;
  request.keys = views;
  request.columns = columns;
  Rowset rows;
  const auto found = world_.run(remote_.lookup(kTable, nullptr, request, rows, soon()));
  ASSERT_TRUE(found) << found.error().message();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(rows.at(i, 0).text(), text) << i;
}

TEST_F(RemoteTabletsTest, RowsThatDoNotFitAReplyAreNotReadForIt) {
  constexpr std::size_t kRows = 40;
  const std::string text(kRowBytesPerReply / 4 + 1, 'x');
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    ASSERT_TRUE(commit(table_.transaction({table_.rows.put({{"k", number}, {"v", text}}, true)})));
    keys.push_back(table_.rows.key({{"k", number}}));
  }
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const table::ColumnIndex columns[] = {1};
  table::LookupRequest request;
  request.keys = views;
  request.columns = columns;
  Rowset rows;
  const auto found = world_.run(remote_.lookup(kTable, nullptr, request, rows, soon()));
  ASSERT_TRUE(found) << found.error().message();
  for (std::size_t i = 0; i < kRows; ++i) EXPECT_EQ(rows.at(i, 0).text(), text) << i;
  const auto read = served_->read_statistics().lookup.get(table::LookupStatistics::kRows);
  EXPECT_GE(read, kRows);
  EXPECT_LE(read, 3 * kRows);
}

TEST_F(RemoteTabletsTest, WithoutAReplyReadsTimeOutAndCommitsAreUnknown) {
  ASSERT_TRUE(commit(put(1, 5)));
  world_.network().block(table_.storage.node().id(), client_.id());
  EXPECT_EQ(code(commit(put(1, 6))), Errc::kUnknownOutcome);
  EXPECT_EQ(code(look(1)), Errc::kTimeout);
  world_.network().heal();
  EXPECT_EQ(sum(1), 11);  // It was committed.
  world_.network().block(client_.id(), table_.storage.node().id());
  EXPECT_EQ(code(commit(put(1, 7))), Errc::kUnknownOutcome);
  world_.network().heal();
  EXPECT_EQ(sum(1), 11);  // It was not.
}

TEST_F(RemoteTabletsTest, ACloseEndsCallsWithoutWaitingForTheirDeadlines) {
  RemoteTimestamps timestamps(client_.world().executor, remote_, kOracle, 60s);
  world_.network().isolate(client_.id());
  std::optional<Result<Timestamp>> committed;
  std::optional<Result<void>> read;
  std::optional<Result<Timestamp>> drawn;
  const std::string key = table_.rows.key({{"k", 1}});
  const Instant late = world_.executor().now() + 60s;
  const auto commit_late = [&]() -> Task<void> {
    committed = co_await remote_.commit(kTable, put(1, 5), late);
  };
  const auto read_late = [&]() -> Task<void> {
    const std::string_view keys[] = {key};
    table::LookupRequest request;
    request.keys = keys;
    Rowset rows;
    read = co_await remote_.lookup(kTable, nullptr, request, rows, late);
  };
  const auto draw = [&]() -> Task<void> { drawn = co_await timestamps.next(); };
  TaskScope calls;
  calls.spawn(commit_late());
  calls.spawn(read_late());
  calls.spawn(draw());
  world_.run_for(500ms);
  EXPECT_EQ(calls.live(), 3u);
  remote_.close();
  EXPECT_EQ(calls.live(), 3u);  // They end later, never inside close().
  world_.run_for(100ms);
  ASSERT_TRUE(committed && read && drawn);
  EXPECT_EQ(code(*committed), Errc::kUnknownOutcome);
  EXPECT_EQ(code(*read), Errc::kUnavailable);
  EXPECT_EQ(code(*drawn), Errc::kUnavailable);
  // Later calls are not sent.
  world_.network().heal();
  EXPECT_EQ(code(commit(put(1, 6))), Errc::kUnavailable);
  EXPECT_EQ(code(look(1)), Errc::kUnavailable);
  world_.run_for(120s);  // The network ends the calls by itself.
  EXPECT_EQ(served_->statistics().commits, 0u);
}

TEST_F(RemoteTabletsTest, TooManyRequestsAtOnceAreRefused) {
  // Undecided rows are waited for, so that reads stay in flight.
  ASSERT_TRUE(commit(put(1, 5)));
  const TabletWrite undecided = put(1, 6);
  ASSERT_TRUE(world_.run(remote_.prepare(kTable, undecided, kCoordinator, soon())));
  std::size_t overloaded = 0;
  std::size_t answered = 0;
  constexpr std::size_t kReads = kServedCallsMax + 10;
  static_assert(kReads > kCallsInFlightMax, "so that two nodes are needed to send them");
  SimNode& other = world_.add_node();
  RemoteTablets more(other.world().executor, other.world().network,
                     [this](TabletId) { return where_; });
  const std::string key = table_.rows.key({{"k", 1}});
  const auto read = [&](RemoteTablets& tablets) -> Task<void> {
    const std::string_view keys[] = {key};
    table::LookupRequest request;
    request.keys = keys;
    Rowset rows;
    const auto found = co_await tablets.lookup(kTable, nullptr, request, rows, soon());
    overloaded += !found && found.error().code == Errc::kOverloaded ? 1 : 0;
    answered += found ? 1 : 0;
  };
  for (std::size_t i = 0; i < kReads; ++i) spawn(read(i % 2 == 0 ? remote_ : more));
  world_.run_for(1s);
  EXPECT_EQ(server_.calls(), kServedCallsMax);
  EXPECT_EQ(overloaded, kReads - kServedCallsMax);
  TaskScope idle;
  idle.spawn(server_.wait_idle());
  world_.run_for(1s);
  EXPECT_EQ(idle.live(), 1u);
  ASSERT_TRUE(world_.run(served_->abort_prepared(undecided.transaction)));
  world_.run_for(5s);
  EXPECT_EQ(answered, kServedCallsMax);
  EXPECT_EQ(server_.calls(), 0u);
  EXPECT_EQ(idle.live(), 0u);
}

TEST_F(RemoteTabletsTest, PagesTakeRoomBeforeTheyAreRead) {
  constexpr std::size_t kPages = kServedReplyBytesMax / (2 * kPageBytesMax);
  static_assert(kPages > 1);
  ASSERT_TRUE(commit(put(1, 5)));
  const TabletWrite undecided = put(1, 6);  // Keeps pages in flight.
  ASSERT_TRUE(world_.run(remote_.prepare(kTable, undecided, kCoordinator, soon())));
  table::ScanRequest request;
  request.columns = {0};
  std::size_t overloaded = 0;
  std::size_t answered = 0;
  const auto read = [&]() -> Task<void> {
    const auto page = co_await remote_.scan(kTable, nullptr, request, soon());
    overloaded += !page && page.error().code == Errc::kOverloaded ? 1 : 0;
    answered += page ? 1 : 0;
  };
  for (std::size_t i = 0; i < kPages + 10; ++i) spawn(read());
  world_.run_for(100ms);
  std::optional<Result<void>> scanned;
  PagedScan patient(remote_, kTable, served_->settings().schema, request);
  const auto scan = [&]() -> Task<void> {
    co_await yield(client_.world().executor);
    scanned = co_await patient.load();
  };
  spawn(scan());
  world_.run_for(1s);
  EXPECT_EQ(server_.calls(), kPages);
  EXPECT_EQ(overloaded, 10u);
  EXPECT_FALSE(scanned) << scanned->error().message();
  ASSERT_TRUE(world_.run(served_->abort_prepared(undecided.transaction)));
  world_.run_for(2s);
  EXPECT_EQ(answered, kPages);
  EXPECT_EQ(server_.calls(), 0u);
  ASSERT_TRUE(scanned);
  EXPECT_TRUE(*scanned) << scanned->error().message();
  for (std::size_t i = 0; i < kPages; ++i) spawn(read());  // Room was given back.
  world_.run_for(1s);
  EXPECT_EQ(answered, 2 * kPages);
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
  EXPECT_EQ(code(look(1)), Errc::kConflict);
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
