// A partition on one node, its users on another: messages are lost, delayed and repeated, and the
// partition is started again.

#include "client/remote_partition.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "client/change_sessions.h"
#include "client/partition_server.h"
#include "io/request_router.h"
#include "queue/test_queue.h"

namespace moraine {
namespace {

using queue::ConsumerOffset;
using queue::Numbering;
using queue::Offset;
using queue::StoredEntry;
using queue::TestQueue;
using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;
using Texts = std::vector<std::string>;
using Pending = std::shared_ptr<OneShot<WriteAnswer>>;

class RemotePartitionTest : public testing::Test {
 protected:
  ~RemotePartitionTest() override {
    there() = back() = LinkFaults();
    world_.network().heal();
    remote_.close();
    partition_.reset();
    world_.run_for(20s);
    queue_.stop();
    server_.close();
    world_.run(server_.join());
  }

  LinkFaults& there() { return world_.network().link(client_.id(), queue_.storage.node().id()); }
  LinkFaults& back() { return world_.network().link(queue_.storage.node().id(), client_.id()); }
  void lose_some() {
    there().loss.one_in = 6;
    back().loss.one_in = 6;
    there().duplicate.one_in = 3;
    there().delay.one_in = 3;
    there().delay_max = 10s;
  }

  template <class T>
  T run(std::function<Task<T>()> body) {
    return world_.run(on_client<T>(std::move(body)));
  }
  template <class T>
  Task<T> on_client(std::function<Task<T>()> body) {
    co_await yield(client_.world().executor);
    T result = co_await body();
    co_await yield(world_.executor());
    co_return result;
  }
  static Task<WriteAnswer> answer_of(Pending pending) { co_return co_await *pending; }
  Pending send(WriteRequest request) {
    return run<Pending>(
        [&]() -> Task<Pending> { co_return partition_->write(std::move(request)); });
  }
  WriteAnswer wait(const Pending& pending) {
    return run<WriteAnswer>([&] { return answer_of(pending); });
  }
  WriteAnswer write(WriteRequest request) { return wait(send(std::move(request))); }
  Result<void> commit(Offset offset) {
    return run<Result<void>>(
        [&] { return partition_->commit(ConsumerOffset{"reader", offset, "", -1, 0}); });
  }
  // A request as another client would send it.
  PartitionReply call(PartitionCall made) {
    const PartitionRequest request{TestQueue::info().id, 0, 1'000'000, std::move(made)};
    const auto frame = run<Result<Slice>>([&] {
      return client_.world().network.call(queue_.storage.node().id(), encode(request),
                                          world_.executor().now() + 5s);
    });
    EXPECT_TRUE(frame) << frame.error().message();
    auto reply = decode_partition_reply(*frame);
    EXPECT_TRUE(reply) << reply.error().message();
    return std::move(*reply);
  }
  static WriteCall write_call(ChangeNumber change, std::string_view text) {
    WriteCall made;
    made.change = change;
    made.writes.push_back(TestQueue::message(text));
    return made;
  }

  TestQueue queue_{33};
  SimWorld& world_ = queue_.world;
  SimNode& client_ = world_.add_node();
  RequestRouter router_{queue_.storage.world().network};
  PartitionServer server_{
      router_.port(kPartitionsProtocol), queue_.storage.world().executor,
      queue_.storage.world().random, [this](TabletId, queue::PartitionIndex index) {
        if (!queue_.tablet) return HomePartition();
        return HomePartition{queue_.tablet->partition(index), &queue_.storage.world().executor};
      }};
  RemotePartitions remote_{client_.world().executor, client_.world().network};
  std::shared_ptr<RemotePartition> partition_ =
      remote_.make(queue_.storage.node().id(), TestQueue::info().id, 0);
};

TEST_F(RemotePartitionTest, ALostAnswerOfAWriteWithoutANumberIsAnUnknownOutcome) {
  ASSERT_EQ(write(TestQueue::message("a")).status, WriteStatus::kOk);
  world_.network().block(queue_.storage.node().id(), client_.id());
  const Pending lost = send(TestQueue::message("b"));
  world_.run_for(1s);
  const Pending behind = send(TestQueue::message("c"));
  EXPECT_EQ(wait(lost).status, WriteStatus::kUnknown);
  EXPECT_EQ(wait(behind).status, WriteStatus::kFailedBefore);
  world_.run_for(60s);
  world_.network().heal();
  const WriteAnswer next = write(TestQueue::message("d"));
  EXPECT_EQ(next.status, WriteStatus::kOk) << next.detail;
  EXPECT_EQ(queue_.texts(), (Texts{"a", "b", "d"})) << "sent once, and never again";
}

TEST_F(RemotePartitionTest, AWriteWithANumberIsSentAgainAndStoredOnce) {
  ASSERT_EQ(write(TestQueue::message("a", "me", 1)).status, WriteStatus::kOk);
  world_.network().block(queue_.storage.node().id(), client_.id());
  const Pending lost = send(TestQueue::message("b", "me", 2));
  world_.run_for(6s);
  EXPECT_FALSE(lost->ready());
  world_.network().heal();
  const WriteAnswer answer = wait(lost);
  EXPECT_EQ(answer.status, WriteStatus::kOk) << "the answer of the first delivery";
  EXPECT_EQ(answer.offset, 1u);
  EXPECT_EQ(queue_.texts(), (Texts{"a", "b"}));
}

TEST_F(RemotePartitionTest, AWriteWithANumberReachesTheNextIncarnation) {
  ASSERT_EQ(write(TestQueue::message("a", "me", 1)).status, WriteStatus::kOk);
  world_.network().block(queue_.storage.node().id(), client_.id());
  const Pending lost = send(TestQueue::message("b", "me", 2));
  world_.run_for(1s);
  queue_.restart();
  world_.network().heal();
  const WriteAnswer answer = wait(lost);
  EXPECT_EQ(answer.status, WriteStatus::kDuplicate);
  EXPECT_EQ(answer.offset, 1u);
  EXPECT_EQ(queue_.texts(), (Texts{"a", "b"}));
}

TEST_F(RemotePartitionTest, ANodeThatCannotBeReachedTakesNothing) {
  world_.network().isolate(queue_.storage.node().id());
  const Pending first = send(TestQueue::message("a", "me", 1));
  const Pending second = send(TestQueue::message("b", "me", 2));
  EXPECT_EQ(wait(first).status, WriteStatus::kStopped);
  EXPECT_EQ(wait(second).status, WriteStatus::kFailedBefore);
  const auto read = run<Result<queue::ReadAnswer>>([&] { return partition_->read({0, 100}); });
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().code == Errc::kTimeout || read.error().code == Errc::kUnavailable);
  world_.network().heal();
  // A later number is not stored before the refused ones were sent again.
  EXPECT_EQ(write(TestQueue::message("c", "me", 3)).status, WriteStatus::kFailedBefore);
  EXPECT_EQ(write(TestQueue::message("a", "me", 1)).status, WriteStatus::kOk);
  EXPECT_EQ(write(TestQueue::message("b", "me", 2)).status, WriteStatus::kOk);
  EXPECT_EQ(write(TestQueue::message("c", "me", 3)).status, WriteStatus::kOk);
  EXPECT_EQ(queue_.texts(), (Texts{"a", "b", "c"}));
}

// Writes one message after the other, each until it is known to be stored.
TEST_F(RemotePartitionTest, LostRepeatedAndLateMessagesStoreEveryNumberOnce) {
  lose_some();
  Texts expected;
  for (std::uint64_t i = 1; i <= 120; ++i) {
    expected.push_back(fmt::format("{}", i));
    for (;;) {
      const WriteAnswer answer = write(TestQueue::message(expected.back(), "me", i));
      if (answer.status == WriteStatus::kOk || answer.status == WriteStatus::kDuplicate) break;
      ASSERT_TRUE(answer.status == WriteStatus::kUnknown || answer.status == WriteStatus::kStopped)
          << to_string(answer.status) << ": " << answer.detail;
    }
    if (i % 40 == 0) queue_.restart();
  }
  EXPECT_EQ(queue_.texts(), expected);
}

TEST_F(RemotePartitionTest, LostRepeatedAndLateMessagesStoreNothingTwice) {
  lose_some();
  std::map<std::string, WriteAnswer> answers;
  std::map<WriteStatus, int> statuses;
  for (int i = 0; i < 150; ++i) {
    std::vector<Pending> pending;
    for (int j = 0; j < 3; ++j)
      pending.push_back(send(TestQueue::message(fmt::format("{}:{}", i, j))));
    for (int j = 0; j < 3; ++j) {
      const WriteAnswer answer = wait(pending[static_cast<std::size_t>(j)]);
      answers[fmt::format("{}:{}", i, j)] = answer;
      ++statuses[answer.status];
    }
    if (i % 40 == 39) queue_.restart();
  }
  EXPECT_GT(statuses[WriteStatus::kOk], 100);
  EXPECT_GT(statuses[WriteStatus::kUnknown], 0);
  const Texts stored = queue_.texts();
  EXPECT_EQ(std::set<std::string>(stored.begin(), stored.end()).size(), stored.size());
  const std::set<std::string> present(stored.begin(), stored.end());
  for (const auto& [text, answer] : answers) {
    if (answer.status == WriteStatus::kOk) {
      ASSERT_LT(answer.offset.value(), stored.size());
      EXPECT_EQ(stored[*answer.offset], text);
    } else if (answer.status != WriteStatus::kUnknown) {
      EXPECT_FALSE(present.contains(text)) << to_string(answer.status);
    }
  }
}

TEST_F(RemotePartitionTest, AnOlderCommitNeverComesAfterANewerOne) {
  lose_some();
  Offset last = 0;
  for (Offset i = 1; i <= 100; ++i) {
    const auto done = commit(i);
    if (done) last = i;
    const auto stored = queue_.partition().committed("reader");
    if (done) {
      ASSERT_TRUE(stored);
      ASSERT_EQ(stored->offset, i);
    } else if (done.error().code != Errc::kUnknownOutcome) {
      ASSERT_TRUE(!stored || stored->offset < i) << done.error().message();
    }
    if (stored) {
      ASSERT_GE(stored->offset, last);
    }
  }
  EXPECT_GT(last, 50u);
  world_.run_for(30s);
  EXPECT_GE(queue_.partition().committed("reader")->offset, last);
}

TEST_F(RemotePartitionTest, ReadsAreRepeatedUntilTheyAreAnswered) {
  Texts expected;
  for (int i = 0; i < 20; ++i) {
    expected.push_back(fmt::format("{}", i));
    queue_.say(expected.back());
  }
  lose_some();
  int answered = 0;
  for (int i = 0; i < 30; ++i) {
    const auto read =
        run<Result<queue::ReadAnswer>>([&] { return partition_->read({0, 1u << 20}); });
    if (!read) continue;
    ++answered;
    Texts texts;
    for (const StoredEntry& entry : read->entries) texts.emplace_back(entry.payload.text());
    EXPECT_EQ(texts, expected);
  }
  EXPECT_GT(answered, 20);
}

TEST_F(RemotePartitionTest, WatchersAreCalledAfterARestartOfThePartition) {
  int called = 0;
  const auto id = run<std::uint64_t>(
      [&]() -> Task<std::uint64_t> { co_return partition_->watch([&] { ++called; }); });
  world_.run_for(1s);
  for (int round = 0; round < 3; ++round) {
    queue_.restart();
    world_.run_for(10s);
    EXPECT_FALSE(partition_->stopped());
    const int before = called;
    queue_.say("x");
    world_.run_for(1s);
    EXPECT_EQ(called, before + 1) << round;
    EXPECT_EQ(partition_->info().end, queue_.partition().info().end);
  }
  run<bool>([&]() -> Task<bool> {
    partition_->unwatch(id);
    co_return true;
  });
}

TEST_F(RemotePartitionTest, BytesInFlightToANodeAreBounded) {
  world_.network().isolate(queue_.storage.node().id());
  const Slice long_payload = Buffer::zeroed(queue::kPayloadBytesMax).freeze();
  std::vector<Pending> pending;
  for (int i = 0; i < 6; ++i) {
    WriteRequest request;
    request.payload = long_payload;
    pending.push_back(send(std::move(request)));
  }
  EXPECT_FALSE(pending[4]->ready());
  ASSERT_TRUE(pending[5]->ready());
  EXPECT_EQ(wait(pending[5]).status, WriteStatus::kOverloaded);
  const auto read =
      run<Result<queue::ReadAnswer>>([&] { return partition_->read({0, 100u << 20}); });
  EXPECT_FALSE(read);
  for (int i = 0; i < 5; ++i)
    EXPECT_NE(wait(pending[static_cast<std::size_t>(i)]).status, WriteStatus::kOk);
  world_.network().heal();
  EXPECT_EQ(write(TestQueue::message("a")).status, WriteStatus::kOk) << "released";
}

TEST_F(RemotePartitionTest, TheServerCarriesOutAChangeOnceAndInItsSession) {
  const PartitionReply opened = call(OpenSessionCall{});
  ASSERT_EQ(opened.refusal, Refusal::kNone);
  const ChangeNumber first{{opened.incarnation, opened.session}, 1};
  const PartitionReply a = call(write_call(first, "a"));
  ASSERT_EQ(a.answers.size(), 1u);
  EXPECT_EQ(a.answers[0].offset, 0u);
  const PartitionReply again = call(write_call(first, "a"));
  ASSERT_EQ(again.answers.size(), 1u);
  EXPECT_EQ(again.answers[0].offset, 0u);
  ChangeNumber other = first;
  other.number = 3;
  EXPECT_EQ(call(write_call(other, "gap")).refusal, Refusal::kStaleSession);
  other = first;
  other.in.session += 100;
  EXPECT_EQ(call(write_call(other, "unknown")).refusal, Refusal::kStaleSession);
  other = first;
  ++other.in.incarnation;
  EXPECT_EQ(call(write_call(other, "incarnation")).refusal, Refusal::kStaleSession);
  const PartitionReply next = call(OpenSessionCall{{opened.incarnation, opened.session}});
  EXPECT_NE(next.session, opened.session);
  other = first;
  other.number = 2;
  EXPECT_EQ(call(write_call(other, "late")).refusal, Refusal::kStaleSession);
  EXPECT_EQ(call(TrimCall{first, 1}).refusal, Refusal::kStaleSession);
  EXPECT_EQ(queue_.texts(), Texts{"a"});
  queue_.stop();
  EXPECT_EQ(call(OpenSessionCall{}).refusal, Refusal::kNotHere);
  queue_.boot();
}

TEST_F(RemotePartitionTest, IdleSessionsAreClosedAndLoseNothing) {
  ASSERT_EQ(write(TestQueue::message("a")).status, WriteStatus::kOk);
  ASSERT_TRUE(commit(1));
  const PartitionReply oldest = call(OpenSessionCall{});
  for (std::size_t i = 0; i < kChangeSessionsMax; ++i) {
    ASSERT_EQ(call(OpenSessionCall{}).refusal, Refusal::kNone);
  }
  const ChangeNumber change{{oldest.incarnation, oldest.session}, 1};
  const PartitionReply stale = call(write_call(change, "b"));
  EXPECT_EQ(stale.refusal, Refusal::kStaleSession);
  EXPECT_EQ(stale.last_change, 0u) << "it is known not to be carried out";
  EXPECT_EQ(write(TestQueue::message("c")).status, WriteStatus::kOk);
  EXPECT_EQ(queue_.texts(), (Texts{"a", "c"}));
}

// The session of an idle object belongs to the incarnation before: what that is refused for was not
// sent to this one.
TEST_F(RemotePartitionTest, TheFirstChangeAfterARestartIsCarriedOut) {
  ASSERT_EQ(write(TestQueue::message("a")).status, WriteStatus::kOk);
  queue_.restart();
  const WriteAnswer answer = write(TestQueue::message("b"));
  EXPECT_EQ(answer.status, WriteStatus::kOk) << answer.detail;
  queue_.restart();
  const auto done = commit(1);
  EXPECT_TRUE(done) << done.error().message();
  EXPECT_EQ(queue_.texts(), (Texts{"a", "b"}));
  queue_.stop();
  EXPECT_EQ(write(TestQueue::message("c")).status, WriteStatus::kStopped);
  const auto nowhere = commit(2);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Errc::kNotHere) << nowhere.error().message();
  queue_.boot();
}

}  // namespace
}  // namespace moraine
