// Reading: by offset, by time, after merges, and notifications of new messages.

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

Task<void> read_into(Partition& partition, std::optional<Result<ReadAnswer>>& out) {
  out.emplace(co_await partition.read({0, 1'000}));
}

TEST(PartitionRead, GivesAtLeastOneEntryAndStopsAtTheLimits) {
  TestQueue queue(1);
  for (int i = 0; i < 10; ++i) queue.say(std::string(1'000, 'x'));
  EXPECT_EQ(queue.read(0, 0).entries.size(), 1u);
  EXPECT_EQ(queue.read(0, 3'500).entries.size(), 3u);
  EXPECT_EQ(queue.world.run(queue.partition().read({2, 1u << 20, 4}))->entries.size(), 4u);
  EXPECT_TRUE(queue.read(10).entries.empty()) << "at the end";
  EXPECT_EQ(queue.world.run(queue.partition().read({11, 100})).error().code,
            Errc::kInvalidArgument);
}

// Flips a bit of each occurrence of the text on the device.
std::size_t damage(DiskImage& image, std::string_view text) {
  const Slice bytes = image.read(0, image.size());
  std::size_t found = 0;
  for (std::size_t at = bytes.text().find(text); at != std::string_view::npos;
       at = bytes.text().find(text, at + 1)) {
    image.flip_bit(at, 0);
    ++found;
  }
  return found;
}

TEST(PartitionRead, ADamagedMessageIsCorruptAndTheOthersAreRead) {
  TestQueue queue(1);
  const auto text = [](char letter) { return std::string(20'000, letter); };
  for (const char letter : {'a', 'b', 'c'}) queue.say(text(letter));
  DiskImage image = queue.storage.node().disks().drive("device").snapshot();
  ASSERT_EQ(damage(image, text('b')), 1u);
  queue.install(std::move(image));
  EXPECT_EQ(queue.read(0).entries.size(), 1u);
  const auto broken = queue.world.run(queue.partition().read({1, 1u << 20}));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::kCorrupt) << broken.error().message();
  EXPECT_TRUE(broken.error().context.starts_with(
      "offset 1 cannot be read: its blob is damaged; reading can continue at 2"))
      << broken.error().context;
  EXPECT_EQ(queue.read(2).entries.front().payload.text(), text('c'));
}

TEST(PartitionRead, TheSameOffsetGivesTheSameBytesThroughMergesAndRestarts) {
  PartitionConfig config;
  config.low_watermark = 200'000;
  TestQueue queue(2, config, 0);  // Nothing is cached.
  SeededRandom random(2);
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) {
    const std::string text(random.below(random.one_in(20) ? 90'000 : 500),
                           static_cast<char>('a' + i % 26));
    texts.push_back(text);
    ASSERT_EQ(queue.say(text).offset, Offset(i));
    const std::size_t at = random.below(texts.size());
    ASSERT_EQ(queue.read(at, 0).entries.front().payload.text(), texts[at]) << at;
    if (random.one_in(60)) queue.restart();
    ASSERT_EQ(queue.untidy(), "");
  }
  EXPECT_GT(queue.partition().info().body_blobs, 2u);
  EXPECT_EQ(queue.texts(), texts);
}

std::vector<std::string> texts_of(const ReadAnswer& answer) {
  std::vector<std::string> texts;
  for (const StoredEntry& entry : answer.entries) {
    texts.push_back(std::to_string(entry.offset) + std::string(entry.payload.text()));
  }
  return texts;
}

TEST(PartitionRead, AReadFromMemoryReturnsWhatAReadReturns) {
  PartitionConfig config;
  config.low_watermark = 100'000;
  TestQueue queue(9, config);
  SeededRandom random(9);
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ(queue.say(std::string(random.below(random.one_in(20) ? 40'000 : 300), 'x')).status,
              WriteStatus::kOk);
    if (random.one_in(50)) ASSERT_TRUE(queue.trim(random.below(queue.partition().info().end)));
    const Offset end = queue.partition().info().end;
    const ReadRequest request{random.below(end + 1), random.below(100'000), 1 + random.below(200)};
    const auto read = queue.world.run(queue.partition().read(request));
    ASSERT_TRUE(read);
    const std::uint64_t bytes = queue.partition().info().read_bytes;
    const auto cached = queue.partition().read_cached(request);
    ASSERT_TRUE(cached) << "all of it was read before";
    ASSERT_EQ(texts_of(*cached), texts_of(*read));
    ASSERT_EQ(cached->start, read->start);
    ASSERT_EQ(cached->end, end);
    std::uint64_t returned = 0;
    for (const StoredEntry& entry : cached->entries) returned += entry.payload.size();
    ASSERT_EQ(queue.partition().info().read_bytes, bytes + returned);
  }
  EXPECT_GT(queue.partition().info().compactions, 2u);
}

TEST(PartitionRead, AReadFromMemoryIsLeftToReadWhenSomethingIsMissing) {
  TestQueue queue(10);
  const std::string text(50'000, 'x');
  for (int i = 0; i < 20; ++i) queue.say(text);
  const ReadRequest request{0, 200'000};
  EXPECT_TRUE(queue.partition().read_cached(request));
  EXPECT_FALSE(queue.partition().read_cached({21, 1})) << "past the end";
  EXPECT_TRUE(queue.partition().read_cached({20, 1})->entries.empty()) << "at the end";
  queue.restart();
  EXPECT_FALSE(queue.partition().read_cached(request)) << "nothing is in memory";
  EXPECT_EQ(queue.read(0, 200'000).entries.size(), 4u);
  EXPECT_TRUE(queue.partition().read_cached(request));
  const auto partition = queue.tablet->partition(0);
  queue.stop();
  EXPECT_FALSE(partition->read_cached(request)) << "stopped";
}

TEST(PartitionRead, AReadFromMemoryLoadsWhatFollows) {
  PartitionConfig config;
  config.low_watermark = 1;
  TestQueue queue(11, config);
  const std::string text(400'000, 'x');
  for (int i = 0; i < 40; ++i) queue.say(text);
  queue.restart();
  Offset at = 0;
  int waited = 0;
  while (at < 40) {
    auto answer = queue.partition().read_cached({at, text.size()});
    if (!answer) {
      ++waited;
      answer = queue.read(at, text.size());
    }
    at = answer->entries.back().offset + 1;
    queue.world.run_for(100ms);
  }
  EXPECT_EQ(waited, 1) << "only the first was not loaded in time";
}

TEST(PartitionRead, APieceIsReleasedBeforeTheNextIsWaitedFor) {
  constexpr std::size_t kMessage = 20'000;
  TestQueue queue(8, {}, 0);
  std::vector<TestQueue::Answer> answers;
  for (int i = 0; i < 60; ++i) {
    answers.push_back(queue.send(TestQueue::message(std::string(kMessage, 'x'))));
    if (i % 20 == 19) queue.world.run_for(1s);
  }
  for (const auto& answer : answers) queue.wait(answer);
  int crossings = 0;
  for (Offset offset = 0; offset + 1 < 60; ++offset) {
    const ReadAnswer read = queue.read(offset, 2 * kMessage);
    ASSERT_EQ(read.entries.size(), 2u);
    const Slice& first = read.entries[0].payload;
    if (first.data() + first.size() == read.entries[1].payload.data()) continue;
    ++crossings;
    EXPECT_LE(first.held_bytes(), 2 * kMessage) << offset;
  }
  EXPECT_GT(crossings, 0);
}

TEST(PartitionRead, AReadThatMeetsAMergeStillAnswers) {
  PartitionConfig config;
  config.low_watermark = 20'000;
  TestQueue queue(3, config, 0);
  for (int i = 0; i < 30; ++i) queue.say(std::string(400, 'x'));
  for (int i = 0; i < 200; ++i) {
    const auto answer = queue.send(TestQueue::message(std::string(400, 'x')));
    queue.world.run_for(Duration(1us) * (i % 40));
    const ReadAnswer read = queue.read(static_cast<Offset>(i % 30), 10'000);
    ASSERT_FALSE(read.entries.empty());
    queue.wait(answer);
  }
}

TEST(PartitionRead, AReadThatMeetsATrimGivesWhatIsLeft) {
  PartitionConfig config;
  config.low_watermark = 1;
  TestQueue queue(4, config, 0);
  for (int i = 0; i < 40; ++i) queue.say(std::string(400, 'x'));
  for (Offset start = 1; start < 39; ++start) {
    auto trimmed = queue.partition().trim(start);
    std::optional<Result<ReadAnswer>> read;
    queue.world.executor().post([&queue, &read] { spawn(read_into(queue.partition(), read)); });
    ASSERT_TRUE(queue.world.run(std::move(trimmed)));
    while (!read) queue.world.run_for(10us);
    ASSERT_TRUE(*read);
    ASSERT_FALSE((*read)->entries.empty()) << start;
  }
}

TEST(PartitionRead, FindsTheFirstEntryOfATimeAndTheNewest) {
  PartitionConfig config;
  config.low_watermark = 2'000;
  TestQueue queue(5, config);
  const std::vector<std::int64_t> times = {100, 300, 200, 300, 500, 400, -1, 500, 450};
  for (const std::int64_t time : times) {
    queue.write(TestQueue::timed(std::string(300, 'x'), time));
  }
  const auto check = [&] {
    for (const std::int64_t wanted : {-5, 0, 100, 101, 250, 300, 301, 500, 501}) {
      std::optional<Offset> first;
      for (std::size_t i = times.size(); i-- > 0;) {
        if (times[i] >= wanted) first = i;
      }
      const auto found = queue.world.run(queue.partition().find_time(wanted));
      ASSERT_TRUE(found);
      ASSERT_EQ(found->has_value(), first.has_value()) << wanted;
      if (first) EXPECT_EQ((*found)->offset, *first) << wanted;
    }
    EXPECT_EQ((*queue.world.run(queue.partition().find_newest()))->offset, 4u);
  };
  check();
  queue.restart();
  check();
  ASSERT_TRUE(queue.trim(5));
  EXPECT_EQ((*queue.world.run(queue.partition().find_newest()))->offset, 7u);
  EXPECT_EQ((*queue.world.run(queue.partition().find_time(0)))->offset, 5u);
  ASSERT_TRUE(queue.trim(9));
  EXPECT_FALSE(queue.world.run(queue.partition().find_newest())->has_value());
}

TEST(PartitionRead, TheNewestIsFoundWhenItsBlobBeginsWithNewerOnesThatWereRemoved) {
  TestQueue queue(15);
  std::vector<TestQueue::Answer> answers;
  for (const std::int64_t time : {900, 100, 300, 200, 300}) {
    answers.push_back(queue.send(TestQueue::timed("x", time)));
  }
  for (const auto& answer : answers) queue.wait(answer);
  queue.restart();
  ASSERT_EQ(queue.keys('d'), 1u) << "all in one blob";
  EXPECT_EQ((*queue.world.run(queue.partition().find_newest()))->offset, 0u);
  ASSERT_TRUE(queue.trim(1));
  EXPECT_EQ((*queue.world.run(queue.partition().find_newest()))->offset, 2u);
  EXPECT_EQ((*queue.world.run(queue.partition().find_time_from(3, 250)))->offset, 4u);
  EXPECT_FALSE(queue.world.run(queue.partition().find_time_from(5, 0))->has_value());
  ASSERT_TRUE(queue.trim(3));
  EXPECT_EQ((*queue.world.run(queue.partition().find_newest()))->offset, 4u);
}

TEST(PartitionRead, WatchersAreNotifiedWhenTheEndMovesAndWhenItStops) {
  TestQueue queue(6);
  int notified = 0;
  int twice = 0;
  const auto watch = queue.partition().watch([&notified] { ++notified; });
  const auto other = queue.partition().watch([&twice] { ++twice; });
  queue.say("one");
  EXPECT_EQ(notified, 1);
  queue.say("one", "me", 1);
  queue.say("one", "me", 1);
  EXPECT_EQ(notified, 2) << "a duplicate moves nothing";
  queue.partition().unwatch(watch);
  queue.partition().unwatch(watch);
  queue.say("two");
  EXPECT_EQ(notified, 2);
  EXPECT_EQ(twice, 3);
  const auto kept = queue.tablet->partition(0);
  queue.stop();
  EXPECT_EQ(twice, 4);
  EXPECT_TRUE(kept->stopped());
  kept->unwatch(other);
}

TEST(PartitionRead, AWatcherMayUnwatchOthersAndItself) {
  TestQueue queue(7);
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  int notified = 0;
  first = queue.partition().watch([&] {
    ++notified;
    queue.partition().unwatch(second);
    queue.partition().unwatch(first);
  });
  second = queue.partition().watch([&notified] { notified += 100; });
  queue.say("one");
  queue.say("two");
  EXPECT_EQ(notified, 1);
}

TEST(PartitionRead, ConsumersAreKeptAndForgotten) {
  TestQueue queue(8);
  for (int i = 0; i < 5; ++i) queue.say("x");
  ASSERT_TRUE(queue.commit("a", 3));
  ASSERT_TRUE(queue.commit("b", 99));
  EXPECT_EQ(queue.partition().committed("b")->offset, 99u) << "as it came";
  ASSERT_TRUE(queue.commit("a", 1)) << "backwards is allowed";
  EXPECT_FALSE(queue.commit("", 1));
  EXPECT_FALSE(queue.commit(std::string(kConsumerNameBytesMax + 1, 'x'), 1));
  ASSERT_TRUE(queue.world.run(queue.partition().forget_consumer("b")));
  ASSERT_TRUE(queue.world.run(queue.partition().forget_consumer("nobody")));
  queue.crash();
  ASSERT_EQ(queue.partition().all_committed().size(), 1u);
  EXPECT_EQ(queue.partition().all_committed()[0].offset, 1u);
  EXPECT_FALSE(queue.partition().committed("b"));
}

}  // namespace
}  // namespace moraine::queue
