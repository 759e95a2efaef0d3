// What a partition promises its callers, the same for all forms: on the partition's lane, from
// another lane, and from another node.

#include <gtest/gtest.h>

#include <functional>

#include "client/partition_server.h"
#include "client/remote_partition.h"
#include "io/request_router.h"
#include "io/sim/run_on_lane.h"
#include "queue/test_queue.h"

namespace moraine {
namespace {

using queue::ConsumerOffset;
using queue::Numbering;
using queue::Offset;
using queue::Partition;
using queue::ReadAnswer;
using queue::StoredEntry;
using queue::TestQueue;
using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;
using Texts = std::vector<std::string>;

enum class Form : std::uint8_t { kSameLane, kOtherLane, kOtherNode };

class PartitionForms : public testing::TestWithParam<Form> {
 protected:
  PartitionForms() {
    if (GetParam() == Form::kOtherNode) {
      partition_ = remote_.make(queue_.storage.node().id(), TestQueue::info().id, 0);
    } else {
      partition_ = HomePartition{queue_.tablet->partition(0), &home()}.for_lane(caller());
    }
  }
  ~PartitionForms() override {
    drop_partition();
    queue_.stop();
    server_.close();
    world_.run(server_.join());
  }

  void drop_partition() {
    run<bool>([this]() -> Task<bool> {
      remote_.close();
      partition_.reset();
      co_return true;
    });
  }
  // The partition is still known.
  void stop_tablet() { world_.run(queue_.tablet->stop()); }
  // After stop_tablet().
  void boot_again() {
    drop_partition();
    queue_.tablet.reset();
    queue_.boot();
  }
  Executor& home() { return queue_.storage.world().executor; }
  // Another node calls from a lane that is not its network's.
  World caller_world() {
    SimNode& machine = GetParam() == Form::kOtherNode ? client_ : queue_.storage.node();
    return machine.lanes(2)[GetParam() == Form::kSameLane ? 0 : 1];
  }
  Executor& caller() { return caller_world().executor; }

  // Runs a call where the caller is.
  template <class T>
  T run(std::function<Task<T>()> body) {
    return run_on_lane<T>(world_, caller(), std::move(body));
  }

  // All at once; the answers in order.
  std::vector<WriteAnswer> write_all(std::vector<WriteRequest> requests) {
    return run<std::vector<WriteAnswer>>([&]() -> Task<std::vector<WriteAnswer>> {
      std::vector<std::shared_ptr<OneShot<WriteAnswer>>> pending;
      for (WriteRequest& request : requests) {
        pending.push_back(partition_->write(std::move(request)));
      }
      std::vector<WriteAnswer> answers;
      for (const auto& one : pending) answers.push_back(co_await *one);
      co_return answers;
    });
  }
  WriteAnswer write(WriteRequest request) {
    std::vector<WriteRequest> one;
    one.push_back(std::move(request));
    return write_all(std::move(one)).at(0);
  }
  WriteAnswer say(std::string_view text) { return write(TestQueue::message(text)); }
  Result<ReadAnswer> read(Offset offset, std::size_t bytes = 1u << 20,
                          std::size_t entries = 100'000) {
    return run<Result<ReadAnswer>>([&] { return partition_->read({offset, bytes, entries}); });
  }
  static Texts texts_of(const std::vector<StoredEntry>& entries) {
    Texts texts;
    for (const StoredEntry& entry : entries) texts.emplace_back(entry.payload.text());
    return texts;
  }
  Texts texts() {
    Texts all;
    for (Offset at = 0;;) {
      const auto page = read(at);
      EXPECT_TRUE(page) << page.error().message();
      if (!page || page->entries.empty()) return all;
      for (std::string& text : texts_of(page->entries)) all.push_back(std::move(text));
      at = page->entries.back().offset + page->entries.back().count;
    }
  }
  using Found = Result<std::optional<StoredEntry>>;
  // The offset that was found; nullopt: none.
  std::optional<Offset> find(std::function<Task<Found>()> call) {
    const Found found = run<Found>(std::move(call));
    EXPECT_TRUE(found) << found.error().message();
    if (!found || !*found) return std::nullopt;
    return (*found)->offset;
  }
  void refresh() {
    const auto done = run<Result<void>>([&] { return partition_->refresh(); });
    EXPECT_TRUE(done) << done.error().message();
  }
  Result<void> commit(std::string consumer, Offset offset) {
    return run<Result<void>>(
        [&] { return partition_->commit(ConsumerOffset{consumer, offset, "meta", 2, 0}); });
  }

  TestQueue queue_{21};
  SimWorld& world_ = queue_.world;
  SimNode& client_ = world_.add_node();
  RequestRouter router_{queue_.storage.world().network};
  PartitionServer server_{router_.port(kPartitionsProtocol), home(), queue_.storage.world().random,
                          [this](TabletId tablet, queue::PartitionIndex index) {
                            const bool here = queue_.tablet && tablet == TestQueue::info().id;
                            if (!here) return HomePartition();
                            return HomePartition{queue_.tablet->partition(index), &home()};
                          }};
  RemotePartitions remote_{caller_world().executor, caller_world().network};
  std::shared_ptr<Partition> partition_;
};

TEST_P(PartitionForms, MessagesGetOffsetsAndAreRead) {
  for (Offset i = 0; i < 3; ++i) {
    const WriteAnswer answer = say(fmt::format("{}", i));
    ASSERT_EQ(answer.status, WriteStatus::kOk) << answer.detail;
    EXPECT_EQ(answer.offset, i);
    EXPECT_EQ(partition_->info().end, i + 1);
  }
  const auto all = read(0);
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ(texts_of(all->entries), (Texts{"0", "1", "2"}));
  EXPECT_EQ(all->start, 0u);
  EXPECT_EQ(all->end, 3u);
  EXPECT_EQ(texts_of(read(2)->entries), Texts{"2"});
  const auto at_end = read(3);
  ASSERT_TRUE(at_end);
  EXPECT_TRUE(at_end->entries.empty());
  const auto past = read(4);
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code, Errc::kInvalidArgument);
  EXPECT_FALSE(partition_->stopped());
}

TEST_P(PartitionForms, WritesThatDoNotWaitKeepTheirOrder) {
  std::vector<WriteRequest> requests;
  Texts expected;
  for (int i = 0; i < 1'500; ++i) {
    expected.push_back(fmt::format("message {}", i));
    const bool numbered = i / 100 % 2 == 0;
    requests.push_back(numbered ? TestQueue::message(expected.back(), "me", i + 1u)
                                : TestQueue::message(expected.back()));
  }
  const auto answers = write_all(std::move(requests));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].status, WriteStatus::kOk) << answers[i].detail;
    ASSERT_EQ(answers[i].offset, i);
  }
  EXPECT_EQ(texts(), expected);
}

TEST_P(PartitionForms, DuplicatesAndGapsAreRefused) {
  EXPECT_EQ(write(TestQueue::message("a", "me", 5)).status, WriteStatus::kOk);
  const WriteAnswer again = write(TestQueue::message("a", "me", 5));
  EXPECT_EQ(again.status, WriteStatus::kDuplicate);
  EXPECT_EQ(again.offset, 0u);
  EXPECT_EQ(again.max_number, 5u);
  const auto sequence = [](std::uint64_t number, std::int32_t epoch) {
    WriteRequest request = TestQueue::message("s");
    request.producer = {"kafka", Numbering::kSequence, number, epoch};
    return request;
  };
  EXPECT_EQ(write(sequence(0, 1)).status, WriteStatus::kOk);
  EXPECT_EQ(write(sequence(0, 1)).status, WriteStatus::kDuplicate);
  EXPECT_EQ(write(sequence(7, 1)).status, WriteStatus::kOutOfOrder);
  EXPECT_EQ(write(sequence(0, 0)).status, WriteStatus::kStaleEpoch);
  EXPECT_EQ(texts(), (Texts{"a", "s"}));
  WriteRequest wrong = TestQueue::message("x");
  wrong.producer.source_id = std::string(queue::kSourceIdBytesMax + 1, 'x');
  EXPECT_EQ(write(std::move(wrong)).status, WriteStatus::kInvalid);
  wrong = TestQueue::message("x");
  wrong.count = 0;
  EXPECT_EQ(write(std::move(wrong)).status, WriteStatus::kInvalid);
}

TEST_P(PartitionForms, ReadsHaveAtMostWhatWasAskedForAndAtLeastOne) {
  for (int i = 0; i < 10; ++i) say(std::string(1'000, static_cast<char>('a' + i)));
  EXPECT_EQ(read(0, 1u << 20, 3)->entries.size(), 3u);
  const auto few = read(2, 2'500);
  ASSERT_TRUE(few);
  EXPECT_LE(few->entries.size(), 3u);
  EXPECT_GE(few->entries.size(), 1u);
  const auto one = read(2, 10);
  ASSERT_TRUE(one);
  ASSERT_EQ(one->entries.size(), 1u);
  EXPECT_EQ(one->entries[0].payload.size(), 1'000u);
}

TEST_P(PartitionForms, MessagesInPartsAreOneMessage) {
  std::vector<WriteRequest> parts;
  for (std::uint32_t i = 0; i < 3; ++i) parts.push_back(TestQueue::part("ab", "me", 1, i, 3));
  for (const WriteAnswer& answer : write_all(std::move(parts))) {
    EXPECT_EQ(answer.status, WriteStatus::kOk) << answer.detail;
  }
  EXPECT_EQ(texts(), Texts{"ababab"});
}

TEST_P(PartitionForms, EntriesAreFoundByTheirTimes) {
  EXPECT_EQ(find([&] { return partition_->find_newest(); }), std::nullopt);
  for (const std::int64_t time : {10, 50, 30}) write(TestQueue::timed("x", time));
  EXPECT_EQ(find([&] { return partition_->find_time(0); }), 0u);
  EXPECT_EQ(find([&] { return partition_->find_time(20); }), 1u);
  EXPECT_EQ(find([&] { return partition_->find_time(60); }), std::nullopt);
  EXPECT_EQ(find([&] { return partition_->find_time_from(2, 20); }), 2u);
  EXPECT_EQ(find([&] { return partition_->find_newest(); }), 1u);
}

TEST_P(PartitionForms, CommittedOffsetsOfManyConsumers) {
  constexpr Offset kConsumers = 2 * kConsumersPerReplyMax + 7;
  for (Offset i = 0; i < kConsumers; ++i) {
    ASSERT_TRUE(queue_.commit(fmt::format("c{}", i), i));
  }
  refresh();
  EXPECT_EQ(partition_->all_committed().size(), kConsumers);
  EXPECT_EQ(partition_->committed("c77")->offset, 77u);
  const auto done = commit("mine", 12);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(partition_->committed("mine")->offset, 12u);
  EXPECT_EQ(partition_->committed("mine")->metadata, "meta");
  ASSERT_TRUE(commit("mine", 3)) << "backwards";
  EXPECT_EQ(partition_->committed("mine")->offset, 3u);
  refresh();
  EXPECT_EQ(partition_->committed("mine")->offset, 3u);
  EXPECT_EQ(queue_.partition().committed("mine")->offset, 3u);
  ASSERT_TRUE(run<Result<void>>([&] { return partition_->forget_consumer("mine"); }));
  EXPECT_EQ(partition_->committed("mine"), std::nullopt);
  EXPECT_EQ(queue_.partition().committed("mine"), std::nullopt);
  const auto nameless = commit("", 1);
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().code, Errc::kInvalidArgument);
}

TEST_P(PartitionForms, ATrimHidesWhatIsBefore) {
  for (int i = 0; i < 5; ++i) say("x");
  const auto start = run<Result<Offset>>([&] { return partition_->trim(3); });
  ASSERT_TRUE(start) << start.error().message();
  EXPECT_EQ(*start, 3u);
  EXPECT_EQ(partition_->info().start, 3u);
  EXPECT_EQ(read(0)->entries.size(), 2u) << "from the start on";
  const auto past = run<Result<Offset>>([&] { return partition_->trim(6); });
  ASSERT_FALSE(past);
  EXPECT_EQ(past.error().code, Errc::kInvalidArgument);
}

TEST_P(PartitionForms, WatchersAreCalledWhenTheEndMovesAndWhenItStops) {
  int called = 0;
  std::uint64_t id = 0;
  const auto run_plain = [&](std::function<void()> body) {
    run<bool>([&]() -> Task<bool> {
      body();
      co_return true;
    });
  };
  run_plain([&] { id = partition_->watch([&] { ++called; }); });
  world_.run_for(30s);
  const int before = called;
  EXPECT_LE(before, 1) << "nothing has moved";
  queue_.say("of another");
  world_.run_for(100ms);
  EXPECT_EQ(called, before + 1);
  EXPECT_EQ(partition_->info().end, 1u);
  run_plain([&] { partition_->unwatch(id); });
  queue_.say("unseen");
  world_.run_for(10s);
  EXPECT_EQ(called, before + 1);
  run_plain([&] { id = partition_->watch([&] { ++called; }); });
  world_.run_for(1s);
  const int again = called;
  stop_tablet();
  world_.run_for(10s);
  EXPECT_GT(called, again);
  EXPECT_TRUE(partition_->stopped());
  run_plain([&] { partition_->unwatch(id); });
  boot_again();
}

TEST_P(PartitionForms, AStoppedPartitionTakesNothing) {
  say("a");
  stop_tablet();
  const WriteAnswer answer = say("b");
  EXPECT_TRUE(answer.status == WriteStatus::kStopped || answer.status == WriteStatus::kUnknown);
  EXPECT_FALSE(read(0));
  EXPECT_FALSE(commit("c", 1));
  boot_again();
  EXPECT_EQ(queue_.texts(), Texts{"a"});
}

INSTANTIATE_TEST_SUITE_P(Forms, PartitionForms,
                         testing::Values(Form::kSameLane, Form::kOtherLane, Form::kOtherNode),
                         [](const auto& form) -> std::string {
                           if (form.param == Form::kOtherNode) return "OtherNode";
                           return form.param == Form::kSameLane ? "SameLane" : "OtherLane";
                         });

}  // namespace
}  // namespace moraine
