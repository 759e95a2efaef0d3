// Reads of topics that wait.

#include <atomic>
#include <thread>

#include "embed/test_topics.h"
#include "moraine/when_all.h"

namespace moraine {
namespace {

using namespace std::chrono_literals;
using TopicWait = TopicsTest;
using Clock = std::chrono::steady_clock;

constexpr auto kLong = 60s;  // Tests that wait for it fail.

TEST_F(TopicWait, AReadWaitsForAMessage) {
  const Topic orders = create("orders", {.partitions = 3});
  for (std::uint32_t partition = 0; partition < 3; ++partition) {
    std::jthread writer([&] {
      std::this_thread::sleep_for(30ms);
      write(orders, "late", {.partition = partition});
    });
    const auto began = Clock::now();
    const MessageBatch found = read(orders, {.partition = partition, .wait = kLong});
    EXPECT_EQ(values(found), "late");
    EXPECT_GE(Clock::now() - began, 20ms);
    EXPECT_LT(Clock::now() - began, kLong / 2);
  }
}

TEST_F(TopicWait, AReadThatWaitsInVainReturnsNothing) {
  const Topic orders = create("orders");
  write(orders, "old");
  const auto began = Clock::now();
  const MessageBatch found = read(orders, {.offset = 1, .wait = 50ms});
  EXPECT_TRUE(found.messages.empty());
  EXPECT_EQ(found.next_offset, 1u);
  EXPECT_GE(Clock::now() - began, 50ms);
  EXPECT_LT(Clock::now() - began, kLong / 2);
  EXPECT_EQ(values(read(orders, {.wait = kLong})), "old");  // Nothing to wait for.
}

TEST_F(TopicWait, ManyReadsWaitOnOneLane) {
  const Topic orders = create("orders", {.partitions = 4});
  std::jthread writer([&] {
    std::this_thread::sleep_for(30ms);
    for (std::uint32_t i = 0; i < 4; ++i) write(orders, std::to_string(i), {.partition = i});
  });
  const auto read_all = [&]() -> Task<std::string> {
    std::vector<Task<Result<MessageBatch>>> reads;
    for (std::uint32_t i = 0; i < 200; ++i) {
      reads.push_back(orders.read({.partition = i % 4, .wait = kLong}));
    }
    std::string all;
    for (const auto& found : co_await when_all(std::move(reads))) {
      all += found ? values(*found) : found.error().message();
    }
    co_return all;
  };
  const std::string all = db_->run<std::string>(read_all);
  ASSERT_EQ(all.size(), 200u) << all;
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<char>('0' + i % 4));
}

TEST_F(TopicWait, RemovingTheTopicEndsTheWait) {
  const Topic orders = create("orders");
  std::jthread remover([&] {
    std::this_thread::sleep_for(30ms);
    EXPECT_TRUE(db_->run(db_->remove_topic("orders")));
  });
  expect_error(db_->run(orders.read({.wait = kLong})), Errc::kNotFound, "removed");
}

Task<Result<MessageBatch>> start_reading(Task<Result<MessageBatch>> read,
                                         std::atomic<int>& started) {
  ++started;
  co_return co_await std::move(read);
}

TEST_F(TopicWait, ClosingTheDatabaseEndsTheWait) {
  std::atomic<int> started = 0;
  std::atomic<int> ended = 0;
  std::vector<std::jthread> readers;
  {
    const Topic orders = create("orders", {.partitions = 2});
    for (std::uint32_t i = 0; i < 4; ++i) {
      readers.emplace_back([&, read = orders.read({.partition = i % 2, .wait = kLong})]() mutable {
        expect_error(db_->run(start_reading(std::move(read), started)), Errc::kUnavailable,
                     "closed");
        ++ended;
      });
    }
  }
  while (started < 4) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);  // Until they wait.
  const auto began = Clock::now();
  db_.reset();
  readers.clear();
  EXPECT_EQ(ended, 4);
  EXPECT_LT(Clock::now() - began, kLong / 2);
  open();
  EXPECT_EQ(db_->run(db_->list_topics()).size(), 1u);
}

}  // namespace
}  // namespace moraine
