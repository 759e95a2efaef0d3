// Two nodes, each with tablets of the same tables and topics: what placement has on the other node
// is reached there by messages. Each has a scheme and devices of its own; both have the same
// tables and topics, made in the same order, so that their tablets have the same ids.

#include <deque>
#include <set>

#include "client/lane_tables.h"
#include "client/test_rows.h"
#include "client/topic_client.h"
#include "cluster/fake_placement.h"
#include "cluster/tablet_ids.h"
#include "node/test_split_table.h"

namespace moraine {
namespace {

constexpr std::size_t kLanes = 2;
constexpr std::int64_t kPivot = 100;
using Texts = std::vector<std::string>;

class TwoNodes : public testing::Test {
 protected:
  TwoNodes() {
    // One oracle and one coordinator for both.
    places_b_.move(kTimestampTabletId, TabletPlace::on(a_.id()));
    places_b_.move(kCoordinatorTabletId, TabletPlace::on(a_.id()));
    b_ = std::make_unique<TestNode>(a_.world(), kLanes, &places_b_);
  }

  SimWorld& world() { return a_.world(); }

  FakePlacement places_a_{kLanes};
  FakePlacement places_b_{kLanes};
  TestNode a_{kLanes, 9, &places_a_};
  std::unique_ptr<TestNode> b_;
};

// A client of the tables, on a lane of one of the nodes.
class TableUser {
 public:
  TableUser(TestNode& node, std::size_t lane)
      : node_(node),
        lane_(lane),
        tables_(node.node().tables().tables(), node.lane(0)),
        client_(node.lane(lane), tables_, node.node().tables()) {}

  Result<Timestamp> write(std::vector<std::int64_t> keys, const std::string& value) {
    return node_.on_lane<Result<Timestamp>>(lane_, [&] { return write_all(keys, value); });
  }
  Result<Texts> read(std::vector<std::int64_t> keys) {
    return node_.on_lane<Result<Texts>>(lane_, [&] { return read_all(keys); });
  }
  Result<std::vector<std::int64_t>> scan() {
    return node_.on_lane<Result<std::vector<std::int64_t>>>(lane_, [&] { return scan_all(); });
  }

 private:
  Task<Result<Timestamp>> write_all(std::vector<std::int64_t> keys, std::string value) {
    CO_TRY(client::TablePtr table, client::open_shared(client_, "/t"));
    co_return co_await client::write_rows(client_, table, random_, keys, std::move(value));
  }
  Task<Result<Texts>> read_all(std::vector<std::int64_t> keys) {
    CO_TRY(client::TablePtr table, client::open_shared(client_, "/t"));
    co_return co_await client::read_rows(table, keys);
  }
  Task<Result<std::vector<std::int64_t>>> scan_all() {
    CO_TRY(client::TablePtr table, client::open_shared(client_, "/t"));
    co_return co_await client::scan_keys(table);
  }

  TestNode& node_;
  const std::size_t lane_;
  LaneTables tables_;
  client::TableClient client_;
  SeededRandom random_{1};
};

class TwoNodesWithATable : public TwoNodes {
 protected:
  TwoNodesWithATable() {
    tablets_ = create_split_table(a_, kPivot);
    EXPECT_EQ(create_split_table(*b_, kPivot), tablets_);
    places_a_.move(tablets_[1], TabletPlace::on(b_->id()));
    places_b_.move(tablets_[0], TabletPlace::on(a_.id()));
    world().run_for(1s);
    on_a_ = std::make_unique<TableUser>(a_, 1);
    on_b_ = std::make_unique<TableUser>(*b_, 1);
  }

  std::vector<TabletId> tablets_;
  std::unique_ptr<TableUser> on_a_;
  std::unique_ptr<TableUser> on_b_;
};

TEST_F(TwoNodesWithATable, RowsOfBothAreReadAndWrittenOnEither) {
  const auto single = on_a_->write({kPivot + 1}, "by a");
  ASSERT_TRUE(single) << single.error().message();
  const auto both = on_a_->write({1, kPivot + 2}, "both, by a");
  ASSERT_TRUE(both) << both.error().message();
  const auto other = on_b_->write({2, kPivot + 3}, "both, by b");
  ASSERT_TRUE(other) << other.error().message();
  for (TableUser* user : {on_a_.get(), on_b_.get()}) {
    const auto found = user->read({1, 2, 3, kPivot + 1, kPivot + 2, kPivot + 3});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, (Texts{"both, by a", "both, by b", "-", "by a", "both, by a", "both, by b"}));
    const auto keys = user->scan();
    ASSERT_TRUE(keys) << keys.error().message();
    EXPECT_EQ(*keys, (std::vector<std::int64_t>{1, 2, kPivot + 1, kPivot + 2, kPivot + 3}));
  }
  EXPECT_TRUE(a_.node().not_ready().empty());
  EXPECT_TRUE(b_->node().not_ready().empty());
}

TEST_F(TwoNodesWithATable, WithoutAPlaceATabletIsNotHere) {
  ASSERT_TRUE(on_a_->write({kPivot + 1}, "x"));
  const auto expect_not_here = [&] {
    const auto found = on_a_->read({kPivot + 1});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::kNotHere) << found.error().message();
    const auto done = on_a_->write({kPivot + 1}, "y");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kNotHere) << done.error().message();
    const auto keys = on_a_->scan();
    ASSERT_FALSE(keys);
    EXPECT_EQ(keys.error().code, Errc::kNotHere) << keys.error().message();
  };
  places_a_.move(tablets_[1], std::nullopt);
  expect_not_here();
  // The other node does not run it either.
  places_a_.move(tablets_[1], TabletPlace::on(b_->id()));
  places_b_.move(tablets_[1], std::nullopt);
  world().run_for(1s);
  expect_not_here();
  places_b_.move(tablets_[1], 1);
  world().run_for(5s);
  EXPECT_EQ(on_a_->read({kPivot + 1}), Texts{"x"});
}

TEST_F(TwoNodesWithATable, ARestartOfOneNodeIsSurvived) {
  ASSERT_TRUE(on_a_->write({1, kPivot + 1}, "first"));
  on_b_.reset();
  b_->restart();
  world().run_for(5s);
  EXPECT_EQ(on_a_->read({1, kPivot + 1}), (Texts{"first", "first"}));
  ASSERT_TRUE(on_a_->write({1, kPivot + 1}, "second"));
  b_->cut_power();
  world().run_for(5s);
  EXPECT_EQ(on_a_->read({1, kPivot + 1}), (Texts{"second", "second"}));
  on_b_ = std::make_unique<TableUser>(*b_, 0);
  EXPECT_EQ(on_b_->read({1, kPivot + 1}), (Texts{"second", "second"}));
}

class TwoNodesWithATopic : public TwoNodes {
 protected:
  TwoNodesWithATopic() {
    std::vector<TabletId> tablets;
    topic_a_ = create(a_, tablets);
    std::vector<TabletId> same;
    topic_b_ = create(*b_, same);
    EXPECT_EQ(same, tablets);
    moved_ = tablets.at(1);
    places_a_.move(moved_, TabletPlace::on(b_->id()));
    world().run_for(1s);
  }
  static TopicPtr create(TestNode& node, std::vector<TabletId>& tablets) {
    const auto made = node.on_lane<Result<TopicPtr>>(0, [&] {
      TopicSpec spec;
      spec.partitions = 2;
      spec.config["moraine.partitions.per.tablet"] = "1";
      return node.node().topics(0).create("t", spec);
    });
    EXPECT_TRUE(made) << made.error().message();
    for (const PartitionReport& one : node.node().topics_report().topics.at(0).partitions) {
      tablets.push_back(one.tablet);
    }
    return *made;
  }
  // What the partition that b runs has.
  Texts stored() { return stored_on(*b_, topic_b_); }
  static Texts stored_on(TestNode& node, TopicPtr topic) {
    return node.on_lane<Texts>(0, [&]() -> Task<Texts> {
      Texts texts;
      const auto partition = node.node().topics(0).partition(topic->id, 1);
      EXPECT_TRUE(partition);
      while (partition && texts.size() < partition->info().end) {
        const auto page = co_await partition->read({texts.size(), 16u << 20});
        EXPECT_TRUE(page) << page.error().message();
        if (!page) break;
        for (const queue::StoredEntry& entry : page->entries) {
          texts.emplace_back(entry.payload.text());
        }
      }
      co_return texts;
    });
  }

  TopicPtr topic_a_;
  TopicPtr topic_b_;
  TabletId moved_;
};

TEST_F(TwoNodesWithATopic, MessagesOfAnotherNodeAreWrittenAndReadOnEveryLane) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    Topics& topics = a_.node().topics(lane);
    client::TopicClient user(topics, a_.lane(lane), nullptr);
    EXPECT_TRUE(topics.partition(topic_a_->id, 0));
    EXPECT_FALSE(topics.partition(topic_a_->id, 1));
    a_.on_lane<bool>(lane, [&]() -> Task<bool> {
      const Message message{.value = "hello"};
      MessageWriteOptions options;
      options.partition = 1;
      auto batch = client::encode_batch(*topic_a_, std::span(&message, 1), options, 1s, 0);
      EXPECT_TRUE(batch);
      const auto written = co_await user.write(topic_a_, std::move(*batch));
      EXPECT_TRUE(written) << written.error().message();
      EXPECT_EQ(written->offset, lane);
      const auto read = co_await user.read(topic_a_, {.partition = 1});
      EXPECT_TRUE(read) << read.error().message();
      EXPECT_EQ(read->messages.size(), lane + 1);
      EXPECT_EQ(read->messages.back().value, "hello");
      const queue::ConsumerOffset offset{"reader", lane + 1, "m", -1, 0};
      const auto committed = co_await user.commit(topic_a_, 1, offset);
      EXPECT_TRUE(committed) << committed.error().message();
      co_return true;
    });
  }
  // On each lane, what the other has changed.
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    client::TopicClient user(a_.node().topics(lane), a_.lane(lane), nullptr);
    a_.on_lane<bool>(lane, [&]() -> Task<bool> {
      const auto committed = co_await user.committed(topic_a_, 1, "reader");
      EXPECT_TRUE(committed && *committed);
      EXPECT_EQ((*committed)->offset, kLanes);
      const auto figures = co_await user.figures(topic_a_, 1);
      EXPECT_TRUE(figures);
      EXPECT_EQ(figures->end, kLanes);
      co_return true;
    });
  }
  EXPECT_EQ(b_->node().topics(0).partition(topic_b_->id, 1)->info().end, kLanes);
}

TEST_F(TwoNodesWithATopic, AReadWaitsForAMessageOfAnotherNode) {
  client::TopicClient user(a_.node().topics(1), a_.lane(1), nullptr);
  std::optional<Result<MessageBatch>> read;
  const auto wait = [&]() -> Task<void> {
    co_await yield(a_.lane(1));
    read = co_await user.read(topic_a_, {.partition = 1, .wait = 60s});
  };
  spawn(wait());
  world().run_for(20s);
  EXPECT_FALSE(read);
  b_->on_lane<bool>(0, [&]() -> Task<bool> {
    queue::WriteRequest request;
    request.payload = Slice::copy_of("late");
    const auto pending = b_->node().topics(0).partition(topic_b_->id, 1)->write(request);
    co_return (co_await *pending).status == queue::WriteStatus::kOk;
  });
  world().run_for(1s);
  ASSERT_TRUE(read && *read);
  ASSERT_EQ((*read)->messages.size(), 1u);
  EXPECT_EQ((*read)->messages[0].value, "late");
  // Nothing more comes: the wait ends at its deadline.
  const auto none = a_.on_lane<Result<MessageBatch>>(
      1, [&] { return user.read(topic_a_, {.partition = 1, .offset = 1, .wait = 3s}); });
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_TRUE(none->messages.empty());
}

TEST_F(TwoNodesWithATopic, WithoutAPlaceAPartitionIsNotHere) {
  client::TopicClient user(a_.node().topics(1), a_.lane(1), nullptr);
  const auto read = [&] {
    return a_.on_lane<Result<MessageBatch>>(1,
                                            [&] { return user.read(topic_a_, {.partition = 1}); });
  };
  EXPECT_TRUE(read());
  places_a_.move(moved_, std::nullopt);
  world().run_for(1s);
  const auto away = read();
  ASSERT_FALSE(away);
  EXPECT_EQ(away.error().code, Errc::kNotHere) << away.error().message();
  places_a_.move(moved_, TabletPlace::on(b_->id()));
  places_b_.move(moved_, std::nullopt);
  world().run_for(1s);
  const auto nowhere = read();
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::kNotHere) << nowhere.error().message();
  places_b_.move(moved_, 0);
  world().run_for(5s);
  EXPECT_TRUE(read());
}

// Writes numbered messages one after the other, each until it is stored.
struct NumberedWriter {
  std::uint64_t number = 0;
  int repeated = 0;
  bool over = false;

  Task<void> run(TestNode& node, std::size_t lane, TopicPtr topic) {
    Executor& executor = node.lane(lane);
    co_await yield(executor);
    while (!over) {
      const auto partition = node.node().topics(lane).partition_anywhere(topic->id, 1);
      queue::WriteRequest request;
      request.payload = Slice::copy_of(fmt::format("{}:{}", lane, number + 1));
      request.producer = {fmt::format("p{}", lane), queue::Numbering::kSeqNo, number + 1, 0};
      const auto pending = partition->write(std::move(request));
      const queue::WriteAnswer answer = co_await *pending;
      if (answer.status == queue::WriteStatus::kOk ||
          answer.status == queue::WriteStatus::kDuplicate) {
        ++number;
      } else {
        ++repeated;
      }
      co_await sleep_for(executor, 20ms);
    }
  }
};

TEST_F(TwoNodesWithATopic, LostMessagesAndRestartsLoseAndRepeatNothing) {
  std::array<NumberedWriter, kLanes> writers;
  TaskScope clients;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    clients.spawn(writers[lane].run(a_, lane, topic_a_));
  }
  for (int round = 0; round < 8; ++round) {
    LinkFaults& there = world().network().link(a_.id(), b_->id());
    LinkFaults& back = world().network().link(b_->id(), a_.id());
    there.loss.one_in = back.loss.one_in = round % 2 == 0 ? 5 : 0;
    there.duplicate.one_in = round % 2 == 0 ? 3 : 0;
    there.delay.one_in = round % 2 == 0 ? 10 : 0;
    there.delay_max = 3s;
    world().run_for(20s);
    round % 4 < 2 ? b_->restart() : b_->cut_power();
  }
  world().network().link(a_.id(), b_->id()) = LinkFaults();
  world().network().link(b_->id(), a_.id()) = LinkFaults();
  for (NumberedWriter& writer : writers) writer.over = true;
  for (int i = 0; i < 100 && clients.live() > 0; ++i) world().run_for(1s);
  ASSERT_EQ(clients.live(), 0u);
  std::array<std::uint64_t, kLanes> seen{};
  for (const std::string& text : stored()) {
    const auto lane = static_cast<std::size_t>(text.at(0) - '0');
    ASSERT_EQ(text, fmt::format("{}:{}", lane, ++seen.at(lane)));
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    EXPECT_GE(seen[lane], writers[lane].number);
    EXPECT_LE(seen[lane], writers[lane].number + 1);
    EXPECT_GT(writers[lane].number, 200u);
  }
}

// Keeps several numbered writes in flight, and after a failure goes back to the lowest number that
// is not known to be stored.
struct PipelinedWriter {
  static constexpr std::size_t kInFlight = 4;
  std::uint64_t stored = 0;
  int failed = 0;
  bool over = false;

  Task<void> run(TestNode& node, std::size_t lane, TopicPtr topic) {
    Executor& executor = node.lane(lane);
    co_await yield(executor);
    std::deque<std::shared_ptr<OneShot<queue::WriteAnswer>>> pending;
    while (!over || !pending.empty()) {
      while (!over && pending.size() < kInFlight) {
        const auto partition = node.node().topics(lane).partition_anywhere(topic->id, 1);
        if (!partition) break;
        queue::WriteRequest request;
        const std::uint64_t number = stored + pending.size() + 1;
        request.payload = Slice::copy_of(fmt::format("{}:{}", lane, number));
        request.producer = {fmt::format("p{}", lane), queue::Numbering::kSeqNo, number, 0};
        pending.push_back(partition->write(std::move(request)));
        co_await sleep_for(executor, 7ms);
        // A failure is seen before the next number is sent.
        if (std::ranges::any_of(pending, [](const auto& one) { return one->ready(); })) break;
      }
      if (pending.empty()) {
        co_await sleep_for(executor, 20ms);
        continue;
      }
      const queue::WriteAnswer answer = co_await *pending.front();
      pending.pop_front();
      if (answer.status == queue::WriteStatus::kOk ||
          answer.status == queue::WriteStatus::kDuplicate) {
        ++stored;
        continue;
      }
      ++failed;
      for (const auto& one : std::exchange(pending, {})) (void)co_await *one;
    }
  }
};

// The other node cannot be reached while the tablet moves here: what was in flight to it fails
// before anything newer is stored here.
TEST_F(TwoNodesWithATopic, AMoveDuringPipelinedWritesLosesNothing) {
  std::array<PipelinedWriter, kLanes> writers;
  TaskScope clients;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    clients.spawn(writers[lane].run(a_, lane, topic_a_));
  }
  // Each machine has devices of its own, so that what is stored here and there are two sequences:
  // together they have every number.
  std::map<std::size_t, std::set<std::uint64_t>> seen;
  const auto note = [&](const Texts& texts) {
    for (const std::string& text : texts) {
      seen[static_cast<std::size_t>(text.at(0) - '0')].insert(std::stoull(text.substr(2)));
    }
  };
  for (int round = 0; round < 4; ++round) {
    world().run_for(3s);
    world().network().isolate(b_->id());
    world().run_for(1s);
    places_a_.move(moved_, 1);
    world().run_for(5s);
    world().network().heal();
    places_a_.move(moved_, TabletPlace::on(b_->id()));
  }
  for (PipelinedWriter& writer : writers) writer.over = true;
  for (int i = 0; i < 100 && clients.live() > 0; ++i) world().run_for(1s);
  ASSERT_EQ(clients.live(), 0u);
  note(stored());
  places_a_.move(moved_, 1);
  world().run_for(5s);
  note(stored_on(a_, topic_a_));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    EXPECT_GT(writers[lane].stored, 200u);
    EXPECT_GT(writers[lane].failed, 0);
    for (std::uint64_t number = 1; number <= writers[lane].stored; ++number) {
      ASSERT_TRUE(seen[lane].contains(number)) << lane << ":" << number;
    }
  }
}

// A read that waits for the partition of a node that is gone goes on when that gets another place.
TEST_F(TwoNodesWithATopic, AReadThatWaitsFollowsThePartition) {
  client::TopicClient user(a_.node().topics(1), a_.lane(1), nullptr);
  std::optional<Result<MessageBatch>> read;
  const auto wait = [&]() -> Task<void> {
    co_await yield(a_.lane(1));
    read = co_await user.read(topic_a_, {.partition = 1, .wait = 120s});
  };
  spawn(wait());
  world().run_for(1s);
  world().network().isolate(b_->id());
  world().run_for(1s);
  places_a_.move(moved_, 1);
  world().run_for(5s);
  // It may have found the partition nowhere for a moment.
  const bool nowhere = read && !*read && read->error().code == Errc::kNotHere;
  EXPECT_EQ(nowhere, read.has_value());
  a_.on_lane<bool>(0, [&]() -> Task<bool> {
    queue::WriteRequest request;
    request.payload = Slice::copy_of("here");
    const auto pending = a_.node().topics(0).partition(topic_a_->id, 1)->write(request);
    co_return (co_await *pending).status == queue::WriteStatus::kOk;
  });
  world().run_for(1s);
  EXPECT_TRUE(read) << "it waits for the node that is gone";
  world().network().heal();
  user.end_waits();
  world().run_for(200s);
}

}  // namespace
}  // namespace moraine
