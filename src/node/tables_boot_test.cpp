// Tablets of tables boot beside each other: none waits for one that does not start.

#include <gtest/gtest.h>

#include "client/table_client.h"
#include "node/table_services.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"
#include "table/model/change_set.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

std::string key(std::int64_t value) {
  return table::encode_key(std::vector<Value>{Value(value)});
}

NewTable table_of(std::int64_t tablets) {
  NewTable table;
  table.schema = small_schema();
  for (std::int64_t i = 1; i < tablets; ++i) table.pivots.push_back(key(i));
  return table;
}

// The groups of a machine; the second can become unreachable.
class TestGroups final : public BlobGroups {
 public:
  TestGroups(SimWorld& world, TestStorage& storage) : storage_(storage) {
    blob::GroupConfig elsewhere = *storage.storage().config().group(kOtherGroup);
    elsewhere.disks[0].node = world.add_node().id();
    world.network().isolate(elsewhere.disks[0].node);  // Calls end at their deadlines.
    blob::ProxyOptions options;
    options.metrics = &metrics_;
    unreachable_ = std::make_unique<blob::GroupProxies>(storage.world(), std::vector{elsewhere},
                                                        services_, options);
  }
  blob::Proxy* group(GroupId id) override {
    return lost && id == kOtherGroup ? unreachable_->proxy(id) : storage_.group(id);
  }
  Task<void> stop() { return unreachable_->stop(); }

  bool lost = false;

 private:
  TestStorage& storage_;
  MetricRegistry metrics_;
  blob::DiskServices services_;
  std::unique_ptr<blob::GroupProxies> unreachable_;
};

class TwoGroups : public testing::Test {
 protected:
  struct Life {
    Life(TestStorage& storage, BlobGroups& groups)
        : scheme(storage.world(), groups, SchemeHostOptions{kTestGroup, {}, nullptr}),
          services(storage.world(), groups, scheme, storage.world().executor, options()) {}
    static TableServicesOptions options() {
      TableServicesOptions made;
      made.groups = {kTestGroup, kOtherGroup};
      return made;
    }
    SchemeHost scheme;
    TableServices services;
  };

  TwoGroups() : world_(5), storage_(world_, 16u << 20), groups_(world_, storage_) { start(); }
  ~TwoGroups() override {
    groups_.lost = false;
    stop();
    world_.run(groups_.stop());
    world_.shutdown();
  }
  Instant soon() { return storage_.world().executor.now() + 60s; }
  StoredTables& tables() { return life_->services.tables(); }
  void start() {
    life_ = std::make_unique<Life>(storage_, groups_);
    life_->scheme.start();
    const auto known = world_.run(life_->scheme.wait_known(soon()));
    INVARIANT(known, "{}", known.error().message());
    const auto started = world_.run(life_->services.start(soon()));
    INVARIANT(started, "{}", started.error().message());
  }
  void stop() {
    world_.run(life_->scheme.stop());
    world_.run(life_->services.stop());
    while (!run_retired()) {
    }
    life_.reset();
  }
  // Running tablets of the table in the group.
  std::size_t running(const std::string& path, GroupId group) {
    const auto table = tables().find(path);
    std::size_t count = 0;
    for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
      const bool here = table->record().tablets[i].info.latest_group(kLogChannel) == group;
      if (here && table->tablet(i)) ++count;
    }
    return count;
  }

  SimWorld world_;
  TestStorage storage_;
  TestGroups groups_;
  std::unique_ptr<Life> life_;
};

TEST_F(TwoGroups, BeforeTheSchemeIsReadNoTableIsSaidToBeMissing) {
  ASSERT_TRUE(world_.run(tables().create("t", table_of(1))));
  stop();
  life_ = std::make_unique<Life>(storage_, groups_);
  {
    client::TableClient client(storage_.world().executor, tables(), life_->services);
    for (const char* path : {"/t", "/absent"}) {
      const auto early = client.open(path);
      ASSERT_FALSE(early);
      EXPECT_EQ(early.error().code, Errc::kUnavailable) << early.error().message();
    }
  }
  start();
  client::TableClient client(storage_.world().executor, tables(), life_->services);
  EXPECT_TRUE(client.open("/t"));
  const auto absent = client.open("/absent");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::kNotFound);
}

TEST_F(TwoGroups, TabletsOfAGroupThatDoesNotAnswerDelayNoOthers) {
  constexpr std::size_t kTablets = 2 * (kTableBootsMax + 4);
  ASSERT_TRUE(world_.run(tables().create("t", table_of(kTablets))));
  stop();
  groups_.lost = true;
  start();
  world_.run_for(2s);
  EXPECT_EQ(running("t", kTestGroup), kTablets / 2);
  EXPECT_EQ(running("t", kOtherGroup), 0u);
  EXPECT_EQ(life_->scheme.tablets().report(NodeKind::kTable).starting, kTablets / 2);
  ASSERT_TRUE(world_.run(tables().create("new", table_of(1)))) << "changes are not delayed either";

  world_.run_for(60s);
  const auto open = tables().find("t")->holder()->hold();
  const auto up = open->readable(0);
  EXPECT_TRUE(up) << up.error().message();
  const auto down = open->readable(1);
  ASSERT_FALSE(down);
  EXPECT_NE(down.error().message().find("its last start failed: "), std::string::npos)
      << down.error().message();

  groups_.lost = false;
  EXPECT_TRUE(world_.run(tables().wait_running(soon())));
  EXPECT_EQ(running("t", kOtherGroup), kTablets / 2);
  EXPECT_TRUE(tables().find("t")->holder()->hold()->readable(1));
}

TEST_F(TwoGroups, AStopDoesNotWaitForBootsThatWaitForTheirTurn) {
  constexpr std::size_t kTurns = 5;
  ASSERT_TRUE(world_.run(tables().create("t", table_of(2 * kTurns * kTableBootsMax))));
  stop();
  groups_.lost = true;
  start();
  world_.run_for(2s);
  EXPECT_EQ(running("t", kOtherGroup), 0u);
  const Instant begin = storage_.world().executor.now();
  world_.run(life_->scheme.stop(), 600s);
  EXPECT_LT(storage_.world().executor.now() - begin, 2 * LeaderOptions().timeout);
  groups_.lost = false;
  world_.run(life_->services.stop());
  while (!run_retired()) {
  }
  life_.reset();
  start();
}

class TabletBoots : public testing::Test {
 protected:
  static constexpr std::size_t kLanes = 3;

  StoredTables& tables() { return node_.node().tables().tables(); }
  void create(const std::string& path, std::int64_t tablets) {
    const auto made =
        node_.on_lane<Result<void>>(0, [&] { return tables().create(path, table_of(tablets)); });
    ASSERT_TRUE(made) << made.error().message();
  }
  // One row in each tablet, not flushed.
  void write_rows(const std::string& path, std::int64_t tablets) {
    for (std::int64_t i = 0; i < tablets; ++i) {
      const auto written = node_.on_lane<Result<Timestamp>>(0, [&] { return write(path, i); });
      ASSERT_TRUE(written) << written.error().message();
    }
  }
  Task<Result<Timestamp>> write(const std::string& path, std::int64_t id) {
    const auto open = tables().find(path)->holder()->hold();
    table::ChangeSet changes(table::RowLayout::make(open->schema).value());
    const std::string text(100'000, 'x');
    const NamedValue row[] = {{"k", id}, {"v", std::string_view(text)}};
    CO_TRY_VOID(changes.insert(row));
    TableServices& services = node_.node().tables();
    GatheredTransaction gathered;
    gathered.id.bytes[0] = ++transactions_;
    CO_TRY(gathered.start, co_await services.timestamps().next());
    gathered.tables.push_back({open, changes.take()});
    co_return co_await commit_transaction(services.commit_parts(), std::move(gathered),
                                          node_.soon());
  }
  // How long a restart takes until all tablets run.
  Duration restart_time() {
    node_.stop();
    const Instant began = node_.world().executor().now();
    node_.start();
    const bool all = node_.on_lane<bool>(0, [&] { return tables().wait_running(node_.soon()); });
    EXPECT_TRUE(all);
    return node_.world().executor().now() - began;
  }

  TestNode node_{kLanes};
  std::uint8_t transactions_ = 0;
};

TEST_F(TabletBoots, MemoryStoresAreRebuiltBesideEachOther) {
  const Duration none = restart_time();
  create("one", 1);
  write_rows("one", 1);
  const Duration one = restart_time() - none;
  ASSERT_GT(one, Duration{0});
  constexpr std::int64_t kTablets = 12;
  create("many", kTablets);
  write_rows("many", kTablets);
  const Duration all = restart_time() - none;
  EXPECT_LT(all, one * (kTablets / 2)) << "one takes " << one.count() << " ns";
  EXPECT_GT(node_.node().tables().store_budget().bytes(), kTablets * 100'000u)
      << "what was rebuilt is counted";
}

}  // namespace
}  // namespace moraine
