// A client on one node, tablets on another: reads and commits by messages, also when messages are
// lost and the node of the tablets is restarted.

#include "client/lane_tables.h"
#include "client/remote_services.h"
#include "client/table_changes.h"
#include "client/test_rows.h"
#include "cluster/tablet_ids.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"

namespace moraine {
namespace {

constexpr std::int64_t kTablets = 4;
constexpr std::int64_t kKeysPerTablet = 10;

class RemoteTables : public testing::Test {
 protected:
  RemoteTables() {
    LaneTables tables(node_.node().tables().tables(), node_.lane(0));
    const auto made = node_.on_lane<Result<void>>(1, [&] {
      NewTable table;
      table.schema = small_schema();
      std::vector<std::vector<Value>> pivots;
      for (std::int64_t i = 1; i < kTablets; ++i) pivots.push_back({Value(i * kKeysPerTablet)});
      return client::create_table(tables, "t", std::move(table), std::move(pivots));
    });
    EXPECT_TRUE(made) << made.error().message();
    const auto open = std::make_shared<OpenTable>(*tables.holder("t")->hold());
    open->schema = std::make_shared<const TableSchema>(*open->schema);
    open->shown = open->schema;
    for (OpenRange& range : open->ranges) {
      range.running.reset();
      range.elsewhere = true;
    }
    auto table = client::Table::open(client_, "/t", std::make_shared<TableHolder>(open));
    EXPECT_TRUE(table) << table.error().message();
    table_ = std::make_shared<const client::Table>(std::move(*table));
  }

  // Runs on a lane of the client's node.
  template <class T>
  T run(std::function<Task<T>()> body) {
    return run_on_lane<T>(node_.world(), lane_, std::move(body));
  }

  Result<Timestamp> write(std::vector<std::int64_t> keys, const std::string& value) {
    return run<Result<Timestamp>>(
        [&] { return client::write_rows(client_, table_, random_, keys, value); });
  }
  Result<std::vector<std::string>> read(std::vector<std::int64_t> keys,
                                        Timestamp at = kSyncLastCommitted) {
    ReadOptions options;
    options.timestamp = at;
    return run<Result<std::vector<std::string>>>(
        [&] { return client::read_rows(table_, keys, options); });
  }
  // Reads again until it succeeds: reads are safe to repeat.
  std::string read_surely(std::int64_t key) {
    for (int i = 0; i < 100; ++i) {
      const auto found = read({key});
      if (found) return found->front();
      const Errc code = found.error().code;
      EXPECT_TRUE(code == Errc::kTimeout || code == Errc::kUnavailable || code == Errc::kNotHere)
          << found.error().message();
      node_.world().run_for(1s);
    }
    ADD_FAILURE() << "key " << key << " cannot be read";
    return {};
  }
  Result<std::vector<std::int64_t>> scan(ScanOptions options = {}) {
    return run<Result<std::vector<std::int64_t>>>(
        [&] { return client::scan_keys(table_, options); });
  }
  // Writes, and finds out by reading when the outcome is unknown. Returns what the row has then.
  std::string write_surely(std::int64_t key, const std::string& before, const std::string& value) {
    const auto done = write({key}, value);
    const std::string now = read_surely(key);
    if (done) {
      EXPECT_EQ(now, value);
    } else if (done.error().code == Errc::kUnknownOutcome) {
      ++unknown_;
      EXPECT_TRUE(now == before || now == value) << now;
    } else {
      EXPECT_EQ(now, before) << done.error().message();
    }
    return now;
  }

  TestNode node_{3};
  SimNode& machine_ = node_.world().add_node();
  Executor& lane_ = machine_.lanes(2)[1].executor;
  client::RemoteServices services_{machine_.world().executor, machine_.world().network,
                                   [this](TabletId) { return node_.id(); }, kTimestampTabletId,
                                   kCoordinatorTabletId};
  // Tables are not found by their paths here: no call of the other node's Tables is made.
  client::TableClient client_{machine_.world().executor, node_.node().tables().tables(), services_};
  SeededRandom random_{1};
  std::shared_ptr<const client::Table> table_;
  std::size_t unknown_ = 0;
};

using Texts = std::vector<std::string>;

TEST_F(RemoteTables, RowsOfAnotherNodeAreWrittenAndRead) {
  const auto first = write({1}, "one");
  ASSERT_TRUE(first) << first.error().message();
  const auto all = write({2, 12, 22, 32}, "all");
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(read({32, 1, 5, 12}), (Texts{"all", "one", "-", "all"}));
  EXPECT_EQ(read({1, 2, 22}, *first), (Texts{"one", "-", "-"}));
  EXPECT_EQ(scan(), (std::vector<std::int64_t>{1, 2, 12, 22, 32}));
  ScanOptions some;
  some.from = {Value(std::int64_t{2})};
  some.row_limit = 3;
  EXPECT_EQ(scan(some), (std::vector<std::int64_t>{2, 12, 22}));
  some.filters = {{"v", Filter::Op::kEqual, Value("one")}};
  some.from = {};
  EXPECT_EQ(scan(some), std::vector<std::int64_t>{1});
  const auto versions = run<Result<VersionedResult>>(
      [&] { return client::lookup_versions(table_, {Value(std::int64_t{1})}, kMaxTimestamp); });
  ASSERT_TRUE(versions) << versions.error().message();
  EXPECT_EQ(versions->write_timestamps, std::vector<Timestamp>{*first});
  ASSERT_EQ(versions->versions.size(), 1u);
  EXPECT_EQ(versions->versions[0].column, "v");
  EXPECT_EQ(versions->versions[0].value, Value("one"));
}

TEST_F(RemoteTables, TransactionsOfBothNodesConflict) {
  auto begun = run<Result<client::Transaction>>([&] { return client_.begin({}, random_); });
  ASSERT_TRUE(begun);
  client::Transaction early = std::move(*begun);
  ASSERT_TRUE(write({1, 11}, "later"));
  const std::vector<NamedValue> row{{"k", Value(std::int64_t{1})}, {"v", Value("early")}};
  ASSERT_TRUE(early.insert(*table_, row, {}));
  const auto lost = run<Result<Timestamp>>([&] { return early.commit(); });
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::kAborted) << lost.error().message();
  EXPECT_EQ(read({1, 11}), (Texts{"later", "later"}));
}

TEST_F(RemoteTables, LostMessagesLoseAndRepeatNothing) {
  LinkFaults& there = node_.world().network().link(machine_.id(), node_.id());
  LinkFaults& back = node_.world().network().link(node_.id(), machine_.id());
  there.loss.one_in = 6;
  back.loss.one_in = 6;
  there.duplicate.one_in = 3;
  std::map<std::int64_t, std::string> expected;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t key = i % 8 * 5;
    const auto [at, added] = expected.try_emplace(key, "-");
    at->second = write_surely(key, at->second, fmt::format("{}", i));
  }
  EXPECT_GT(unknown_, 0u);
  there = LinkFaults();
  back = LinkFaults();
  for (const auto& [key, value] : expected) EXPECT_EQ(read({key}), Texts{value}) << key;
}

TEST_F(RemoteTables, ARestartOfTheOtherNodeIsSurvived) {
  ASSERT_TRUE(write({1, 11, 21, 31}, "a"));
  node_.restart();
  node_.world().run_for(5s);
  EXPECT_EQ(read({1, 11, 21, 31}), Texts(4, "a"));
  ASSERT_TRUE(write({1, 11, 21, 31}, "b"));
  node_.cut_power();
  node_.world().run_for(5s);
  EXPECT_EQ(read({1, 11, 21, 31}), Texts(4, "b"));
  const auto done = write({1, 31}, "c");
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(read({1, 11, 21, 31}), (Texts{"c", "b", "b", "c"}));
}

TEST_F(RemoteTables, CommitsDuringARestartAreWholeOrUnknownOrRefused) {
  ASSERT_TRUE(write({1, 11}, "before"));
  std::string before = "before";
  for (int round = 0; round < 6; ++round) {
    const std::string value = fmt::format("round {}", round);
    std::optional<Result<Timestamp>> done;
    const auto commit = [&]() -> Task<void> {
      co_await yield(lane_);
      done = co_await client::write_rows(client_, table_, random_, {1, 11}, value);
    };
    spawn(commit());
    node_.world().run_for(Duration(round * 1ms));
    round % 2 == 0 ? node_.restart() : node_.cut_power();
    for (int i = 0; i < 100 && !done; ++i) node_.world().run_for(1s);
    ASSERT_TRUE(done);
    node_.world().run_for(5s);
    const std::string now = read_surely(1);
    EXPECT_EQ(read_surely(11), now);
    if (*done) {
      EXPECT_EQ(now, value);
    } else if (done->error().code != Errc::kUnknownOutcome) {
      EXPECT_EQ(now, before) << done->error().message();
    }
    before = now;
  }
}

TEST_F(RemoteTables, ATabletThatDoesNotRunThereIsNotHere) {
  ASSERT_TRUE(write({1}, "a"));
  LaneTables tables(node_.node().tables().tables(), node_.lane(0));
  ASSERT_TRUE(node_.on_lane<Result<void>>(1, [&] { return tables.unmount("t"); }));
  const auto found = read({1});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kNotHere) << found.error().message();
  const auto rows = scan();
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, Errc::kNotHere) << rows.error().message();
  const auto done = write({1}, "b");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kNotHere) << done.error().message();
}

}  // namespace
}  // namespace moraine
