// A node whose tablets move: to other lanes, to another node and back, while clients use them.

#include "client/lane_tables.h"
#include "client/lookup.h"
#include "client/table_client.h"
#include "cluster/fake_placement.h"
#include "keyvalue/key_value.h"
#include "node/test_node.h"
#include "scheme/test_schema.h"
#include "table/model/key.h"

namespace moraine {
namespace {

constexpr std::size_t kLanes = 3;
using Texts = std::vector<std::string>;

class PlacementTest : public testing::Test {
 protected:
  // Runs on the control lane.
  template <class T>
  T run(std::function<Task<T>()> body) {
    return node_.on_lane<T>(0, std::move(body));
  }
  Executor& control() { return node_.lane(0); }

  TopicPtr create_topic(std::uint32_t partitions) {
    auto made = run<Result<TopicPtr>>([&] {
      TopicSpec spec;
      spec.partitions = partitions;
      spec.config["moraine.partitions.per.tablet"] = "1";
      return node_.node().topics(0).create("t", spec);
    });
    EXPECT_TRUE(made) << made.error().message();
    return made ? *made : nullptr;
  }
  std::vector<TabletId> topic_tablets() {
    std::vector<TabletId> tablets;
    for (const PartitionReport& one : node_.node().topics_report().topics.at(0).partitions) {
      tablets.push_back(one.tablet);
    }
    return tablets;
  }
  std::shared_ptr<queue::Partition> partition(std::size_t lane, const TopicPtr& topic,
                                              std::uint32_t index) {
    return node_.node().topics(lane).partition(topic->id, index);
  }
  Task<Texts> read(const TopicPtr& topic, std::uint32_t index) {
    Texts texts;
    const auto from = partition(0, topic, index);
    EXPECT_TRUE(from);
    queue::ReadRequest request;
    request.bytes_max = 16u << 20;
    const auto answer = co_await from->read(request);
    EXPECT_TRUE(answer) << answer.error().message();
    if (!answer) co_return texts;
    for (const queue::StoredEntry& entry : answer->entries) {
      texts.push_back(std::string(entry.payload.text()));
    }
    co_return texts;
  }

  FakePlacement placement_{kLanes};
  TestNode node_{kLanes, 9, &placement_};
};

// A client on one lane, which writes one message after the other to one partition.
struct Writer {
  std::vector<std::pair<queue::Offset, std::string>> acknowledged;
  int refused = 0;
  int missing = 0;
  bool over = false;

  Task<void> run(Node& node, std::size_t lane, TopicPtr topic, std::uint32_t index) {
    Executor& executor = node.lane(lane).executor;
    co_await hop(executor);
    for (int number = 0; !over; ++number) {
      const auto partition = node.topics(lane).partition(topic->id, index);
      if (!partition) {
        ++missing;
        co_await sleep_for(executor, 3ms);
        continue;
      }
      queue::WriteRequest request;
      const std::string text = fmt::format("{}:{}", lane, number);
      request.payload = Slice::copy_of(text);
      const auto pending = partition->write(std::move(request));
      const queue::WriteAnswer answer = co_await *pending;
      if (answer.status == queue::WriteStatus::kOk) {
        acknowledged.emplace_back(answer.offset.value(), text);
      } else {
        ++refused;
        co_await sleep_for(executor, 3ms);
      }
    }
    co_await hop(node.lane(0).executor);
  }
};

TEST_F(PlacementTest, AcknowledgedMessagesStayWhenPartitionsMove) {
  const TopicPtr topic = create_topic(2);
  ASSERT_TRUE(topic);
  node_.world().run_for(1s);
  const std::vector<TabletId> tablets = topic_tablets();
  std::array<Writer, 4> writers;
  run<bool>([&]() -> Task<bool> {
    TaskScope clients;
    for (std::uint32_t i = 0; i < writers.size(); ++i) {
      clients.spawn(writers[i].run(node_.node(), i % kLanes, topic, i % 2));
    }
    for (std::size_t round = 0; round < 6; ++round) {
      for (const TabletId tablet : tablets) {
        placement_.move(tablet, std::nullopt);
        co_await sleep_for(control(), 100ms);
        placement_.move(tablet, round % kLanes);
        co_await sleep_for(control(), 200ms);
        placement_.move(tablet, (round + 1) % kLanes);
      }
    }
    co_await sleep_for(control(), 1s);
    for (Writer& writer : writers) writer.over = true;
    co_await clients.join();
    co_return true;
  });
  EXPECT_TRUE(node_.node().not_ready().empty());
  std::size_t stored = 0;
  for (std::uint32_t index = 0; index < 2; ++index) {
    const Texts texts = run<Texts>([&] { return read(topic, index); });
    stored += texts.size();
    EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), texts.size());
    for (std::size_t i = index; i < writers.size(); i += 2) {
      EXPECT_GT(writers[i].acknowledged.size(), 100u);
      EXPECT_GT(writers[i].missing, 0) << "the partition was away";
      for (const auto& [offset, text] : writers[i].acknowledged) {
        ASSERT_LT(offset, texts.size());
        ASSERT_EQ(texts[offset], text);
      }
    }
  }
  EXPECT_GT(stored, 400u);
}

TEST_F(PlacementTest, ATabletThatIsElsewhereIsNotWaitedForAndRunsWhenItComesBack) {
  const TopicPtr topic = create_topic(2);
  ASSERT_TRUE(topic);
  const TabletId moved = topic_tablets()[1];
  const auto wait = [&] { return node_.node().wait_topics(node_.soon()); };
  placement_.move(moved, std::nullopt);
  node_.world().run_for(1s);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    EXPECT_TRUE(partition(lane, topic, 0));
    EXPECT_FALSE(partition(lane, topic, 1));
  }
  EXPECT_TRUE(node_.node().not_ready().empty());
  node_.restart();
  EXPECT_TRUE(run<bool>(wait));
  EXPECT_FALSE(partition(0, topic, 1)) << "also after a restart of the node";
  placement_.move(moved, 2);
  EXPECT_FALSE(node_.node().not_ready().empty());
  EXPECT_TRUE(run<bool>(wait));
  EXPECT_TRUE(partition(0, topic, 1));
}

TEST_F(PlacementTest, AFencedTabletThatIsPlacedElsewhereDoesNotFightBack) {
  const TopicPtr topic = create_topic(1);
  ASSERT_TRUE(topic);
  const TabletId tablet = topic_tablets()[0];
  const auto write = [&](std::string text) {
    return run<queue::WriteAnswer>([&, text]() -> Task<queue::WriteAnswer> {
      queue::WriteRequest request;
      request.payload = Slice::copy_of(text);
      const auto pending = partition(0, topic, 0)->write(std::move(request));
      co_return co_await *pending;
    });
  };
  ASSERT_EQ(write("kept").status, queue::WriteStatus::kOk);
  // Another node has got the tablet; this one is notified later.
  placement_.move_silently(tablet, std::nullopt);
  const GroupId group = node_.node().storage().config().groups[0].id;
  using Booted = Result<std::unique_ptr<KeyValue>>;
  auto other = run<Booted>([&] {
    return KeyValue::boot(node_.node().lane(0), node_.node().groups(),
                          TabletInfo::simple(tablet, group, kQueueTabletChannels));
  });
  ASSERT_TRUE(other) << other.error().message();
  bool fenced = false;
  (*other)->on_end([&] { fenced = true; });
  EXPECT_NE(write("lost").status, queue::WriteStatus::kOk);
  node_.world().run_for(60s);
  EXPECT_FALSE(partition(0, topic, 0));
  EXPECT_GE(placement_.asked(), 1u);
  placement_.move(tablet, std::nullopt);
  node_.world().run_for(1s);
  EXPECT_FALSE(fenced);
  run<bool>([&]() -> Task<bool> {
    co_await (*other)->stop();
    co_return true;
  });
  placement_.move(tablet, 1);
  node_.world().run_for(5s);
  ASSERT_TRUE(partition(0, topic, 0));
  EXPECT_EQ(run<Texts>([&] { return read(topic, 0); }), Texts{"kept"});
}

// A client that commits one row after the other, each in one of two tablets, or in both.
class TableWriter {
 public:
  TableWriter(TestNode& node)
      : node_(node),
        tables_(node.node().tables().tables(), node.lane(0)),
        client_(node.lane(0), tables_, node.node().tables()) {}

  std::vector<std::vector<std::int64_t>> committed;
  int failed = 0;
  bool over = false;

  Task<Result<void>> create() {
    NewTable table;
    table.schema = small_schema();
    table.pivots.push_back(table::encode_key(std::vector<Value>{Value(kPivot)}));
    return node_.node().tables().tables().create("t", std::move(table));
  }
  Task<void> run() {
    for (std::int64_t number = 0; number < kPivot && !over; ++number) {
      std::vector<std::int64_t> keys;
      if (number % 3 != 1) keys.push_back(number);
      if (number % 3 != 0) keys.push_back(kPivot + number);
      const auto done = co_await commit(keys);
      if (done) {
        committed.push_back(std::move(keys));
      } else {
        ++failed;
        co_await sleep_for(node_.lane(0), 3ms);
      }
    }
  }
  Task<Result<std::size_t>> count_present(std::vector<std::int64_t> keys) {
    CO_TRY(client::Table opened, client_.open("/t"));
    const auto table = std::make_shared<const client::Table>(std::move(opened));
    std::vector<std::vector<Value>> wanted;
    for (const std::int64_t key : keys) wanted.push_back({Value(key)});
    Rowset rows;
    CO_TRY_VOID(co_await client::lookup(table, std::move(wanted), {}, false, rows));
    std::size_t present = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) present += rows.exists(i) ? 1 : 0;
    co_return present;
  }

 private:
  static constexpr std::int64_t kPivot = 1'000'000;

  Task<Result<Timestamp>> commit(std::vector<std::int64_t> keys) {
    CO_TRY(const client::Table table, client_.open("/t"));
    CO_TRY(client::Transaction transaction, co_await client_.begin({}, random_));
    for (const std::int64_t key : keys) {
      const std::vector<NamedValue> row{{"k", Value(key)}, {"v", Value("x")}};
      CO_TRY_VOID(transaction.insert(table, row, {}));
    }
    co_return co_await transaction.commit();
  }

  TestNode& node_;
  LaneTables tables_;
  client::TableClient client_;
  SeededRandom random_{1};
};

TEST_F(PlacementTest, CommittedRowsStayWhenTabletsOfATableMove) {
  auto writer = std::make_unique<TableWriter>(node_);
  const auto made = run<Result<void>>([&] { return writer->create(); });
  ASSERT_TRUE(made) << made.error().message();
  std::vector<TabletId> tablets;
  const auto table = node_.node().tables().tables().find("t");
  for (const TabletOfTable& tablet : table->record().tablets) tablets.push_back(tablet.info.id);
  run<bool>([&]() -> Task<bool> {
    TaskScope clients;
    clients.spawn(writer->run());
    for (std::size_t round = 0; round < 6; ++round) {
      for (const TabletId tablet : tablets) {
        placement_.move(tablet, std::nullopt);
        co_await sleep_for(control(), 100ms);
        placement_.move(tablet, round % kLanes);
        co_await sleep_for(control(), 300ms);
        placement_.move(tablet, (round + 1) % kLanes);
      }
    }
    co_await sleep_for(control(), 1s);
    writer->over = true;
    co_await clients.join();
    co_return true;
  });
  EXPECT_GT(writer->failed, 0) << "tablets were away";
  EXPECT_GT(writer->committed.size(), 100u);
  EXPECT_TRUE(run<bool>([&] { return node_.node().tables().tables().wait_running(node_.soon()); }));
  std::vector<std::int64_t> keys;
  for (const auto& written : writer->committed) {
    keys.insert(keys.end(), written.begin(), written.end());
  }
  const auto present = run<Result<std::size_t>>([&] { return writer->count_present(keys); });
  ASSERT_TRUE(present) << present.error().message();
  EXPECT_EQ(*present, keys.size());
  for (const TabletId tablet : tablets) placement_.move(tablet, std::nullopt);
  node_.world().run_for(1s);
  const auto away = run<Result<std::size_t>>([&] { return writer->count_present(keys); });
  EXPECT_FALSE(away) << "no tablet runs here";
  for (const TabletId tablet : tablets) placement_.move(tablet, 1);
  EXPECT_TRUE(run<bool>([&] { return node_.node().tables().tables().wait_running(node_.soon()); }));
  const auto again = run<Result<std::size_t>>([&] { return writer->count_present(keys); });
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, keys.size());
}

}  // namespace
}  // namespace moraine
