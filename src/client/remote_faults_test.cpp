// A remote partition against one that a test scripts, and against nodes that answer wrongly.

#include <gtest/gtest.h>

#include <functional>

#include "base/coding.h"
#include "base/sealed.h"
#include "client/change_sessions.h"
#include "client/partition_server.h"
#include "client/remote_partition.h"
#include "io/request_router.h"
#include "io/sim/sim_world.h"

namespace moraine {
namespace {

using queue::ConsumerOffset;
using queue::StoredEntry;
using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;
using Pending = std::shared_ptr<OneShot<WriteAnswer>>;
using Texts = std::vector<std::string>;

constexpr TabletId kTablet{7};

// Keeps everything in memory. Writes and reads may be held until the test releases them.
class ScriptedPartition final : public queue::Partition {
 public:
  explicit ScriptedPartition(Executor& executor) : released_(executor) {}

  std::deque<WriteStatus> statuses;  // The next answers; then kOk.
  bool hold = false;
  Texts texts;
  std::vector<StoredEntry> entries;
  std::map<std::string, ConsumerOffset> consumers;

  void release() {
    hold = false;
    released_.notify_all();
    for (const auto& [answer, status] : std::exchange(held_, {})) set(answer, status);
  }
  void move() {
    ++end_;
    notify();
  }
  void stop() {
    stopped_ = true;
    notify();
  }

  Pending write(WriteRequest request) override {
    const auto answer = std::make_shared<OneShot<WriteAnswer>>();
    WriteStatus status = WriteStatus::kOk;
    if (!statuses.empty()) status = statuses.front();
    if (!statuses.empty()) statuses.pop_front();
    if (status == WriteStatus::kOk) texts.emplace_back(request.payload.text());
    if (hold) {
      held_.emplace_back(answer, status);
    } else {
      set(answer, status);
    }
    return answer;
  }
  Task<Result<queue::ReadAnswer>> read(queue::ReadRequest request) override {
    while (hold) co_await released_.wait();
    queue::ReadAnswer answer;
    answer.end = end_;
    for (const StoredEntry& entry : entries) {
      if (entry.offset >= request.offset) answer.entries.push_back(entry);
    }
    co_return answer;
  }
  Task<Result<std::optional<StoredEntry>>> find_time(std::int64_t) override {
    co_return std::optional<StoredEntry>();
  }
  Task<Result<std::optional<StoredEntry>>> find_newest() override {
    while (hold) co_await released_.wait();
    if (entries.empty()) co_return std::optional<StoredEntry>();
    co_return std::optional(entries.back());
  }
  Task<Result<void>> commit(ConsumerOffset offset) override {
    consumers[offset.consumer] = offset;
    co_return Result<void>();
  }
  std::optional<ConsumerOffset> committed(const std::string& consumer) const override {
    const auto found = consumers.find(consumer);
    if (found == consumers.end()) return std::nullopt;
    return found->second;
  }
  std::vector<ConsumerOffset> all_committed() const override {
    std::vector<ConsumerOffset> all;
    for (const auto& [name, offset] : consumers) all.push_back(offset);
    return all;
  }
  Task<Result<void>> forget_consumer(std::string consumer) override {
    consumers.erase(consumer);
    co_return Result<void>();
  }
  Task<Result<queue::Offset>> trim(queue::Offset offset) override { co_return offset; }
  queue::PartitionInfo info() const override {
    queue::PartitionInfo info;
    info.end = end_;
    return info;
  }
  void configure(queue::PartitionConfig) override {}
  std::uint64_t watch(Callback moved) override {
    watches_.emplace(++last_watch_, std::make_shared<Callback>(std::move(moved)));
    return last_watch_;
  }
  void unwatch(std::uint64_t watch) override { watches_.erase(watch); }
  bool stopped() const override { return stopped_; }
  std::size_t watches() const { return watches_.size(); }

 private:
  static void set(const Pending& answer, WriteStatus status) {
    WriteAnswer made;
    made.status = status;
    answer->set(made);
  }
  void notify() {
    const auto called = watches_;
    for (const auto& [id, callback] : called) (*callback)();
  }

  Event released_;
  std::vector<std::pair<Pending, WriteStatus>> held_;
  std::map<std::uint64_t, std::shared_ptr<Callback>> watches_;
  std::uint64_t last_watch_ = 0;
  queue::Offset end_ = 0;
  bool stopped_ = false;
};

class RemoteFaults : public testing::Test {
 protected:
  RemoteFaults() {
    for (int i = 0; i < 50; ++i) {
      partitions_.push_back(std::make_shared<ScriptedPartition>(there_.world().executor));
    }
  }
  ~RemoteFaults() override {
    world_.network().heal();
    for (const auto& one : partitions_) one->release();
    world_.run(on_client<bool>([this]() -> Task<bool> {
      co_await remote_.stop();
      co_return true;
    }));
    partition_.reset();
    server_.close();
    world_.run(server_.join());
    world_.shutdown();
  }

  ScriptedPartition& scripted() { return *partitions_[0]; }
  template <class T>
  Task<T> on_client(std::function<Task<T>()> body) {
    co_await yield(client_.world().executor);
    T result = co_await body();
    co_await yield(world_.executor());
    co_return result;
  }
  template <class T>
  T run(std::function<Task<T>()> body) {
    return world_.run(on_client<T>(std::move(body)));
  }
  void run_plain(std::function<void()> body) {
    run<bool>([&]() -> Task<bool> {
      body();
      co_return true;
    });
  }
  // The result when it has ended.
  template <class T>
  std::shared_ptr<std::optional<T>> begin(std::function<Task<T>()> body) {
    auto result = std::make_shared<std::optional<T>>();
    spawn(keep<T>(on_client<T>(std::move(body)), result));
    world_.run_for(1ms);
    return result;
  }
  template <class T>
  static Task<void> keep(Task<T> task, std::shared_ptr<std::optional<T>> result) {
    *result = co_await std::move(task);
  }

  static WriteRequest message(std::string_view text, std::uint64_t number = 0) {
    WriteRequest request;
    request.payload = Slice::copy_of(text);
    if (number > 0) request.producer = {"me", queue::Numbering::kSeqNo, number, 0};
    return request;
  }
  Pending send(WriteRequest request) {
    return run<Pending>(
        [&]() -> Task<Pending> { co_return partition_->write(std::move(request)); });
  }
  static Task<WriteAnswer> answer_of(Pending pending) { co_return co_await *pending; }
  WriteAnswer wait(const Pending& pending) {
    return run<WriteAnswer>([&] { return answer_of(pending); });
  }
  WriteStatus write(WriteRequest request) { return wait(send(std::move(request))).status; }
  Result<void> commit(queue::Offset offset) {
    return run<Result<void>>(
        [&] { return partition_->commit(ConsumerOffset{"reader", offset, "", -1, 0}); });
  }
  // A request as another client would send it.
  Task<Result<Slice>> raw(PartitionCall made, std::uint32_t timeout_us = 3'000'000) {
    const PartitionRequest request{kTablet, 0, timeout_us, std::move(made)};
    return client_.world().network.call(there_.id(), encode(request), world_.executor().now() + 4s);
  }
  PartitionReply call(PartitionCall made, std::uint32_t timeout_us = 3'000'000) {
    return decoded(run<Result<Slice>>([&] { return raw(std::move(made), timeout_us); }));
  }
  static PartitionReply decoded(const Result<Slice>& frame) {
    EXPECT_TRUE(frame) << frame.error().message();
    if (!frame) return {};
    auto reply = decode_partition_reply(*frame);
    EXPECT_TRUE(reply) << reply.error().message();
    return reply ? std::move(*reply) : PartitionReply();
  }
  static WriteCall write_call(const PartitionReply& opened, std::uint64_t number) {
    WriteCall made;
    made.change = {{opened.incarnation, opened.session}, number};
    made.writes.push_back(message(fmt::format("raw {}", number)));
    return made;
  }

  SimWorld world_{5};
  SimNode& there_ = world_.add_node();
  SimNode& client_ = world_.add_node();
  std::vector<std::shared_ptr<ScriptedPartition>> partitions_;
  RequestRouter router_{there_.world().network};
  PartitionServer server_{router_.port(kPartitionsProtocol), there_.world().executor,
                          there_.world().random, [this](TabletId, queue::PartitionIndex index) {
                            if (index >= partitions_.size()) return HomePartition();
                            return HomePartition{partitions_[index], &there_.world().executor};
                          }};
  RemotePartitions remote_{client_.world().executor, client_.world().network};
  std::shared_ptr<RemotePartition> partition_ = remote_.make(there_.id(), kTablet, 0);
};

TEST_F(RemoteFaults, AWriteThatFailedThereIsSentAgainBeforeALaterOne) {
  for (const WriteStatus failure :
       {WriteStatus::kUnknown, WriteStatus::kStopped, WriteStatus::kFailedBefore}) {
    const std::uint64_t number = 10 * (static_cast<std::uint64_t>(failure) + 1);
    scripted().texts.clear();
    scripted().statuses = {failure};
    EXPECT_EQ(write(message("5", number)), failure);
    EXPECT_EQ(write(message("6", number + 1)), WriteStatus::kFailedBefore);
    EXPECT_EQ(write(message("5", number)), WriteStatus::kOk);
    EXPECT_EQ(write(message("6", number + 1)), WriteStatus::kOk);
    EXPECT_EQ(scripted().texts, (Texts{"5", "6"}));
  }
}

TEST_F(RemoteFaults, AbandonAnswersEverythingBeforeItReturns) {
  ASSERT_EQ(write(message("4", 4)), WriteStatus::kOk);
  int called = 0;
  run_plain([&] { partition_->watch([&] { ++called; }); });
  world_.run_for(1s);
  world_.network().isolate(there_.id());
  const Pending first = send(message("5", 5));
  world_.run_for(1s);
  const Pending second = send(message("6", 6));
  const auto committed = begin<Result<void>>(
      [&] { return partition_->commit(ConsumerOffset{"reader", 1, "", -1, 0}); });
  EXPECT_FALSE(first->ready());
  const int before = called;
  run_plain([&] {
    partition_->abandon();
    EXPECT_TRUE(first->ready());
    EXPECT_TRUE(second->ready());
    EXPECT_EQ(called, before + 1);
  });
  EXPECT_EQ(wait(first).status, WriteStatus::kUnknown);
  EXPECT_EQ(wait(second).status, WriteStatus::kFailedBefore);
  ASSERT_TRUE(*committed);
  EXPECT_EQ((*committed)->error().code, Errc::kNotHere);
  EXPECT_TRUE(partition_->stopped());
  EXPECT_EQ(write(message("7", 7)), WriteStatus::kStopped);
  const auto read = run<Result<queue::ReadAnswer>>([&] { return partition_->read({0, 100}); });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kNotHere);
}

// What an abandoned object has in flight is carried out before the changes of the next one.
TEST_F(RemoteFaults, TheNextObjectClosesTheSessionOfAnAbandonedOne) {
  ASSERT_EQ(write(message("a")), WriteStatus::kOk);
  scripted().hold = true;
  const Pending held = send(message("b"));
  world_.run_for(100ms);
  run_plain([&] { partition_->abandon(); });
  EXPECT_EQ(wait(held).status, WriteStatus::kUnknown);
  partition_ = remote_.make(there_.id(), kTablet, 0);
  const auto next = begin<Result<void>>(
      [&] { return partition_->commit(ConsumerOffset{"reader", 9, "", -1, 0}); });
  world_.run_for(1s);
  EXPECT_FALSE(*next) << "the write is in flight";
  scripted().release();
  world_.run_for(6s);
  ASSERT_TRUE(*next);
  EXPECT_TRUE(**next) << (**next).error().message();
}

TEST_F(RemoteFaults, ARefreshFindsWhatOthersCommittedAfterAChangeOfThisObject) {
  world_.network().block(client_.id(), there_.id());
  const auto slow = begin<Result<void>>([&] { return partition_->refresh(); });
  world_.run_for(100ms);
  world_.network().heal();
  ASSERT_TRUE(commit(5));
  scripted().consumers["reader"].offset = 9;
  ASSERT_FALSE(*slow) << "its first message was lost";
  ASSERT_TRUE(run<Result<void>>([&] { return partition_->refresh(); }));
  EXPECT_EQ(partition_->committed("reader")->offset, 9u);
  world_.run_for(10s);
  ASSERT_TRUE(*slow);
  EXPECT_EQ(partition_->committed("reader")->offset, 9u);
}

// The reply of the refresh comes late, after a newer change was answered.
TEST_F(RemoteFaults, ALateReplyDoesNotHideANewerChange) {
  ASSERT_TRUE(commit(1));
  LinkFaults& back = world_.network().link(there_.id(), client_.id());
  back.latency_min = back.latency_max = 2s;
  const auto late = begin<Result<void>>([&] { return partition_->refresh(); });
  world_.run_for(100ms);
  back = LinkFaults();
  ASSERT_TRUE(commit(2));
  ASSERT_TRUE(run<Result<void>>([&] { return partition_->forget_consumer("gone"); }));
  ASSERT_FALSE(*late);
  world_.run_for(5s);
  ASSERT_TRUE(*late && **late);
  EXPECT_EQ(partition_->committed("reader")->offset, 2u);
}

TEST_F(RemoteFaults, OneConsumerAndTheFiguresAreRefreshedAlone) {
  scripted().consumers["a"] = {"a", 1, "", -1, 0};
  scripted().consumers["b"] = {"b", 2, "", -1, 0};
  ASSERT_TRUE(run<Result<void>>([&] { return partition_->refresh_committed("b"); }));
  EXPECT_EQ(partition_->committed("b")->offset, 2u);
  EXPECT_EQ(partition_->all_committed().size(), 1u);
  scripted().consumers.erase("b");
  ASSERT_TRUE(run<Result<void>>([&] { return partition_->refresh_committed("b"); }));
  EXPECT_EQ(partition_->committed("b"), std::nullopt);
  scripted().move();
  ASSERT_TRUE(run<Result<void>>([&] { return partition_->refresh_info(); }));
  EXPECT_EQ(partition_->info().end, 1u);
  EXPECT_TRUE(partition_->all_committed().empty());
}

TEST_F(RemoteFaults, RepeatedOpensWaitForTheChangeAndShareASession) {
  const PartitionReply opened = call(OpenSessionCall{});
  scripted().hold = true;
  const auto held = begin<Result<Slice>>([&] { return raw(write_call(opened, 1)); });
  const OpenSessionCall next{{opened.incarnation, opened.session}};
  const auto first = begin<Result<Slice>>([&] { return raw(next); });
  const auto second = begin<Result<Slice>>([&] { return raw(next); });
  world_.run_for(100ms);
  EXPECT_FALSE(*first);
  EXPECT_FALSE(*second) << "the write is in flight";
  scripted().release();
  world_.run_for(100ms);
  ASSERT_TRUE(*first && *second && *held);
  const PartitionReply one = decoded(**first);
  EXPECT_NE(one.session, 0u);
  EXPECT_EQ(one.last_change, 1u);
  EXPECT_EQ(decoded(**second).session, one.session);
}

TEST_F(RemoteFaults, RepeatedChangesThatWaitAreBoundedAndKeepNoPayloads) {
  const PartitionReply opened = call(OpenSessionCall{});
  scripted().hold = true;
  WriteCall large = write_call(opened, 1);
  large.writes[0].payload = Buffer::zeroed(1u << 20).freeze();
  std::vector<std::shared_ptr<std::optional<Result<Slice>>>> sent;
  for (std::size_t i = 0; i < kRepeatsWaitingMax + 2; ++i) {
    sent.push_back(begin<Result<Slice>>([&] { return raw(large); }));
    world_.run_for(50ms);
  }
  EXPECT_LT(server_.bytes(), 2u << 20);
  ASSERT_TRUE(*sent.back());
  EXPECT_EQ(decoded(**sent.back()).refusal, Refusal::kOverloaded);
  EXPECT_FALSE(*sent[kRepeatsWaitingMax]);
  scripted().release();
  world_.run_for(100ms);
  ASSERT_TRUE(*sent[kRepeatsWaitingMax]);
  EXPECT_EQ(decoded(**sent[kRepeatsWaitingMax]).answers.size(), 1u);
  EXPECT_EQ(scripted().texts.size(), 1u);
}

TEST_F(RemoteFaults, WhatComesTooLateIsNotBegun) {
  const PartitionReply opened = call(OpenSessionCall{});
  EXPECT_EQ(call(write_call(opened, 1), 0).refusal, Refusal::kExpired);
  EXPECT_EQ(call(ReadCall{0, 1, 1, 1000}, 0).refusal, Refusal::kExpired);
  EXPECT_TRUE(scripted().texts.empty());
  EXPECT_EQ(call(write_call(opened, 1)).refusal, Refusal::kNone) << "the number is free";
  EXPECT_EQ(scripted().texts, Texts{"raw 1"});
}

TEST_F(RemoteFaults, ASessionIsClosedAtOnceAfterAnUnknownOutcome) {
  ASSERT_EQ(write(message("a")), WriteStatus::kOk);
  const PartitionReply other = call(OpenSessionCall{});
  PartitionReply own = other;
  own.session = 1;
  world_.network().block(there_.id(), client_.id());
  const Pending lost = send(message("b"));
  EXPECT_EQ(wait(lost).status, WriteStatus::kUnknown);
  world_.network().heal();
  world_.run_for(1s);
  EXPECT_EQ(call(write_call(own, 3)).refusal, Refusal::kStaleSession);
  EXPECT_EQ(call(write_call(other, 1)).refusal, Refusal::kNone);
}

TEST_F(RemoteFaults, ManyWatchedPartitionsAreOneRequest) {
  std::vector<std::shared_ptr<RemotePartition>> watched;
  std::vector<int> called(partitions_.size());
  run_plain([&] {
    for (queue::PartitionIndex i = 0; i < partitions_.size(); ++i) {
      watched.push_back(remote_.make(there_.id(), kTablet, i));
      watched.back()->watch([&called, i] { ++called[i]; });
    }
  });
  world_.run_for(10s);
  EXPECT_EQ(server_.calls(), 1u);
  EXPECT_EQ(called, std::vector<int>(partitions_.size(), 1)) << "the first reply";
  partitions_[17]->move();
  world_.run_for(100ms);
  EXPECT_EQ(called[17], 2);
  EXPECT_EQ(watched[17]->info().end, 1u);
  EXPECT_EQ(called[16], 1);
  // Another one is watched while the wait is in flight.
  int late = 0;
  run_plain([&] { partition_->watch([&] { ++late; }); });
  world_.run_for(100ms);
  EXPECT_EQ(late, 1);
  EXPECT_EQ(server_.calls(), 1u);
  partitions_[3]->stop();
  world_.run_for(100ms);
  EXPECT_EQ(called[3], 2);
  EXPECT_TRUE(watched[3]->stopped());
  EXPECT_EQ(partitions_[3]->watches(), 0u);
  world_.run_for(10s);
  EXPECT_EQ(called[3], 2) << "that it does not run is known";
}

TEST_F(RemoteFaults, WaitsOfANodeAreBounded) {
  std::vector<std::shared_ptr<std::optional<Result<Slice>>>> sent;
  const PartitionReply known = call(OpenSessionCall{});
  for (std::size_t i = 0; i <= kPartitionWaitsMax; ++i) {
    const WaitCall waits{100 + i, {{kTablet, 0, known.incarnation, 0, false}}};
    sent.push_back(begin<Result<Slice>>([&] { return raw(waits); }));
  }
  world_.run_for(100ms);
  EXPECT_FALSE(*sent.front());
  ASSERT_TRUE(*sent.back());
  EXPECT_EQ(decoded(**sent.back()).refusal, Refusal::kOverloaded);
  const WaitCall again{100, {{kTablet, 0, known.incarnation, 0, false}}};
  const auto replaces = begin<Result<Slice>>([&] { return raw(again); });
  world_.run_for(100ms);
  ASSERT_TRUE(*sent.front()) << "another wait of the same waiter has replaced it";
  EXPECT_FALSE(*replaces);
  world_.run_for(5s);
  EXPECT_TRUE(*replaces);
  EXPECT_EQ(server_.calls(), 0u);
}

TEST_F(RemoteFaults, LongEntriesAreReadWithRoomForThem) {
  StoredEntry entry;
  entry.payload = Buffer::zeroed(8u << 20).freeze();
  entry.count = 1;
  scripted().entries = {entry};
  const auto read = run<Result<queue::ReadAnswer>>([&] { return partition_->read({0, 1}); });
  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->entries.size(), 1u);
  EXPECT_EQ(read->entries[0].payload.size(), 8u << 20);
  const auto newest =
      run<Result<std::optional<StoredEntry>>>([&] { return partition_->find_newest(); });
  ASSERT_TRUE(newest && *newest);
  const PartitionReply without = call(FindNewestCall{1'000});
  EXPECT_TRUE(without.entries.empty());
  EXPECT_EQ(without.needs, encoded_size(entry));
  scripted().entries[0].payload = Buffer::zeroed(kFrameBytesMax).freeze();
  const auto too_long = run<Result<queue::ReadAnswer>>([&] { return partition_->read({0, 1}); });
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, Errc::kInvalidArgument);
}

TEST_F(RemoteFaults, RepliesAreBoundedBeforeTheyAreRead) {
  scripted().hold = true;
  const auto room = static_cast<std::uint32_t>(kFrameBytesMax);
  std::vector<std::shared_ptr<std::optional<Result<Slice>>>> sent;
  for (std::size_t i = 0; i < kPartitionReplyBytesMax / kFrameBytesMax / 2 + 1; ++i) {
    sent.push_back(begin<Result<Slice>>([&] { return raw(FindNewestCall{room}); }));
  }
  world_.run_for(100ms);
  EXPECT_FALSE(*sent.front());
  ASSERT_TRUE(*sent.back());
  EXPECT_EQ(decoded(**sent.back()).refusal, Refusal::kOverloaded);
  scripted().release();
  world_.run_for(100ms);
  EXPECT_EQ(decoded(**sent.front()).refusal, Refusal::kNone);
  EXPECT_EQ(server_.bytes(), 0u);
}

TEST_F(RemoteFaults, AStopEndsCallsAtOnceAndWaitsForTheNetwork) {
  ASSERT_EQ(write(message("a")), WriteStatus::kOk);
  run_plain([&] { partition_->watch([] {}); });
  world_.run_for(1s);
  world_.network().isolate(there_.id());
  const Pending lost = send(message("b"));
  world_.run_for(100ms);
  const Instant began = world_.executor().now();
  const auto stopped = begin<bool>([&]() -> Task<bool> {
    co_await remote_.stop();
    co_return true;
  });
  EXPECT_TRUE(lost->ready());
  EXPECT_FALSE(*stopped) << "calls are in flight in the network";
  world_.run_for(kAttemptTimeout);
  EXPECT_TRUE(*stopped);
  EXPECT_EQ(wait(lost).status, WriteStatus::kUnknown);
  EXPECT_LT(world_.executor().now() - began, kAttemptTimeout + 1s);
}

TEST_F(RemoteFaults, AStopEndsTheWaitOfAHealthyNode) {
  run_plain([&] { partition_->watch([] {}); });
  world_.run_for(1s);
  EXPECT_EQ(server_.calls(), 1u);
  const auto stopped = begin<bool>([&]() -> Task<bool> {
    co_await remote_.stop();
    co_return true;
  });
  world_.run_for(100ms);
  EXPECT_TRUE(*stopped);
  EXPECT_EQ(server_.calls(), 0u);
}

// A node that answers as the test wants.
class WrongNode : public RemoteFaults {
 protected:
  using Answer = std::function<PartitionReply(const PartitionRequest&)>;
  void answer(Answer wrong) {
    router_.port(kPartitionsProtocol).serve([wrong](NodeId, Slice frame) -> Task<Slice> {
      return answer_one(wrong, std::move(frame));
    });
  }
  static Task<Slice> answer_one(Answer wrong, Slice frame) {
    const auto request = decode_partition_request(frame);
    EXPECT_TRUE(request);
    co_return encode(wrong(*request));
  }
};

TEST_F(WrongNode, APageOfConsumersThatDoesNotGoOnIsRefused) {
  int asked = 0;
  answer([&](const PartitionRequest& request) {
    PartitionReply reply;
    reply.kind = kind_of(request.call);
    reply.incarnation = 1;
    reply.moment = static_cast<std::uint64_t>(++asked);
    reply.consumers = {ConsumerOffset{"a", 1, "", -1, 0}};
    reply.more = true;
    return reply;
  });
  const auto done = run<Result<void>>([&] { return partition_->refresh(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kUnavailable) << done.error().message();
  EXPECT_EQ(asked, 2);
}

TEST_F(WrongNode, ANodeOfAnotherVersionEndsCallsAtOnce) {
  answer([&](const PartitionRequest&) {
    PartitionReply reply;
    reply.status = fail(Errc::kUnsupported, "version 1");
    return reply;
  });
  const Instant began = world_.executor().now();
  const auto read = run<Result<queue::ReadAnswer>>([&] { return partition_->read({0, 100}); });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kUnsupported);
  const auto committed = commit(1);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, Errc::kUnsupported);
  EXPECT_EQ(write(message("a")), WriteStatus::kStopped);
  EXPECT_LT(world_.executor().now() - began, 1s);
}

TEST_F(RemoteFaults, ARequestThatIsNotDecodedIsAnsweredWithTheReason) {
  Encoder encoder;
  encoder.u8(kPartitionsProtocol).u8(99).u8(1);
  const Slice frame = seal(std::move(encoder));
  const PartitionReply reply = decoded(run<Result<Slice>>([&] {
    return client_.world().network.call(there_.id(), frame, world_.executor().now() + 1s);
  }));
  EXPECT_EQ(reply.kind, 0u);
  ASSERT_FALSE(reply.status);
  EXPECT_EQ(reply.status.error().code, Errc::kUnsupported);
}

// A server that refuses for the whole time has certainly not carried it out.
TEST_F(WrongNode, WhatWasOnlyRefusedIsNotUnknown) {
  int writes = 0;
  answer([&](const PartitionRequest& request) {
    PartitionReply reply;
    reply.kind = kind_of(request.call);
    reply.incarnation = 1;
    if (std::holds_alternative<OpenSessionCall>(request.call)) reply.session = 1;
    if (std::holds_alternative<CloseSessionCall>(request.call)) reply.last_change = 0;
    if (!std::holds_alternative<WriteCall>(request.call)) return reply;
    ++writes;
    reply.refusal = Refusal::kOverloaded;
    reply.status = fail(Errc::kOverloaded, "busy");
    return reply;
  });
  EXPECT_EQ(write(message("a")), WriteStatus::kOverloaded);
  EXPECT_GT(writes, 10);
}

}  // namespace
}  // namespace moraine
