#include "queue/sources.h"

#include <gtest/gtest.h>

namespace moraine::queue {
namespace {

// A producer's state as a partition keeps it.
class Kept {
 public:
  Judgement send(Producer producer, std::uint32_t count = 1) {
    const Judgement judged = judge(known(), producer, count);
    if (judged.status == WriteStatus::kOk) {
      source_ = after(known(), producer, count, next_offset_, 7);
      next_offset_ += count;
    }
    return judged;
  }
  const Source* known() const { return source_ ? &*source_ : nullptr; }

 private:
  std::optional<Source> source_;
  Offset next_offset_ = 100;
};

Producer seq_no(std::uint64_t number) {
  return {"me", Numbering::kSeqNo, number, 0};
}
Producer sequence(std::uint32_t first, std::int32_t epoch = 0) {
  return {"me", Numbering::kSequence, first, epoch};
}

TEST(SeqNo, MayBeginAnywhereAndHaveGaps) {
  Kept kept;
  for (const std::uint64_t number : {5ull, 6ull, 1'000ull, ~0ull}) {
    EXPECT_EQ(kept.send(seq_no(number)).status, WriteStatus::kOk) << number;
  }
}

TEST(SeqNo, WhatDoesNotGrowIsADuplicateAndOnlyTheNewestHasAnOffset) {
  Kept kept;
  kept.send(seq_no(5));
  kept.send(seq_no(9));
  for (const std::uint64_t number : {9ull, 8ull, 5ull, 0ull}) {
    const Judgement judged = kept.send(seq_no(number));
    EXPECT_EQ(judged.status, WriteStatus::kDuplicate) << number;
    EXPECT_EQ(judged.offset, number == 9 ? std::optional<Offset>(101) : std::nullopt) << number;
  }
  EXPECT_EQ(kept.known()->max_number, 9u);
}

TEST(SeqNo, NumbersAnEntryHoweverManyMessagesItHas) {
  Kept kept;
  EXPECT_EQ(kept.send(seq_no(5), 100).status, WriteStatus::kOk);
  EXPECT_EQ(kept.known()->max_number, 5u);
  EXPECT_EQ(kept.send(seq_no(5), 100).status, WriteStatus::kDuplicate);
  EXPECT_EQ(kept.send(seq_no(6), 2).status, WriteStatus::kOk);
}

TEST(SeqNo, WithoutNumbersNothingIsADuplicate) {
  Kept kept;
  kept.send(seq_no(5));
  EXPECT_EQ(judge(kept.known(), {"me", Numbering::kNone, 5, 0}, 3).status, WriteStatus::kOk);
}

TEST(Sequence, AnUnknownProducerMayBeginAnywhere) {
  EXPECT_EQ(judge(nullptr, sequence(12'345, 3), 7).status, WriteStatus::kOk);
}

TEST(Sequence, MustBeDense) {
  Kept kept;
  EXPECT_EQ(kept.send(sequence(0), 3).status, WriteStatus::kOk);
  EXPECT_EQ(kept.send(sequence(4)).status, WriteStatus::kOutOfOrder);
  EXPECT_EQ(kept.send(sequence(3), 2).status, WriteStatus::kOk);
  EXPECT_EQ(kept.send(sequence(5)).status, WriteStatus::kOk);
  EXPECT_EQ(kept.known()->max_number, 5u);
}

TEST(Sequence, AnyOfTheLastFiveBatchesIsADuplicateWithItsOwnOffset) {
  Kept kept;
  for (std::uint32_t i = 0; i < 6; ++i) kept.send(sequence(i * 2), 2);
  for (std::uint32_t i = 1; i < 6; ++i) {
    const Judgement judged = kept.send(sequence(i * 2), 2);
    EXPECT_EQ(judged.status, WriteStatus::kDuplicate) << i;
    EXPECT_EQ(judged.offset, 100 + i * 2);
  }
  EXPECT_EQ(kept.send(sequence(0), 2).status, WriteStatus::kOutOfOrder) << "it is forgotten";
  EXPECT_EQ(kept.known()->window.size(), kSequenceWindow);
}

TEST(Sequence, AnOverlapThatIsNoExactDuplicateIsOutOfOrder) {
  Kept kept;
  kept.send(sequence(0), 4);
  EXPECT_EQ(kept.send(sequence(0), 3).status, WriteStatus::kOutOfOrder);
  EXPECT_EQ(kept.send(sequence(0), 5).status, WriteStatus::kOutOfOrder);
  EXPECT_EQ(kept.send(sequence(2), 2).status, WriteStatus::kOutOfOrder);
}

TEST(Sequence, WrapsTo0After2To31) {
  Kept kept;
  EXPECT_EQ(kept.send(sequence(kSequenceEnd - 2), 2).status, WriteStatus::kOk);
  EXPECT_EQ(kept.known()->max_number, kSequenceEnd - 1);
  EXPECT_EQ(kept.send(sequence(0), 2).status, WriteStatus::kOk);
  EXPECT_EQ(kept.known()->max_number, 1u);
}

TEST(Sequence, ABatchMaySpanTheWrap) {
  Kept kept;
  EXPECT_EQ(kept.send(sequence(kSequenceEnd - 1), 3).status, WriteStatus::kOk);
  EXPECT_EQ(kept.known()->max_number, 1u);
  const Judgement again = kept.send(sequence(kSequenceEnd - 1), 3);
  EXPECT_EQ(again.status, WriteStatus::kDuplicate);
  EXPECT_EQ(again.offset, 100u);
  EXPECT_EQ(kept.send(sequence(2)).status, WriteStatus::kOk);
}

TEST(Sequence, AnOlderEpochIsStale) {
  Kept kept;
  kept.send(sequence(0, 5));
  EXPECT_EQ(kept.send(sequence(1, 4)).status, WriteStatus::kStaleEpoch);
  EXPECT_EQ(kept.send(sequence(0, 4)).status, WriteStatus::kStaleEpoch);
}

TEST(Sequence, ANewerEpochBeginsWith0AndForgetsTheWindow) {
  Kept kept;
  kept.send(sequence(0, 5), 3);
  EXPECT_EQ(kept.send(sequence(3, 6)).status, WriteStatus::kOutOfOrder);
  EXPECT_EQ(kept.send(sequence(0, 6), 3).status, WriteStatus::kOk);
  EXPECT_EQ(kept.known()->window.size(), 1u);
  EXPECT_EQ(kept.known()->epoch, 6);
  EXPECT_EQ(kept.send(sequence(0, 6), 3).status, WriteStatus::kDuplicate);
}

TEST(Sequence, ASourceDoesNotChangeItsWayOfCounting) {
  Kept kept;
  kept.send(seq_no(1));
  EXPECT_EQ(kept.send(sequence(2)).status, WriteStatus::kInvalid);
  EXPECT_EQ(kept.send(seq_no(2)).status, WriteStatus::kOk);
}

Source written_at(Offset offset, std::uint64_t ms) {
  Source source;
  source.offset = offset;
  source.written_ms = ms;
  return source;
}

std::vector<std::string> stale_ids(const Sources& sources, Offset start, std::uint64_t now_ms,
                                   const PartitionConfig& config, std::size_t most = 10) {
  std::vector<std::string> ids;
  for (const Sources::Stale& stale : sources.stale(start, now_ms, config, most)) {
    ids.push_back(stale.id);
  }
  return ids;
}

TEST(Sources, AreForgottenWhenTheirMessagesAreGoneAndTheyAreIdle) {
  Sources sources;
  sources.set("old", written_at(1, 1'000));
  sources.set("busy", written_at(9, 9'000));
  PartitionConfig config;
  config.source_lifetime_ms = 500;
  EXPECT_TRUE(sources.stale(1, 9'000, config, 10).empty()) << "its message is there";
  EXPECT_TRUE(sources.stale(2, 1'400, config, 10).empty()) << "it is not idle";
  EXPECT_EQ(stale_ids(sources, 2, 9'000, config), (std::vector<std::string>{"old"}));
  EXPECT_TRUE(sources.stale(2, 9'000, config, 0).empty());
}

TEST(Sources, OfKafkaProducersLiveShorter) {
  Source producer = written_at(2, 1'000);
  producer.numbering = Numbering::kSequence;
  Sources sources;
  sources.set("seqno", written_at(1, 1'000));
  sources.set("kafka", producer);
  const PartitionConfig config;
  const std::uint64_t late = 1'000 + kSequenceLifetimeMs + 1;
  EXPECT_TRUE(sources.stale(3, late - 1, config, 10).empty()) << "it is not idle";
  EXPECT_TRUE(sources.stale(2, late, config, 10).empty()) << "its message is there";
  EXPECT_EQ(stale_ids(sources, 3, late, config), (std::vector<std::string>{"kafka"}));
  EXPECT_TRUE(sources.stale(3, late, config, 0).empty());
  EXPECT_EQ(stale_ids(sources, 3, late + config.source_lifetime_ms, config),
            (std::vector<std::string>{"seqno", "kafka"}));
  sources.erase("kafka");
  EXPECT_TRUE(sources.stale(3, late, config, 10).empty());
}

TEST(Sources, PastTheirNumberThoseWithTheLowestOffsetsGo) {
  Sources sources;
  for (Offset i = 0; i < 5; ++i)
    sources.set(std::string(1, static_cast<char>('a' + i)), written_at(i, 0));
  sources.set("a", written_at(10, 0));
  PartitionConfig config;
  config.sources_max = 3;
  EXPECT_EQ(stale_ids(sources, 0, 0, config), (std::vector<std::string>{"b", "c"}));
  sources.erase("b");
  sources.erase("b");
  EXPECT_EQ(sources.size(), 4u);
  EXPECT_EQ(sources.find("b"), nullptr);
  EXPECT_EQ(stale_ids(sources, 0, 0, config), (std::vector<std::string>{"c"}));
}

TEST(Sources, AreListedAsForgottenWhenThereWereTooMany) {
  Sources sources;
  sources.set("idle", written_at(0, 0));
  sources.set("live", written_at(7, 9'000));
  sources.set("newest", written_at(8, 9'000));
  PartitionConfig config;
  config.source_lifetime_ms = 500;
  config.sources_max = 1;
  const auto stale = sources.stale(5, 9'000, config, 10);
  ASSERT_EQ(stale.size(), 2u);
  EXPECT_FALSE(stale[0].by_count) << "it would go anyway";
  EXPECT_TRUE(stale[1].by_count);
  sources.erase("idle");
  sources.forget_by_count("live");
  EXPECT_EQ(sources.size(), 1u);
  EXPECT_FALSE(sources.take_forgotten("idle"));
  EXPECT_FALSE(sources.take_forgotten("newest"));
  EXPECT_TRUE(sources.take_forgotten("live"));
  EXPECT_FALSE(sources.take_forgotten("live")) << "once";
}

TEST(Sources, TheListOfForgottenOnesIsBounded) {
  Sources sources;
  for (std::size_t i = 0; i <= kForgottenSourcesMax; ++i) {
    sources.forget_by_count(fmt::format("source {}", i));
  }
  EXPECT_FALSE(sources.take_forgotten("source 0"));
  EXPECT_TRUE(sources.take_forgotten("source 1"));
  EXPECT_TRUE(sources.take_forgotten(fmt::format("source {}", kForgottenSourcesMax)));
}

}  // namespace
}  // namespace moraine::queue
