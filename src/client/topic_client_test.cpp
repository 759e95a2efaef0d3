#include "client/topic_client.h"

#include <gtest/gtest.h>

#include <map>

#include "io/sim/held_executor.h"
#include "io/sim/sim_world.h"

namespace moraine::client {
namespace {

using queue::ConsumerOffset;
using queue::StoredEntry;
using queue::WriteAnswer;
using queue::WriteStatus;

// A partition of entries in memory. As a partition of another lane, it calls every watch once when
// that begins.
class FakePartition final : public queue::Partition {
 public:
  std::vector<StoredEntry> entries;
  std::map<std::uint64_t, Callback> watches;
  int reads = 0;
  WriteAnswer next_answer;

  void append(const std::string& message) {
    StoredEntry entry;
    entry.payload = Slice::copy_of(message);
    append(std::move(entry));
  }
  void append(StoredEntry entry) {
    entry.offset = end();
    entries.push_back(std::move(entry));
    for (auto& [id, moved] : watches) moved();
  }

  std::shared_ptr<OneShot<WriteAnswer>> write(queue::WriteRequest) override {
    const auto answer = std::make_shared<OneShot<WriteAnswer>>();
    answer->set(next_answer);
    return answer;
  }
  Task<Result<queue::ReadAnswer>> read(queue::ReadRequest request) override {
    ++reads;
    queue::ReadAnswer answer;
    answer.end = end();
    for (const StoredEntry& entry : entries) {
      if (entry.offset + entry.count > request.offset) answer.entries.push_back(entry);
    }
    co_return answer;
  }
  Task<Result<std::optional<StoredEntry>>> find_time(std::int64_t) override {
    co_return std::nullopt;
  }
  Task<Result<std::optional<StoredEntry>>> find_newest() override { co_return std::nullopt; }
  Task<Result<void>> commit(ConsumerOffset) override { co_return Result<void>(); }
  std::optional<ConsumerOffset> committed(const std::string&) const override { return {}; }
  std::vector<ConsumerOffset> all_committed() const override { return {}; }
  Task<Result<void>> forget_consumer(std::string) override { co_return Result<void>(); }
  Task<Result<queue::Offset>> trim(queue::Offset offset) override { co_return offset; }
  queue::PartitionInfo info() const override { return {}; }
  void configure(queue::PartitionConfig) override {}
  std::uint64_t watch(Callback moved) override {
    moved();
    const std::uint64_t id = next_watch_++;
    watches.emplace(id, std::move(moved));
    return id;
  }
  void unwatch(std::uint64_t watch) override { watches.erase(watch); }
  bool stopped() const override { return false; }

 private:
  std::uint64_t end() const {
    return entries.empty() ? 0 : entries.back().offset + entries.back().count;
  }

  std::uint64_t next_watch_ = 1;
};

// A compressed batch of one message.
StoredEntry packed(const std::string& value) {
  TopicInfo topic;
  topic.name = "orders";
  topic.partitions = 1;
  topic.config["compression.type"] = "gzip";
  const std::vector<Message> messages = {{.value = value}};
  const auto made = encode_batch(topic, messages, {.partition = 0}, std::chrono::seconds(1), 0);
  INVARIANT(made, "{}", made.error().message());
  StoredEntry entry;
  entry.count = made->request.count;
  entry.format = made->request.format;
  entry.payload = made->request.payload;
  return entry;
}

std::string random_text(std::size_t bytes) {
  SeededRandom random(bytes);
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>(random.next());
  return text;
}

class FakeTopics final : public Topics {
 public:
  TopicPtr topic;
  std::shared_ptr<FakePartition> only = std::make_shared<FakePartition>();
  bool runs = true;

  Task<Result<TopicPtr>> create(std::string, TopicSpec) override { co_return topic; }
  Task<Result<TopicPtr>> alter(std::string, TopicChange) override { co_return topic; }
  Task<Result<void>> remove(std::string) override { co_return Result<void>(); }
  TopicPtr find(const std::string&) const override { return topic; }
  TopicPtr find(const TopicId&) const override { return topic; }
  std::vector<TopicPtr> list() const override { return {topic}; }
  std::shared_ptr<queue::Partition> partition(const TopicId&, queue::PartitionIndex) override {
    return runs ? only : nullptr;
  }
  std::optional<Error> start_error(const TopicId&, queue::PartitionIndex) const override {
    return Error{Errc::kIo, "no disk"};
  }
};

class TopicClientTest : public testing::Test {
 protected:
  TopicClientTest() {
    TopicInfo info;
    info.name = "orders";
    topics_.topic = std::make_shared<const TopicInfo>(std::move(info));
  }
  ~TopicClientTest() override { world_.shutdown(); }
  Executor& lane() { return node_.world().executor; }
  Result<MessageBatch> read(MessageReadOptions options) {
    return world_.run(client_.read(topics_.topic, options));
  }

  SimWorld world_{1};
  SimNode& node_ = world_.add_node();
  FakeTopics topics_;
  HeldExecutor background_executor_{world_.executor()};
  BackgroundWork background_{background_executor_};
  TopicClient client_{topics_, lane(), &background_};
};

Task<void> read_into(TopicClient& client, TopicPtr topic, Result<MessageBatch>& out) {
  MessageReadOptions options;
  options.bytes_max = kTopicReadBytesMax;
  out = co_await client.read(std::move(topic), options);
}

TEST_F(TopicClientTest, LongBatchesAreUnpackedInTheBackground) {
  // Long when it is packed, and after unpacking only.
  for (const std::string& value :
       {random_text(2 * kUnpackedInlineMax), std::string(2 * kPlainInlineMax, 'a')}) {
    topics_.only->entries.clear();
    topics_.only->append(packed("first"));
    topics_.only->append(packed(value));
    topics_.only->append(packed("last"));
    const std::size_t before = background_executor_.posted();
    background_executor_.hold();
    Result<MessageBatch> found;
    TaskScope reads;
    reads.spawn(read_into(client_, topics_.topic, found));
    world_.run_for(1s);
    EXPECT_EQ(reads.live(), 1u);
    EXPECT_EQ(background_executor_.posted() - before, 1u);
    background_executor_.release();
    world_.run_for(1s);
    ASSERT_EQ(reads.live(), 0u);
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(found->messages.size(), 3u);
    EXPECT_EQ(found->messages[0].value, "first");
    EXPECT_EQ(found->messages[1].value, value);
    EXPECT_EQ(found->messages[2].value, "last");
  }
}

TEST_F(TopicClientTest, ShortBatchesAreUnpackedByTheLane) {
  background_executor_.hold();
  for (int i = 0; i < 10; ++i) topics_.only->append(packed(std::string(kPlainInlineMax / 2, 'a')));
  const auto found = read({.bytes_max = kTopicReadBytesMax});
  ASSERT_TRUE(found && found->messages.size() == 10u);
  EXPECT_EQ(background_executor_.posted(), 0u);
}

TEST_F(TopicClientTest, WhenManyWaitInTheBackgroundTheLaneUnpacks) {
  topics_.only->append(packed(std::string(2 * kPlainInlineMax, 'a')));
  background_executor_.hold();
  std::vector<Result<MessageBatch>> found(kUnpackingWaitingMax + 1);
  TaskScope reads;
  for (auto& one : found) reads.spawn(read_into(client_, topics_.topic, one));
  world_.run_for(1s);
  EXPECT_EQ(reads.live(), kUnpackingWaitingMax);
  EXPECT_EQ(found.back()->messages.size(), 1u);
  background_executor_.release();
  world_.run_for(1s);
  EXPECT_EQ(reads.live(), 0u);
}

TEST_F(TopicClientTest, OtherWorkRunsBetweenTheEntriesOfALongRead) {
  constexpr std::size_t kEntries = 40;
  for (std::size_t i = 0; i < kEntries; ++i)
    topics_.only->append(std::string(kPlainInlineMax, 'a'));
  Result<MessageBatch> found;
  TaskScope reads;
  bool during = false;
  const auto other = [&] { during = reads.live() == 1; };
  lane().post([&] {
    reads.spawn(read_into(client_, topics_.topic, found));
    lane().post(other);
  });
  world_.run_for(1s);
  ASSERT_EQ(reads.live(), 0u);
  ASSERT_TRUE(found && found->messages.size() == kEntries);
  EXPECT_TRUE(during);
}

TEST_F(TopicClientTest, AWaitingReadIsNotRepeatedUntilSomethingChanges) {
  const Instant began = lane().now();
  const auto found = read({.wait = std::chrono::milliseconds(1000)});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_TRUE(found->messages.empty());
  EXPECT_GE(lane().now() - began, Duration(1s));
  EXPECT_LE(topics_.only->reads, 4);  // At once, watching, when the watch began, at the end.
  EXPECT_TRUE(topics_.only->watches.empty());
}

TEST_F(TopicClientTest, AWaitingReadIsWokenByItsPartition) {
  lane().schedule(lane().now() + 300ms, [this] { topics_.only->append("late"); });
  const Instant began = lane().now();
  const auto found = read({.wait = std::chrono::milliseconds(1000)});
  ASSERT_TRUE(found && found->messages.size() == 1u);
  EXPECT_EQ(found->messages[0].value, "late");
  EXPECT_LT(lane().now() - began, Duration(400ms));
  EXPECT_TRUE(topics_.only->watches.empty());
}

TEST_F(TopicClientTest, EndedWaitsFailAtOnce) {
  lane().schedule(lane().now() + 300ms, [this] { client_.end_waits(); });
  const Instant began = lane().now();
  for (int i = 0; i < 2; ++i) {
    const auto found = read({.wait = std::chrono::milliseconds(1000)});
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, Errc::kUnavailable);
  }
  EXPECT_LT(lane().now() - began, Duration(400ms));
  EXPECT_TRUE(read({}).has_value());  // It does not wait.
}

TEST_F(TopicClientTest, AMissingTopicOrPartitionIsNamed) {
  topics_.runs = false;
  const auto starting = read({});
  ASSERT_FALSE(starting);
  EXPECT_EQ(starting.error().code, Errc::kNotHere);
  EXPECT_NE(starting.error().context.find("no disk"), std::string::npos);
  const TopicPtr old = std::exchange(topics_.topic, nullptr);
  const auto removed = world_.run(client_.read(old, {}));
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Errc::kNotFound);
}

TEST_F(TopicClientTest, AnswersOfPartitionsBecomeErrors) {
  const std::pair<WriteStatus, Errc> known[] = {{WriteStatus::kInvalid, Errc::kInvalidArgument},
                                                {WriteStatus::kOutOfOrder, Errc::kConflict},
                                                {WriteStatus::kSourceForgotten, Errc::kConflict},
                                                {WriteStatus::kOverloaded, Errc::kOverloaded},
                                                {WriteStatus::kFullByBytes, Errc::kNoSpace},
                                                {WriteStatus::kDiskFull, Errc::kNoSpace},
                                                {WriteStatus::kFailedBefore, Errc::kUnavailable},
                                                {WriteStatus::kUnknown, Errc::kUnknownOutcome},
                                                {WriteStatus::kStopped, Errc::kNotHere}};
  for (const auto& [status, code] : known) {
    topics_.only->next_answer.status = status;
    const auto written = world_.run(client_.write(topics_.topic, {}));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, code) << queue::to_string(status);
    EXPECT_FALSE(written.error().context.empty());
  }
}

}  // namespace
}  // namespace moraine::client
