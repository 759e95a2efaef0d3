// The oracle and the coordinator of a node follow placement; a stop does not wait for other nodes.
// Each of the two nodes has a scheme and devices of its own, and the same table with a tablet on
// each.

#include "node/table_services.h"

#include "client/lane_tables.h"
#include "client/test_rows.h"
#include "cluster/fake_placement.h"
#include "cluster/tablet_ids.h"
#include "node/test_split_table.h"

namespace moraine {
namespace {

constexpr std::size_t kLanes = 2;
constexpr std::int64_t kPivot = 100;
constexpr TabletId kSystem[] = {kTimestampTabletId, kCoordinatorTabletId};

class TableServicesTest : public testing::Test {
 protected:
  TableServicesTest() {
    for (const TabletId id : kSystem) places_b_.move(id, TabletPlace::on(a_.id()));
    b_ = std::make_unique<TestNode>(world(), kLanes, &places_b_);
    const std::vector<TabletId> tablets = create_split_table(a_, kPivot);
    EXPECT_EQ(create_split_table(*b_, kPivot), tablets);
    places_a_.move(tablets[1], TabletPlace::on(b_->id()));
    places_b_.move(tablets[0], TabletPlace::on(a_.id()));
    world().run_for(1s);
  }

  SimWorld& world() { return a_.world(); }

  // A transaction over both tablets, by a client on the last lane of `node`.
  Result<Timestamp> write(TestNode& node, std::int64_t key) {
    return node.on_lane<Result<Timestamp>>(kLanes - 1, [&] { return write_both(node, key); });
  }
  Task<Result<Timestamp>> write_both(TestNode& node, std::int64_t key) {
    LaneTables tables(node.node().tables().tables(), node.lane(0));
    client::TableClient client(node.lane(kLanes - 1), tables, node.node().tables());
    CO_TRY(client::TablePtr table, client::open_shared(client, "/t"));
    co_return co_await client::write_rows(client, table, random_, {key, kPivot + key}, "x");
  }

  static Result<Timestamp> draw(TestNode& node) {
    return node.on_lane<Result<Timestamp>>(
        kLanes - 1, [&] { return node.node().tables().timestamps().next(); });
  }
  static bool runs_both(TestNode& node) {
    return node.node().tables().coordinator() && node.node().tables().try_timestamp();
  }
  static bool runs_neither(TestNode& node) {
    return !node.node().tables().coordinator() && !node.node().tables().try_timestamp();
  }
  // Returns the time that it took.
  Duration stop_tablets(TestNode& node) {
    const Instant began = world().executor().now();
    node.on_lane<bool>(0, [&]() -> Task<bool> {
      co_await node.node().stop_tablets();
      co_return true;
    });
    return world().executor().now() - began;
  }

  FakePlacement places_a_{kLanes};
  FakePlacement places_b_{kLanes};
  TestNode a_{kLanes, 9, &places_a_};
  std::unique_ptr<TestNode> b_;
  SeededRandom random_{1};
};

TEST_F(TableServicesTest, AStopDoesNotWaitForNodesThatAreNotReached) {
  ASSERT_TRUE(write(a_, 1));
  // Prepares of a's coordinator, and what b's tablets and clients ask of it.
  world().network().partition({a_.id()}, {b_->id()});
  std::array<std::optional<Result<Timestamp>>, 2> done;
  const auto commit = [&](TestNode& node, std::size_t at) -> Task<void> {
    co_await yield(node.lane(kLanes - 1));
    done.at(at) = co_await write_both(node, 2 + static_cast<std::int64_t>(at));
  };
  TaskScope clients;
  clients.spawn(commit(a_, 0));
  clients.spawn(commit(*b_, 1));
  world().run_for(500ms);
  ASSERT_EQ(clients.live(), 2u);
  EXPECT_LT(stop_tablets(a_), 1s);
  EXPECT_LT(stop_tablets(*b_), 1s);
  world().run_for(1s);
  EXPECT_EQ(clients.live(), 0u);
  for (const auto& one : done) EXPECT_TRUE(one && !*one);
}

TEST_F(TableServicesTest, AStopDoesNotWaitForTheOutcomeOfAPreparedTransaction) {
  // The prepare reaches b, its reply does not reach a.
  world().network().block(b_->id(), a_.id());
  std::optional<Result<Timestamp>> done;
  const auto commit = [&]() -> Task<void> {
    co_await yield(a_.lane(kLanes - 1));
    done = co_await write_both(a_, 1);
  };
  TaskScope clients;
  clients.spawn(commit());
  world().run_for(1s);
  world().network().partition({a_.id()}, {b_->id()});
  world().run_for(6s);  // So that b's tablet asks for the outcome.
  EXPECT_LT(stop_tablets(*b_), 1s);
  world().run_for(30s);
  EXPECT_TRUE(done && !*done);
}

TEST_F(TableServicesTest, TheOracleAndTheCoordinatorFollowPlacement) {
  ASSERT_TRUE(write(a_, 1));
  ASSERT_TRUE(write(*b_, 2));
  EXPECT_TRUE(runs_both(a_));
  for (const TabletId id : kSystem) {
    places_a_.move(id, TabletPlace::on(b_->id()));
    places_b_.move(id, 0);
  }
  world().run_for(5s);
  EXPECT_TRUE(runs_neither(a_));
  EXPECT_TRUE(runs_both(*b_));
  for (TestNode* node : {&a_, b_.get()}) {
    const auto done = write(*node, node == &a_ ? 3 : 4);
    EXPECT_TRUE(done) << done.error().message();
    EXPECT_TRUE(node->node().not_ready().empty());
  }
  // One of them back, the other nowhere.
  places_a_.move(kTimestampTabletId, 0);
  places_b_.move(kTimestampTabletId, TabletPlace::on(a_.id()));
  places_b_.move(kCoordinatorTabletId, std::nullopt);
  world().run_for(5s);
  EXPECT_TRUE(runs_neither(*b_));
  EXPECT_FALSE(a_.node().tables().coordinator());
  EXPECT_TRUE(draw(a_));
  EXPECT_TRUE(draw(*b_));
  EXPECT_FALSE(write(a_, 5));
  places_b_.move(kCoordinatorTabletId, 0);
  world().run_for(5s);
  const auto done = write(a_, 6);
  EXPECT_TRUE(done) << done.error().message();
}

TEST_F(TableServicesTest, AMoveThatIsTakenBackLeavesThemRunning) {
  for (const TabletId id : kSystem) {
    places_a_.move(id, TabletPlace::on(b_->id()));
    places_a_.move(id, 0);
  }
  world().run_for(5s);
  EXPECT_TRUE(runs_both(a_));
  EXPECT_TRUE(write(a_, 1));
}

TEST_F(TableServicesTest, ATimestampIsDrawnWhereTheOracleHasMoved) {
  // No node runs it.
  places_a_.move(kTimestampTabletId, TabletPlace::on(b_->id()));
  world().run_for(1s);
  std::optional<Result<Timestamp>> drawn;
  const auto next = [&]() -> Task<void> {
    co_await yield(a_.lane(1));
    drawn = co_await a_.node().tables().timestamps().next();
  };
  TaskScope clients;
  clients.spawn(next());
  world().run_for(1s);
  EXPECT_FALSE(drawn);
  places_a_.move(kTimestampTabletId, 0);
  world().run_for(10s);
  ASSERT_TRUE(drawn);
  EXPECT_TRUE(*drawn) << drawn->error().message();
}

}  // namespace
}  // namespace moraine
