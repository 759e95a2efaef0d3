// Topics with tablets of queue/ under them.

#include "node/stored_topics.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

TopicSpec spec(std::uint32_t partitions) {
  TopicSpec made;
  made.partitions = partitions;
  return made;
}

// One life of the node.
struct Life {
  explicit Life(TestStorage& storage)
      : tablets(storage.world(), storage, cache),
        scheme(storage.world(), storage, SchemeHostOptions{kTestGroup, {}, nullptr}),
        topics(storage.world(), scheme, tablets, StoredTopicsOptions{{kTestGroup}}) {}
  queue::BlobCache cache;
  StoredQueueTablets tablets;
  SchemeHost scheme;
  StoredTopics topics;
};

class StoredTopicsQueueTest : public testing::Test {
 protected:
  StoredTopicsQueueTest() : world_(9), storage_(world_) { start(); }
  ~StoredTopicsQueueTest() override {
    stop();
    world_.shutdown();
  }

  Instant soon() { return storage_.world().executor.now() + 60s; }
  StoredTopics& topics() { return life_->topics; }
  void start() {
    life_ = std::make_unique<Life>(storage_);
    life_->scheme.start();
    const auto started = world_.run(life_->scheme.wait_known(soon()));
    INVARIANT(started, "{}", started.error().message());
    INVARIANT(world_.run(topics().wait_running(soon())), "not all partitions run");
  }
  void stop() {
    world_.run(life_->scheme.stop());
    life_.reset();
  }
  void restart() {
    stop();
    start();
  }
  void cut_power() {
    storage_.node().on_stop([&] { life_->scheme.abandon(); });
    storage_.node().on_crash([&] { life_.reset(); });
    storage_.crash();
    start();
  }
  Result<TopicPtr> create(const std::string& name, std::uint32_t partitions) {
    return world_.run(topics().create(name, spec(partitions)));
  }

  Task<queue::WriteAnswer> write_one(std::shared_ptr<queue::Partition> partition,
                                     std::string text) {
    queue::WriteRequest request;
    request.payload = Slice::copy_of(text);
    const auto answer = partition->write(std::move(request));
    co_return co_await *answer;
  }
  void write(const std::string& topic, queue::PartitionIndex index, const std::string& text) {
    const auto partition = topics().partition(topics().find(topic)->id, index);
    ASSERT_TRUE(partition) << topic << " " << index;
    const auto answer = world_.run(write_one(partition, text));
    ASSERT_EQ(answer.status, queue::WriteStatus::kOk) << answer.detail;
  }
  std::vector<std::string> read(const std::string& topic, queue::PartitionIndex index) {
    const auto partition = topics().partition(topics().find(topic)->id, index);
    if (!partition) return {"no partition"};
    queue::ReadRequest request;
    request.bytes_max = 1u << 20;
    const auto answer = world_.run(partition->read(request));
    if (!answer) return {answer.error().message()};
    std::vector<std::string> texts;
    for (const queue::StoredEntry& entry : answer->entries) {
      texts.emplace_back(entry.payload.text());
    }
    return texts;
  }
  std::size_t blobs_of(TabletId tablet) {
    std::size_t count = 0;
    for (Channel channel = 0; channel < kQueueTabletChannels; ++channel) {
      blob::RangeRequest request;
      request.from = BlobId::lowest(tablet, channel);
      request.to = BlobId::highest(tablet, channel);
      request.index_only = true;
      count += world_.run(storage_.group(kTestGroup)->range(request)).items.size();
    }
    return count;
  }

  SimWorld world_;
  TestStorage storage_;
  std::unique_ptr<Life> life_;
};

using Texts = std::vector<std::string>;

TEST_F(StoredTopicsQueueTest, MessagesAreThereAfterRestartsPowerCutsAndGrowth) {
  ASSERT_TRUE(create("orders", 3));
  write("orders", 0, "first");
  write("orders", 2, "other");
  restart();
  EXPECT_EQ(read("orders", 0), Texts{"first"});
  TopicChange change;
  change.partitions = 20;
  ASSERT_TRUE(world_.run(topics().alter("orders", change)));
  write("orders", 0, "second");
  write("orders", 15, "in the first tablet");
  write("orders", 19, "in the second tablet");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(read("orders", 0), (Texts{"first", "second"}));
    EXPECT_EQ(read("orders", 2), Texts{"other"});
    EXPECT_EQ(read("orders", 15), Texts{"in the first tablet"});
    EXPECT_EQ(read("orders", 19), Texts{"in the second tablet"});
    EXPECT_TRUE(read("orders", 18).empty());
    cut_power();
  }
}

TEST_F(StoredTopicsQueueTest, NothingIsLeftOfARemovedTopic) {
  ASSERT_TRUE(create("orders", 20));
  const TopicId id = topics().find("orders")->id;
  write("orders", 0, std::string(5'000, 'x'));
  write("orders", 19, "y");
  const auto held = topics().partition(id, 0);
  EXPECT_GT(blobs_of(kFirstTopicTabletId), 0u);
  ASSERT_TRUE(world_.run(topics().remove("orders")));
  world_.run_for(10s);
  EXPECT_TRUE(held->stopped()) << "holders of a partition see that it stopped";
  EXPECT_EQ(topics().report().tablets_being_deleted, 0u);
  EXPECT_EQ(blobs_of(kFirstTopicTabletId), 0u);
  EXPECT_EQ(blobs_of(TabletId{kFirstTopicTabletId.value + 1}), 0u);
  ASSERT_TRUE(create("orders", 1));
  EXPECT_TRUE(read("orders", 0).empty());
}

TEST_F(StoredTopicsQueueTest, ATabletThatIsTakenOverIsTakenBackWithItsMessages) {
  ASSERT_TRUE(create("orders", 2));
  write("orders", 1, "kept");
  auto thief = world_.run(
      KeyValue::boot(storage_.world(), storage_,
                     TabletInfo::simple(kFirstTopicTabletId, kTestGroup, kQueueTabletChannels)));
  ASSERT_TRUE(thief);
  const auto partition = topics().partition(topics().find("orders")->id, 0);
  EXPECT_NE(world_.run(write_one(partition, "lost")).status, queue::WriteStatus::kOk);
  world_.run_for(5s);
  EXPECT_EQ(read("orders", 1), Texts{"kept"});
  write("orders", 0, "again");
  world_.run((*thief)->stop());
}

TEST_F(StoredTopicsQueueTest, ManyPartitionsStart) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(create(fmt::format("t{}", i), 32));
  for (int i = 0; i < 10; ++i) write(fmt::format("t{}", i), 31, "there");
  cut_power();
  restart();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read(fmt::format("t{}", i), 31), Texts{"there"});
  EXPECT_EQ(topics().report().tablets_running, 20u);
}

}  // namespace
}  // namespace moraine
