// Power cuts: everything that was acknowledged is stored, and the keys tile the offsets.

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

std::string text_of(std::uint64_t number) {
  return fmt::format("{} {}", number, std::string(number * 37 % 3'000, 'x'));
}

TEST(PartitionCrash, AtRandomMomentsLosesNothingThatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    PartitionConfig config;
    config.low_watermark = 30'000;
    TestQueue queue(seed, config);
    SeededRandom random(seed);
    std::uint64_t next = 1;
    std::uint64_t acknowledged = 0;
    for (int round = 0; round < 12; ++round) {
      std::vector<TestQueue::Answer> answers;
      for (std::uint64_t i = 0; i < 1 + random.below(60); ++i) {
        answers.push_back(queue.send(TestQueue::message(text_of(next), "me", next)));
        ++next;
        if (random.one_in(3)) queue.world.run_for(Duration(1us) * random.below(200));
      }
      queue.crash();
      for (const auto& answer : answers) {
        if (answer->ready() && answer->await_resume().status == WriteStatus::kOk) ++acknowledged;
      }
      ASSERT_EQ(queue.untidy(), "");
      const std::vector<std::string> texts = queue.texts();
      ASSERT_GE(texts.size(), acknowledged);
      for (std::size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(texts[i], text_of(i + 1));
      // Unacknowledged writes may be stored: they count from now on, and the rest is sent again.
      acknowledged = texts.size();
      next = texts.size() + 1;
    }
  }
}

// The knowledge of a client at one moment.
struct Known {
  std::uint64_t acknowledged = 0;
  std::uint64_t sent = 0;
  Offset committed = 0;
  Offset commit_sent = 0;
  Offset trimmed = 0;
  Offset trim_sent = 0;
};

void check_image(DiskImage image, const Known& known, std::uint64_t event) {
  PartitionConfig config;
  config.low_watermark = 5'000;
  TestQueue queue(99, config);
  queue.install(std::move(image));
  ASSERT_EQ(queue.untidy(), "") << "event " << event;
  const PartitionInfo info = queue.partition().info();
  ASSERT_GE(info.end, known.acknowledged) << "event " << event;
  ASSERT_LE(info.end, known.sent) << "event " << event;
  ASSERT_GE(info.start, known.trimmed);
  ASSERT_LE(info.start, known.trim_sent);
  const auto committed = queue.partition().committed("reader");
  const Offset offset = committed ? committed->offset : 0;
  ASSERT_TRUE(offset == known.committed || offset == known.commit_sent) << "event " << event;
  for (const StoredEntry& entry : queue.entries()) {
    ASSERT_EQ(entry.payload.text(), text_of(entry.offset + 1)) << "event " << event;
    ASSERT_EQ(entry.number, entry.offset + 1);
  }
  ASSERT_EQ(queue.keys('x'), 0u);
  ASSERT_EQ(queue.say("after", "me", 1'000).offset, info.end);
}

TEST(PartitionCrash, AtEveryBoundaryOfAShortStoryLosesNothing) {
  PartitionConfig config;
  config.low_watermark = 5'000;
  TestQueue queue(5, config);
  Known known;
  std::uint64_t images = 0;
  SimDiskStore& disks = queue.storage.node().disks();
  disks.on_io([&](const IoEvent& event) {
    const CrashPolicy policy = event.number % 3 == 0   ? CrashPolicy::kKeep
                               : event.number % 3 == 1 ? CrashPolicy::kLose
                                                       : CrashPolicy::kRandom;
    ++images;
    check_image(disks.crash_image("device", policy, event.number), known, event.number);
  });
  const auto say = [&](std::uint32_t part, std::uint32_t parts) {
    if (part == 0) ++known.sent;
    const std::string text = text_of(known.sent);
    const std::size_t cut = text.size() / parts;
    const std::string piece = text.substr(cut * part, part + 1 == parts ? text.size() : cut);
    const WriteAnswer answer = queue.write(TestQueue::part(piece, "me", known.sent, part, parts));
    ASSERT_EQ(answer.status, WriteStatus::kOk);
    if (part + 1 == parts) ++known.acknowledged;
  };
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 4; ++i) say(0, 1);
    for (std::uint32_t part = 0; part < 3; ++part) say(part, 3);
    known.commit_sent = known.acknowledged - 1;
    ASSERT_TRUE(queue.commit("reader", known.commit_sent));
    known.committed = known.commit_sent;
    known.trim_sent = known.committed - 2;
    ASSERT_TRUE(queue.trim(known.trim_sent));
    known.trimmed = known.trim_sent;
  }
  disks.on_io({});
  EXPECT_GT(images, 80u);
  EXPECT_GT(queue.partition().info().compactions, 2u);
}

}  // namespace
}  // namespace moraine::queue
