// Ranges of tablets of a table: mounted, frozen, remounted and resharded while others run.

#include <gtest/gtest.h>

#include "client/table_attributes.h"
#include "client/table_client.h"
#include "client/test_rows.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"
#include "table/model/key.h"
#include "yson/yson.h"

namespace moraine {
namespace {

constexpr std::int64_t kTablets = 5;
constexpr std::int64_t kRows = 50;  // Ten of each tablet.

TabletRange range(std::size_t first, std::size_t last) {
  return {first, last};
}

class StoredTablesRanges : public testing::Test {
 protected:
  StoredTablesRanges() {
    NewTable table;
    table.schema = small_schema();
    for (std::int64_t i = 1; i < kTablets; ++i) table.pivots.push_back(pivot(i * 10));
    expect_ok(run([&] { return tables().create("t", std::move(table)); }));
    std::vector<std::int64_t> keys;
    for (std::int64_t key = 0; key < kRows; ++key) keys.push_back(key);
    const auto written = write(keys);
    EXPECT_TRUE(written) << written.error().message();
  }

  static std::string pivot(std::int64_t key) {
    const Value value(key);
    return table::encode_key(std::span(&value, 1));
  }
  StoredTables& tables() { return node_.node().tables().tables(); }
  Result<void> run(std::function<Task<Result<void>>()> body) {
    return node_.on_lane<Result<void>>(0, std::move(body));
  }
  void expect_ok(const Result<void>& done) { EXPECT_TRUE(done) << done.error().message(); }
  Result<void> mount(TabletRange tablets, MountState state = MountState::kMounted) {
    return run([&] { return tables().mount("t", state, tablets); });
  }
  Result<void> unmount(TabletRange tablets) {
    return run([&] { return tables().unmount("t", tablets); });
  }
  Result<void> reshard(TabletRange tablets, std::vector<std::int64_t> keys) {
    std::vector<std::string> pivots;
    for (const std::int64_t key : keys) pivots.push_back(key < 0 ? "" : pivot(key));
    return run([&] { return tables().reshard("t", tablets, {.pivots = pivots}); });
  }
  std::string refused(const Result<void>& done) {
    return done ? std::string("done") : done.error().context;
  }
  Result<Timestamp> write(std::vector<std::int64_t> keys) {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    return node_.on_lane<Result<Timestamp>>(0, [&]() -> Task<Result<Timestamp>> {
      CO_TRY(const client::TablePtr table, client::open_shared(door, "/t"));
      co_return co_await client::write_rows(door, table, random_, keys, "x");
    });
  }
  Result<std::vector<std::string>> read(std::vector<std::int64_t> keys) {
    client::TableClient door(node_.lane(0), tables(), node_.node().tables());
    using Rows = Result<std::vector<std::string>>;
    return node_.on_lane<Rows>(0, [&]() -> Task<Rows> {
      CO_TRY(const client::TablePtr table, client::open_shared(door, "/t"));
      co_return co_await client::read_rows(table, keys);
    });
  }
  void expect_all_rows() {
    std::vector<std::int64_t> keys;
    for (std::int64_t key = 0; key < kRows; ++key) keys.push_back(key);
    const auto rows = read(keys);
    ASSERT_TRUE(rows) << rows.error().message();
    EXPECT_EQ(*rows, std::vector<std::string>(kRows, "x"));
  }
  static Task<void> unmount_range(StoredTables& tables) {
    (void)co_await tables.unmount("t", range(1, 2));
  }
  // One letter per tablet.
  std::string states() {
    std::string letters;
    for (const TabletOfTable& tablet : tables().find("t")->record().tablets) {
      letters += to_string(tablet.state)[0];
    }
    return letters;
  }
  YsonNode attribute(std::string name) {
    auto values = node_.on_lane<Result<YsonMap>>(
        0, [&] { return client::read_table_attributes(tables(), "t", {name}); });
    const YsonNode* found = values ? values->find(name) : nullptr;
    return found == nullptr ? YsonNode() : *found;
  }

  TestNode node_{1};
  SeededRandom random_{4};
};

TEST_F(StoredTablesRanges, PartsOfATableAreMountedAndUnmounted) {
  expect_ok(unmount(range(1, 2)));
  EXPECT_EQ(states(), "muumm");
  EXPECT_EQ(attribute("tablet_state"), YsonNode("mixed"));
  EXPECT_TRUE(read({5, 35}));
  const auto inside = read({5, 15});
  ASSERT_FALSE(inside);
  EXPECT_EQ(inside.error().code, Errc::kReadOnly);
  EXPECT_TRUE(write({5}));
  EXPECT_FALSE(write({25}));
  expect_ok(run([&] { return tables().freeze("t", range(0, 0)); }));
  EXPECT_EQ(states(), "fuumm");
  EXPECT_FALSE(mount({})) << "a frozen tablet is not mounted";
  EXPECT_EQ(states(), "fuumm") << "all or none";
  expect_ok(mount(range(1, 1), MountState::kFrozen));
  EXPECT_EQ(states(), "ffumm");
  node_.cut_power();
  EXPECT_EQ(states(), "ffumm");
  node_.world().run_for(5s);
  EXPECT_TRUE(read({5, 15, 35}));
  expect_ok(run([&] { return tables().unfreeze("t", range(0, 1)); }));
  expect_ok(mount({}));
  EXPECT_EQ(states(), "mmmmm");
  expect_all_rows();
}

TEST_F(StoredTablesRanges, IndexesAreChecked) {
  EXPECT_EQ(refused(unmount(range(5, 5))), "First tablet index 5 is out of range [0, 4]");
  EXPECT_EQ(refused(unmount(range(0, 5))), "Last tablet index 5 is out of range [0, 4]");
  EXPECT_EQ(refused(unmount(range(3, 2))),
            "First tablet index 3 is greater than last tablet index 2");
  EXPECT_EQ(states(), "mmmmm");
}

// The case of YTsaurus's tests with ten tablets, of which five are mounted.
TEST_F(StoredTablesRanges, TabletsAreRemountedOneByOne) {
  expect_ok(unmount(range(4, 4)));
  const auto set = [&](std::string name, int value) {
    expect_ok(
        run([&] { return client::set_table_attribute(tables(), "t", name, YsonNode(value)); }));
  };
  const auto waiting = [&] { return attribute("remount_needed_tablet_count"); };
  set("min_data_ttl", 1);
  EXPECT_EQ(waiting(), YsonNode(4));
  expect_ok(run([&] { return tables().remount("t"); }));
  EXPECT_EQ(waiting(), YsonNode(0));
  set("max_data_ttl", 5);
  EXPECT_EQ(waiting(), YsonNode(4));
  expect_ok(run([&] { return tables().remount("t", range(0, 1)); }));
  EXPECT_EQ(waiting(), YsonNode(2));
  node_.cut_power();
  EXPECT_EQ(waiting(), YsonNode(2));
  expect_ok(run([&] { return tables().remount("t", range(1, 2)); }));
  EXPECT_EQ(waiting(), YsonNode(1));
  expect_ok(mount({}));
  EXPECT_EQ(waiting(), YsonNode(1)) << "only tablets that are mounted now get the options";
  expect_ok(unmount({}));
  EXPECT_EQ(waiting(), YsonNode(0));
}

TEST_F(StoredTablesRanges, APartIsReshardedWhileTheOthersServe) {
  const auto mounted = reshard(range(1, 2), {10, 25});
  ASSERT_FALSE(mounted);
  EXPECT_NE(mounted.error().context.find("is not unmounted"), std::string::npos);
  expect_ok(unmount(range(1, 2)));
  const TabletId first = tables().find("t")->record().tablets[0].info.id;
  expect_ok(reshard(range(1, 2), {10, 12, 25, 27}));
  EXPECT_EQ(states(), "muuuumm");
  EXPECT_EQ(tables().find("t")->record().tablets[0].info.id, first);
  EXPECT_EQ(attribute("pivot_keys"), parse_yson("[[];[10];[12];[25];[27];[30];[40]]").value());
  EXPECT_TRUE(read({5, 35, 45}));
  node_.cut_power();
  EXPECT_EQ(states(), "muuuumm");
  expect_ok(reshard(range(2, 3), {12}));
  EXPECT_EQ(states(), "muuumm");
  expect_ok(mount({}));
  expect_all_rows();
  expect_ok(unmount({}));
  expect_ok(reshard({}, {-1}));
  EXPECT_EQ(states(), "u");
  expect_ok(mount({}));
  expect_all_rows();
}

TEST_F(StoredTablesRanges, PivotsOfAPartAreChecked) {
  expect_ok(unmount({}));
  EXPECT_EQ(refused(reshard(range(1, 1), {11})),
            "First pivot key must match that of the first tablet in the resharded range");
  EXPECT_EQ(refused(reshard(range(0, 0), {5})), "First pivot key must be empty");
  EXPECT_EQ(refused(reshard(range(1, 1), {10, 20})),
            "Last pivot key must be strictly less than that of the tablet which follows the "
            "resharded range");
  EXPECT_EQ(refused(reshard(range(1, 1), {10, 10})), "Pivot keys must be strictly increasing");
  EXPECT_EQ(refused(reshard({}, {-1, -1})), "Pivot keys must be strictly increasing");
  EXPECT_EQ(refused(reshard(range(7, 7), {10})), "First tablet index 7 is out of range [0, 4]");
  EXPECT_EQ(states(), "uuuuu");
}

TEST_F(StoredTablesRanges, APartIsSplitByTheNumberOfTablets) {
  expect_ok(unmount(range(2, 4)));
  const auto by_count = [&](TabletRange tablets, NewTablets made) {
    return run([&] { return tables().reshard("t", tablets, made); });
  };
  expect_ok(by_count(range(2, 4), {.count = 1}));
  EXPECT_EQ(states(), "mmu");
  EXPECT_EQ(attribute("pivot_keys"), parse_yson("[[];[10];[20]]").value());
  EXPECT_EQ(refused(by_count(range(2, 2), {})), "Tablet count must be positive");
  EXPECT_FALSE(by_count(range(2, 2), {.count = 2, .uniform = true}));
  expect_ok(mount({}));
  expect_all_rows();
  expect_ok(unmount({}));
  expect_ok(by_count({}, {.count = 2, .uniform = true}));
  EXPECT_EQ(attribute("pivot_keys"), parse_yson("[[];[0]]").value());
  expect_ok(mount({}));
  expect_all_rows();
}

// A power cut at every moment of an unmount leaves the others mounted, and the range on its way.
TEST_F(StoredTablesRanges, AfterAPowerCutOnlyTheRangeGoesOn) {
  for (int cut = 0; cut < 12; ++cut) {
    node_.lane(0).post([this] { spawn(unmount_range(tables())); });
    node_.world().run_for(150us * (cut + 1));
    node_.cut_power();
    node_.world().run_for(5s);
    const std::string now = states();
    EXPECT_TRUE(now == "mmmmm" || now == "muumm") << now << " after a cut at " << cut;
    EXPECT_TRUE(read({5, 35, 45}));
    expect_ok(mount({}));
    expect_all_rows();
  }
}

}  // namespace
}  // namespace moraine
