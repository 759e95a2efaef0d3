// Tables of a simulated node: their states, over restarts and power cuts.

#include "node/stored_tables.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "node/table_services.h"
#include "scheme/test_schema.h"
#include "table/model/change_set.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

std::string key(std::int64_t value) {
  return table::encode_key(std::vector<Value>{Value(value)});
}

// One life of the node.
struct Life {
  explicit Life(TestStorage& storage)
      : scheme(storage.world(), storage, SchemeHostOptions{kTestGroup, {}, nullptr}),
        services(storage.world(), storage, scheme, storage.world().executor, options()) {}
  static TableServicesOptions options() {
    TableServicesOptions made;
    made.groups = {kTestGroup};
    made.block_cache_bytes = 1u << 20;
    made.row_cache_bytes = 1u << 20;
    return made;
  }
  SchemeHost scheme;
  TableServices services;
};

class StoredTablesTest : public testing::Test {
 protected:
  StoredTablesTest() : world_(5), storage_(world_, 16u << 20) { start(); }
  ~StoredTablesTest() override {
    stop();
    world_.shutdown();
  }

  Instant soon() { return storage_.world().executor.now() + 60s; }
  StoredTables& tables() { return life_->services.tables(); }
  void start() {
    life_ = std::make_unique<Life>(storage_);
    life_->scheme.start();
    auto known = world_.run(life_->scheme.wait_known(soon()));
    INVARIANT(known, "{}", known.error().message());
    auto started = world_.run(life_->services.start(soon()));
    INVARIANT(started, "{}", started.error().message());
    INVARIANT(world_.run(tables().wait_running(soon())), "not all tablets run");
    world_.run_for(10ms);
  }
  void stop() {
    world_.run(life_->scheme.stop());
    world_.run(life_->services.stop());
    while (!run_retired()) {
    }
    life_.reset();
  }
  void cut_power() {
    storage_.node().on_stop([&] {
      life_->scheme.abandon();
      life_->services.abandon();
    });
    storage_.node().on_crash([&] {
      while (!run_retired()) {
      }
      life_.reset();
    });
    storage_.crash();
    start();
  }
  void create(const std::string& path, std::vector<std::int64_t> pivots = {}) {
    NewTable table;
    table.schema = small_schema();
    for (const std::int64_t pivot : pivots) table.pivots.push_back(key(pivot));
    const auto made = world_.run(tables().create(path, table));
    ASSERT_TRUE(made) << made.error().message();
  }
  Result<Timestamp> write(const std::string& path, std::int64_t id, std::string_view text) {
    const auto open = tables().find(path)->holder()->hold();
    const auto layout = table::RowLayout::make(open->schema).value();
    table::ChangeSet changes(layout);
    const NamedValue row[] = {{"k", id}, {"v", text}};
    auto inserted = changes.insert(row);
    INVARIANT(inserted, "{}", inserted.error().message());
    GatheredTransaction gathered;
    for (auto& byte : gathered.id.bytes) {
      byte = static_cast<std::uint8_t>(storage_.world().random.next());
    }
    gathered.start = world_.run(life_->services.timestamps().next()).value();
    gathered.tables.push_back({open, changes.take()});
    return world_.run(
        commit_transaction(life_->services.commit_parts(), std::move(gathered), soon()));
  }
  std::string read(const std::string& path, std::int64_t id) {
    const auto open = tables().find(path)->holder()->hold();
    const std::string encoded = key(id);
    const auto tablet = open->readable(open->range_of(as_bytes(encoded)));
    if (!tablet) return tablet.error().message();
    const std::string_view keys[] = {encoded};
    const table::ColumnIndex columns[] = {1};
    table::LookupRequest request;
    request.keys = keys;
    request.columns = columns;
    Rowset rows;
    const auto found = world_.run((*tablet)->reader().lookup(request, rows));
    if (!found) return found.error().message();
    return rows.exists(0) ? std::string(rows.at(0, 0).text()) : "-";
  }
  MountState state(const std::string& path) {
    return tables().find(path)->holder()->hold()->ranges[0].state;
  }

  SimWorld world_;
  TestStorage storage_;
  std::unique_ptr<Life> life_;
};

// Whole rows may expire after a day.
TEST_F(StoredTablesTest, NothingExpiresByAClockThatJumpedBeforeItIsConfirmed) {
  NewTable table;
  table.schema = small_schema();
  table.options.mount.min_data_versions = 0;
  table.options.mount.min_data_ttl = std::chrono::milliseconds(0);
  table.options.mount.max_data_ttl = std::chrono::hours(24);
  ASSERT_TRUE(world_.run(tables().create("t", table)));
  ASSERT_TRUE(write("t", 1, "one"));
  const auto compact = [&] {
    const auto tablet = tables().find("t")->holder()->hold()->readable(0).value();
    EXPECT_TRUE(world_.run(tablet->flush()));
    EXPECT_TRUE(world_.run(tablet->compact_all()));
  };
  const auto timestamp = [&] { return world_.run(life_->services.timestamps().next()); };
  storage_.node().clock().jump(std::chrono::hours(24 * 365));
  compact();
  EXPECT_EQ(read("t", 1), "one");
  EXPECT_EQ(timestamp().error().code, Errc::kUnavailable);
  EXPECT_TRUE(life_->services.clock().refusal());
  stop();
  start();
  EXPECT_TRUE(life_->services.clock().refusal()) << "at a start, too";
  compact();
  EXPECT_EQ(read("t", 1), "one");
  life_->services.clock().accept();
  EXPECT_TRUE(timestamp());
  EXPECT_FALSE(life_->services.clock().refusal());
  compact();
  EXPECT_EQ(read("t", 1), "-");
}

TEST_F(StoredTablesTest, RowsAreThereAfterRestartsAndPowerCuts) {
  create("a/t", {100});
  ASSERT_TRUE(write("a/t", 1, "one"));
  ASSERT_TRUE(write("a/t", 200, "two"));
  cut_power();
  EXPECT_EQ(read("a/t", 1), "one");
  EXPECT_EQ(read("a/t", 200), "two");
  stop();
  start();
  EXPECT_EQ(read("a/t", 200), "two");
}

TEST_F(StoredTablesTest, StatesChangeOnlyAsTheyMay) {
  create("t");
  EXPECT_EQ(state("t"), MountState::kMounted);
  EXPECT_TRUE(world_.run(tables().mount("t", MountState::kMounted))) << "again is fine";
  EXPECT_EQ(world_.run(tables().mount("t", MountState::kUnmounted)).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(world_.run(tables().mount("t", MountState::kFrozen)).error().code, Errc::kReadOnly);
  ASSERT_TRUE(world_.run(tables().freeze("t")));
  EXPECT_EQ(state("t"), MountState::kFrozen);
  EXPECT_EQ(write("t", 1, "x").error().code, Errc::kReadOnly);
  EXPECT_EQ(read("t", 1), "-");
  EXPECT_EQ(world_.run(tables().mount("t", MountState::kMounted)).error().code, Errc::kReadOnly);
  ASSERT_TRUE(world_.run(tables().unfreeze("t")));
  EXPECT_TRUE(write("t", 1, "x"));
  ASSERT_TRUE(world_.run(tables().unmount("t")));
  ASSERT_TRUE(world_.run(tables().unmount("t"))) << "again is fine";
  EXPECT_EQ(state("t"), MountState::kUnmounted);
  EXPECT_NE(read("t", 1).find("unmounted"), std::string::npos);
  EXPECT_EQ(world_.run(tables().freeze("t")).error().code, Errc::kReadOnly);
  EXPECT_EQ(world_.run(tables().unfreeze("t")).error().code, Errc::kReadOnly);
  ASSERT_TRUE(world_.run(tables().mount("t", MountState::kFrozen)));
  EXPECT_EQ(state("t"), MountState::kFrozen);
  EXPECT_EQ(read("t", 1), "x");
}

TEST_F(StoredTablesTest, WhatNeedsAnUnmountedTableSaysSo) {
  create("t");
  for (const auto& done :
       {world_.run(tables().alter("t", small_schema())),
        world_.run(tables().reshard("t", std::vector<std::string>{key(5)})),
        world_.run(tables().set_attributes("t", {{"in_memory_mode", "compressed"}})),
        world_.run(tables().set_attributes("t", {{"atomicity", "none"}}))}) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kReadOnly);
    const std::string& why = done.error().context;
    EXPECT_TRUE(why.find("not all tablets are unmounted") != std::string::npos ||
                why.find("is not unmounted") != std::string::npos)
        << why;
  }
}

TEST_F(StoredTablesTest, OptionsAreStoredWhenTheyAreSetAndInForceAfterARemount) {
  create("t");
  const auto max_versions = [&] {
    return tables().find("t")->tablet(0)->settings().mount.max_data_versions;
  };
  const auto format = [&] { return tables().find("t")->tablet(0)->settings().chunks.format; };
  ASSERT_TRUE(world_.run(
      tables().set_attributes("t", {{"max_data_versions", "5"}, {"optimize_for", "scan"}})));
  EXPECT_EQ(tables().find("t")->record().options.mount.max_data_versions, 5u);
  EXPECT_EQ(max_versions(), 1u);
  EXPECT_EQ(format(), OptimizeFor::kLookup);
  cut_power();
  EXPECT_EQ(max_versions(), 1u) << "a restart is no remount";
  EXPECT_EQ(tables().find("t")->record().options.mount.max_data_versions, 5u);
  ASSERT_TRUE(world_.run(tables().remount("t")));
  EXPECT_EQ(max_versions(), 5u);
  EXPECT_EQ(format(), OptimizeFor::kScan);
  cut_power();
  EXPECT_EQ(max_versions(), 5u);
  ASSERT_TRUE(world_.run(tables().set_attributes("t", {{"max_data_versions", "6"}})));
  ASSERT_TRUE(world_.run(tables().unmount("t")));
  ASSERT_TRUE(world_.run(tables().mount("t", MountState::kMounted)));
  EXPECT_EQ(max_versions(), 6u) << "a mount applies them too";
}

TEST_F(StoredTablesTest, TheSameForcedCompactionRevisionAgainCompactsWhatWasWrittenSince) {
  create("t");
  const auto chunks = [&] {
    std::set<std::uint64_t> ids;
    for (const auto& chunk : tables().find("t")->tablet(0)->chunk_records()) ids.insert(chunk.id);
    return ids;
  };
  const auto settle = [&] { world_.run(tables().find("t")->tablet(0)->settle()); };
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(write("t", round, "flushed"));
    ASSERT_TRUE(world_.run(tables().find("t")->tablet(0)->flush()));
    settle();
    ASSERT_TRUE(write("t", 100 + round, "in memory"));
    const auto before = chunks();
    ASSERT_TRUE(world_.run(tables().set_attributes("t", {{"forced_compaction_revision", "1"}})));
    settle();
    EXPECT_EQ(chunks(), before) << "not before the remount";
    ASSERT_TRUE(world_.run(tables().remount("t")));
    settle();
    for (const std::uint64_t id : chunks()) EXPECT_FALSE(before.contains(id)) << round;
    EXPECT_EQ(chunks().size(), 1u);
    const auto after = chunks();
    // Other options start no compaction.
    ASSERT_TRUE(world_.run(tables().set_attributes("t", {{"max_data_versions", "2"}})));
    ASSERT_TRUE(world_.run(tables().remount("t")));
    settle();
    EXPECT_EQ(chunks(), after);
  }
  for (int round = 0; round < 3; ++round) EXPECT_EQ(read("t", 100 + round), "in memory");
}

TEST_F(StoredTablesTest, ReshardingKeepsEveryRowAndLetsGoOfTheOldTabletsInTheEnd) {
  create("t");
  for (std::int64_t id = 0; id < 60; ++id) ASSERT_TRUE(write("t", id, fmt::format("v{}", id)));
  for (const auto& pivots : {std::vector<std::string>{key(20), key(40)},
                             std::vector<std::string>{key(30)}, std::vector<std::string>{}}) {
    ASSERT_TRUE(world_.run(tables().unmount("t")));
    const auto resharded = world_.run(tables().reshard("t", pivots));
    ASSERT_TRUE(resharded) << resharded.error().message();
    const auto mounted = world_.run(tables().mount("t", MountState::kMounted));
    ASSERT_TRUE(mounted) << mounted.error().message();
    EXPECT_EQ(tables().find("t")->record().tablets.size(), pivots.size() + 1);
    for (std::int64_t id = 0; id < 60; ++id) EXPECT_EQ(read("t", id), fmt::format("v{}", id));
    cut_power();
    for (std::int64_t id = 0; id < 60; ++id) EXPECT_EQ(read("t", id), fmt::format("v{}", id));
  }
  for (std::size_t i = 0; i < tables().find("t")->record().tablets.size(); ++i) {
    const auto compacted = world_.run(tables().find("t")->tablet(i)->compact_all());
    ASSERT_TRUE(compacted) << compacted.error().message();
  }
  world_.run_for(120s);
  EXPECT_TRUE(tables().find("t")->record().retired.empty());
  for (std::int64_t id = 0; id < 60; ++id) EXPECT_EQ(read("t", id), fmt::format("v{}", id));
}

Task<void> unmount_into(StoredTables& tables, Result<void>& out) {
  out = co_await tables.unmount("t");
}

TEST_F(StoredTablesTest, APowerCutDuringAnUnmountLeavesATableThatEndsUnmounted) {
  for (int step = 0; step < 12; ++step) {
    if (!tables().find("t")) create("t");
    ASSERT_TRUE(write("t", step, "x"));
    Result<void> unmounted = fail(Errc::kUnavailable, "not answered");
    spawn(unmount_into(tables(), unmounted));
    world_.run_for(step * 150us);
    cut_power();
    world_.run_for(30s);
    const MountState now = state("t");
    EXPECT_TRUE(now == MountState::kMounted || now == MountState::kUnmounted) << to_string(now);
    if (now == MountState::kUnmounted) {
      ASSERT_TRUE(world_.run(tables().mount("t", MountState::kMounted)));
    }
    for (int row = 0; row <= step; ++row) EXPECT_EQ(read("t", row), "x") << row;
  }
}

TEST_F(StoredTablesTest, WhenAnotherNodeLeadsTheSchemeTheOutcomeOfAChangeIsUnknown) {
  create("t");
  SchemeOptions options;
  options.first_tablet = kFirstTopicTabletId;
  const auto where = TabletInfo::simple(kSchemeTabletId, kTestGroup, kKeyValueChannels);
  const auto removed = [&] { return world_.run(tables().remove("t")); };
  const auto unmounted = [&] { return world_.run(tables().unmount("t")); };
  const auto created = [&] {
    NewTable table;
    table.schema = small_schema();
    return world_.run(tables().create("new", table));
  };
  for (const std::function<Result<void>()>& change :
       {std::function<Result<void>()>(removed), std::function<Result<void>()>(unmounted),
        std::function<Result<void>()>(created)}) {
    auto other = world_.run(Scheme::boot(storage_.world(), storage_, where, options));
    ASSERT_TRUE(other) << other.error().message();
    const Result<void> done = change();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kUnknownOutcome) << done.error().message();
    world_.run((*other)->stop());
    world_.run_for(60s);
    EXPECT_EQ(state("t"), MountState::kMounted);
    EXPECT_FALSE(tables().find("new"));
  }
}

TEST_F(StoredTablesTest, ARemovedTableLeavesNothing) {
  create("t", {10});
  ASSERT_TRUE(write("t", 1, "x"));
  const auto holder = tables().find("t")->holder();
  ASSERT_TRUE(world_.run(tables().remove("t")));
  EXPECT_FALSE(tables().find("t"));
  for (int look = 0; look < 2; ++look) {
    const auto read = holder->hold()->readable(0);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::kNotFound);
    EXPECT_NE(read.error().context.find("was removed"), std::string::npos) << read.error().context;
    world_.run_for(1s);
  }
  world_.run_for(30s);
  EXPECT_EQ(life_->scheme.deleting(), 0u);
  create("t", {10});
  EXPECT_EQ(read("t", 1), "-");
}

}  // namespace
}  // namespace moraine
