// Tables of a node on several lanes: every lane reads and writes tablets of the others.

#include "client/lane_tables.h"
#include "client/lookup.h"
#include "client/scan.h"
#include "client/table_changes.h"
#include "client/table_client.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"

namespace moraine {
namespace {

constexpr std::size_t kLanes = 3;
constexpr std::int64_t kTablets = 6;
constexpr std::int64_t kKeysPerTablet = 10;

// What a door makes of a node.
struct Door {
  explicit Door(TestNode& node)
      : tables(node.node().tables().tables(), node.lane(0)),
        client(node.lane(0), tables, node.node().tables()) {}
  LaneTables tables;
  client::TableClient client;
};

class TableLanes : public testing::Test {
 protected:
  TableLanes() { open(); }

  void open() { door_ = std::make_unique<Door>(node_); }
  Result<void> create(std::size_t lane) {
    return node_.on_lane<Result<void>>(lane, [this] {
      NewTable table;
      table.schema = small_schema();
      std::vector<std::vector<Value>> pivots;
      for (std::int64_t i = 1; i < kTablets; ++i) pivots.push_back({Value(i * kKeysPerTablet)});
      return client::create_table(door_->tables, "t", std::move(table), std::move(pivots));
    });
  }
  Task<Result<Timestamp>> write_all(std::vector<std::int64_t> keys, std::string value) {
    CO_TRY(const client::Table table, door_->client.open("/t"));
    CO_TRY(client::Transaction transaction, co_await door_->client.begin({}, random_));
    for (const std::int64_t key : keys) {
      const std::vector<NamedValue> row{{"k", Value(key)}, {"v", Value(value)}};
      CO_TRY_VOID(transaction.insert(table, row, {}));
    }
    co_return co_await transaction.commit();
  }
  Result<Timestamp> write(std::size_t lane, std::vector<std::int64_t> keys,
                          const std::string& value) {
    return node_.on_lane<Result<Timestamp>>(lane, [&] { return write_all(keys, value); });
  }
  Task<Result<std::vector<std::string>>> read_all(std::vector<std::int64_t> keys) {
    CO_TRY(client::Table opened, door_->client.open("/t"));
    const auto table = std::make_shared<const client::Table>(std::move(opened));
    std::vector<std::vector<Value>> wanted;
    for (const std::int64_t key : keys) wanted.push_back({Value(key)});
    Rowset rows;
    CO_TRY_VOID(co_await client::lookup(table, std::move(wanted), {}, false, rows));
    std::vector<std::string> values;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      values.push_back(rows.exists(i) ? std::string(rows.at(i, 1).text()) : std::string("-"));
    }
    co_return values;
  }
  std::vector<std::string> read(std::size_t lane, std::vector<std::int64_t> keys) {
    auto found =
        node_.on_lane<Result<std::vector<std::string>>>(lane, [&] { return read_all(keys); });
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : std::vector<std::string>();
  }
  Result<void> flush(std::size_t lane) {
    return node_.on_lane<Result<void>>(lane,
                                       [this] { return client::flush_table(door_->tables, "t"); });
  }

  TestNode node_{kLanes};
  SeededRandom random_{1};
  std::unique_ptr<Door> door_;
};

TEST_F(TableLanes, TabletsAreOnAllLanes) {
  const auto made = create(1);
  ASSERT_TRUE(made) << made.error().message();
  std::set<Executor*> homes;
  const auto open = door_->tables.holder("t")->hold();
  for (const OpenRange& range : open->ranges) homes.insert(&range.running->executor());
  EXPECT_EQ(homes.size(), kLanes);
}

TEST_F(TableLanes, EveryLaneReadsAndWritesEveryTablet) {
  ASSERT_TRUE(create(0));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::int64_t tablet = 0; tablet < kTablets; ++tablet) {
      const auto done = write(lane, {tablet * kKeysPerTablet}, fmt::format("{}", lane));
      ASSERT_TRUE(done) << done.error().message();
    }
    for (std::size_t reader = 0; reader < kLanes; ++reader) {
      const std::string value = fmt::format("{}", lane);
      EXPECT_EQ(read(reader, {0, 10, 20, 30, 40, 50}), std::vector<std::string>(6, value));
    }
  }
}

TEST_F(TableLanes, ATransactionOverAllTabletsIsVisibleAsAWhole) {
  ASSERT_TRUE(create(2));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::string value = fmt::format("all {}", lane);
    const auto done = write(lane, {1, 11, 21, 31, 41, 51}, value);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(read((lane + 1) % kLanes, {1, 11, 21, 31, 41, 51}),
              std::vector<std::string>(6, value));
  }
}

TEST_F(TableLanes, FlushedRowsAreReadFromEveryLane) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(write(1, {1, 11, 21, 31, 41, 51}, "kept"));
  const auto flushed = flush(2);
  ASSERT_TRUE(flushed) << flushed.error().message();
  node_.restart();
  open();
  node_.world().run_for(5s);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(read(lane, {1, 11, 21, 31, 41, 51}), std::vector<std::string>(6, "kept"));
  }
}

TEST_F(TableLanes, RowsSurviveAPowerCut) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(write(0, {2, 12, 22}, "a"));
  ASSERT_TRUE(write(1, {32}, "b"));
  door_.reset();
  node_.cut_power();
  open();
  node_.world().run_for(5s);
  EXPECT_EQ(read(2, {2, 12, 22, 32, 42}), (std::vector<std::string>{"a", "a", "a", "b", "-"}));
}

TEST_F(TableLanes, ATableIsUnmountedReshardedAndRemoved) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(write(1, {3, 13, 23}, "x"));
  const auto resharded = node_.on_lane<Result<void>>(1, [this]() -> Task<Result<void>> {
    CO_TRY_VOID(co_await door_->tables.unmount("t"));
    CO_TRY_VOID(co_await door_->tables.reshard("t", std::vector<std::string>()));
    co_return co_await door_->tables.mount("t", MountState::kMounted);
  });
  ASSERT_TRUE(resharded) << resharded.error().message();
  EXPECT_EQ(read(2, {3, 13, 23}), std::vector<std::string>(3, "x"));
  const auto removed = node_.on_lane<Result<void>>(2, [this] { return door_->tables.remove("t"); });
  ASSERT_TRUE(removed) << removed.error().message();
  EXPECT_FALSE(door_->tables.holder("t"));
}

TEST_F(TableLanes, OpenTransactionsOfAllDoorsAreBounded) {
  Door other(node_);
  const client::OpenCount& count = node_.node().tables().open_counts().transactions;
  std::vector<client::Transaction> open;
  for (std::size_t i = 0; i < client::kOpenTransactionsMax; ++i) {
    auto begun = (i % 2 == 0 ? *door_ : other).client.begin_at(1, {}, random_);
    ASSERT_TRUE(begun) << begun.error().message();
    open.push_back(std::move(*begun));
  }
  EXPECT_EQ(count.open(), client::kOpenTransactionsMax);
  const auto refused = other.client.begin_at(1, {}, random_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kOverloaded);
  open.front().abort();
  EXPECT_TRUE(other.client.begin_at(1, {}, random_));
  ASSERT_TRUE(open.back().gather());
  EXPECT_EQ(count.open(), client::kOpenTransactionsMax - 2);
  open.clear();
  EXPECT_EQ(count.open(), 0u);
}

TEST_F(TableLanes, OpenScansAreBounded) {
  ASSERT_TRUE(create(0));
  ASSERT_TRUE(write(0, {1}, "a"));
  client::OpenCount& count = node_.node().tables().open_counts().scans;
  const auto step = [this](client::Scan& scan) {
    return node_.on_lane<Result<bool>>(1, [&]() -> Task<Result<bool>> {
      ScanBatch batch;
      co_return co_await scan.next(batch);
    });
  };
  auto table = door_->client.open("/t");
  ASSERT_TRUE(table);
  auto made = client::new_scan(*table, {});
  ASSERT_TRUE(made);
  client::Scan scan(std::move(*made));
  std::vector<client::OpenCount::Place> places;
  while (count.open() < client::kOpenScansMax) places.push_back(std::move(*count.enter()));
  const auto refused = step(scan);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kOverloaded);
  places.clear();
  const auto first = step(scan);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_TRUE(*first);
  EXPECT_EQ(count.open(), 1u);
  const auto end = step(scan);
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_FALSE(*end);
  EXPECT_EQ(count.open(), 0u) << "it has ended, and holds nothing";
}

}  // namespace
}  // namespace moraine
