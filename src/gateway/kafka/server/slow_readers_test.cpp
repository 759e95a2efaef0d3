#include "gateway/kafka/server/slow_readers.h"

#include <gtest/gtest.h>

#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/server_test_util.h"
#include "io/sim/sim_executor.h"

namespace moraine::kafka {
namespace {

TEST(SlowReaders, TheLongestStalledAreClosedFirstAndNoMoreThanNeeded) {
  SimExecutor executor;
  ByteBudget common(executor, 1'000'000);
  ByteBudget reserved(executor, 1'000'000);
  SlowReaders readers(executor, common, reserved);
  std::string closed;
  std::array<std::vector<ByteBudget::Lease>, 3> leases;
  SlowReaders::Writer a(readers, [&] { closed += 'a', leases[0].clear(); });
  SlowReaders::Writer b(readers, [&] { closed += 'b', leases[1].clear(); });
  SlowReaders::Writer c(readers, [&] { closed += 'c', leases[2].clear(); });
  for (auto& held : leases) held.push_back(common.force(150'000));
  a.begin(leases[0]);
  executor.run_for(10ms);
  b.begin(leases[1]);
  executor.run_for(10ms);
  c.begin(leases[2]);
  executor.run_for(1min);
  EXPECT_EQ(closed, "") << "there is room";
  a.progressed();
  ByteBudget::Lease others = common.force(150'000);
  executor.run_for(kSlowReadersPeriod);
  EXPECT_EQ(closed, "b") << "though it began when there was room";
  executor.run_for(1min);
  EXPECT_EQ(closed, "b");
}

TEST(SlowReaders, AConnectionThatMakesProgressIsNotClosed) {
  SimExecutor executor;
  ByteBudget common(executor, 1'000);
  ByteBudget reserved(executor, 1'000);
  SlowReaders readers(executor, common, reserved);
  bool closed = false;
  std::vector<ByteBudget::Lease> leases;
  leases.push_back(common.force(1'000'000));
  SlowReaders::Writer writer(readers, [&] { closed = true; });
  writer.begin(leases);
  for (int i = 0; i < 100; ++i) {
    executor.run_for(kContendedStallTimeout - 1ms);
    ASSERT_FALSE(closed);
    writer.progressed();
  }
  executor.run_for(kCrowdedStallTimeout + kSlowReadersPeriod);
  EXPECT_TRUE(closed);
}

constexpr std::size_t kResponseBytes = 8'000'000;
constexpr std::size_t kBatchBytes = 1'000'000;

// Clients that fetch batches of kBatchBytes, of which eight share a buffer.
class SlowReadersTest : public KafkaServerTest {
 protected:
  static constexpr std::size_t kBatchesPerBlock = 8;

  SlowReadersTest() : KafkaServerTest(KafkaOptions{.response_bytes_max = kResponseBytes}) {
    FakePartition& partition = make_topic("big");
    for (int i = 0; i < 4; ++i) store_block(partition);
    make_topic("small");
  }

  static void store_block(FakePartition& partition) {
    const Slice batch = batch_with({std::string(kBatchBytes, 'x')});
    Buffer block(batch.size() * kBatchesPerBlock);
    for (std::size_t i = 0; i < kBatchesPerBlock; ++i) {
      std::memcpy(block.data() + i * batch.size(), batch.data(), batch.size());
    }
    const Slice all = std::move(block).freeze();
    for (std::size_t i = 0; i < kBatchesPerBlock; ++i) {
      queue::StoredEntry entry;
      entry.format = queue::EntryFormat::kKafkaBatch;
      entry.payload = all.sub(i * batch.size(), batch.size());
      partition.store(std::move(entry));
    }
  }
  static FetchRequest fetch_one(std::int64_t offset) {
    FetchRequest request = fetch_of("big", offset);
    request.topics[0].partitions[0].partition_max_bytes = 1;
    return request;
  }
  // New clients that send `times` requests each and read nothing.
  void stall(int clients, int times) {
    for (int i = 0; i < clients; ++i) {
      connect();
      for (int n = 0; n < times; ++n) send(fetch_one((i * 7 + n) % 32), 11);
    }
  }
  std::size_t used() { return service_.responses().used() + service_.reserved_responses().used(); }
  // Runs, and returns the peak memory of answers.
  std::size_t most_used(Duration time) {
    std::size_t most = 0;
    for (Duration at = Duration::zero(); at < time; at += 5ms) {
      world_.run_for(5ms);
      most = std::max(most, used());
    }
    return most;
  }
  static Task<void> read_slowly(Executor& executor, std::shared_ptr<ByteStream> stream,
                                std::size_t bytes, Duration each, std::size_t& got) {
    Buffer into(bytes);
    while (true) {
      co_await sleep_for(executor, each);
      const auto read = co_await read_full(stream, into.span());
      if (!read) co_return;
      got += bytes;
    }
  }
};

TEST_F(SlowReadersTest, AnAnswerCountsWithTheBlockThatItKeepsAndIsCopiedWhenRoomIsShort) {
  stall(1, 1);
  world_.run_for(1s);
  EXPECT_GT(used(), kBatchBytes);
  EXPECT_LT(used(), kBatchBytes * 2) << "a block does not fit";
  KafkaOptions options;
  ServerContext plenty(KafkaParts{topics_, groups_, producer_ids_, world_.executor(),
                                  node_.world().clock, registry_},
                       options);
  RequestContext about;
  about.version = 11;
  about.client = std::make_shared<Client>("a:1");
  const FetchOutcome outcome = world_.run(fetch(plenty, fetch_one(3), about));
  EXPECT_GE(outcome.room.bytes(), kBatchBytes * kBatchesPerBlock);
  EXPECT_EQ(plenty.responses.used(), outcome.room.bytes());
}

TEST_F(SlowReadersTest, StalledClientsHoldNoMoreThanTheBudgetAndOneAnswer) {
  stall(40, 5);
  EXPECT_LE(most_used(20s), kResponseBytes + 2 * kBatchBytes);
  EXPECT_LE(used(), kResponseBytes / 2) << "the last ones need not be closed";
}

TEST_F(SlowReadersTest, OthersAreServedBesideManyStalledClients) {
  stall(40, 5);
  world_.run_for(100ms);
  connect();
  const Duration before = now();
  EXPECT_EQ(ask(produce_of("small", batch_with({"a"})), 7).topics[0].partitions[0].error_code,
            ErrorCode::kNone);
  const auto tail = ask(fetch_of("small", 0), 11);
  EXPECT_GT(tail.topics[0].partitions[0].records.size(), 0u);
  EXPECT_LT(now() - before, kContendedStallTimeout) << "short answers do not wait";
  const auto long_one = ask(fetch_one(5), 11);
  EXPECT_GT(long_one.topics[0].partitions[0].records.size(), kBatchBytes);
  EXPECT_LT(now() - before, kStalledWriteTimeout / 2);
}

TEST_F(SlowReadersTest, AClientThatIsKnownToReadDoesNotWaitForStalledOnes) {
  for (std::size_t i = 0; i <= kUnreadBytesMax / kBatchBytes; ++i) ask(fetch_one(5), 11);
  const auto reader = client_;
  stall(40, 1);
  world_.run_for(100ms);
  EXPECT_GT(service_.responses().waiting(), 0u);
  client_ = reader;
  const Duration before = now();
  make_topic("half").store_batch(batch_with({std::string(200'000, 'y')}));
  ask(fetch_of("half", 0), 11);
  EXPECT_LT(now() - before, kContendedStallTimeout);
}

TEST_F(SlowReadersTest, AClientThatReadsAByteNowAndThenIsClosedWhenOthersNeedTheMemory) {
  std::size_t got = 0;
  stall(12, 1);
  for (const auto& client : others_) {
    sends_.spawn(read_slowly(world_.executor(), client, 1, 1s, got));
  }
  world_.run_for(20s);
  EXPECT_GT(got, 0u);
  EXPECT_LE(used(), kResponseBytes / 2) << "the rest may read as slowly as they like";
  EXPECT_EQ(service_.responses().waiting(), 0u);
  EXPECT_GT(service_.metrics().closed_for_cause.value(), 0u);
}

TEST_F(SlowReadersTest, AClientThatReadsSlowlyButReadsGetsItsAnswerBesideStalledOnes) {
  std::size_t got = 0;
  connect();
  const auto slow = client_;
  send(fetch_one(1), 11);
  sends_.spawn(read_slowly(world_.executor(), slow, kProgressBytes, 800ms, got));
  stall(40, 5);
  world_.run_for(30s);
  EXPECT_GT(got, kBatchBytes - kProgressBytes);
}

TEST_F(SlowReadersTest, AnswersBehindUnsentOnesStayShort) {
  FakePartition& partition = make_topic("many");
  for (int i = 0; i < 60; ++i) partition.store_batch(batch_with({std::string(100'000, 'z')}));
  FetchRequest request = fetch_of("many", 0);
  request.topics[0].partitions[0].partition_max_bytes = 100'000;
  send(request, 11);
  request.topics[0].partitions[0].partition_max_bytes = 50 << 20;
  for (int i = 0; i < 10; ++i) send(request, 11);
  world_.run_for(500ms);
  EXPECT_LE(used(), 2 * kUnsentBytesMax);
}

}  // namespace
}  // namespace moraine::kafka
