#include "queue/refusals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>
#include <vector>

#include "io/sim/sim_world.h"

namespace moraine::queue {
namespace {

constexpr Instant kStart{1h};

Producer seq_no(std::uint64_t number, std::string source = "me") {
  return {std::move(source), Numbering::kSeqNo, number, 0};
}
Producer sequence(std::uint64_t number, std::int32_t epoch = 0) {
  return {"kafka", Numbering::kSequence, number, epoch};
}

class RefusalsTest : public testing::Test {
 protected:
  bool admit(const Producer& producer, bool begins = true) {
    return refusals.admit(producer, begins, now);
  }
  void refuse(const Producer& producer) { refusals.refused(producer, true, now); }

  Instant now = kStart;
  Refusals refusals{{}, kStart};
};

TEST_F(RefusalsTest, NothingNewerPassesBeforeTheRefusedNumberComesAgain) {
  refuse(seq_no(5));
  EXPECT_FALSE(admit(seq_no(6)));
  EXPECT_FALSE(admit(seq_no(9)));
  EXPECT_TRUE(admit(seq_no(4))) << "it is before the refused one";
  EXPECT_FALSE(admit(seq_no(6)));
  EXPECT_TRUE(admit(seq_no(5)));
  EXPECT_TRUE(admit(seq_no(6)));
  EXPECT_TRUE(admit(seq_no(9)));
  EXPECT_EQ(refusals.size(), 0u);
}

TEST_F(RefusalsTest, WhatWasNeverRefusedWaitsForAllThatWas) {
  refuse(seq_no(5));
  EXPECT_FALSE(admit(seq_no(6)));
  EXPECT_FALSE(admit(seq_no(7)));
  EXPECT_TRUE(admit(seq_no(5)));
  EXPECT_FALSE(admit(seq_no(8))) << "6 and 7 have not come again";
  EXPECT_TRUE(admit(seq_no(6)));
  EXPECT_TRUE(admit(seq_no(7)));
  EXPECT_TRUE(admit(seq_no(8)));
  EXPECT_TRUE(admit(seq_no(9)));
}

TEST_F(RefusalsTest, ANumberThatIsRefusedAgainIsWaitedForAgain) {
  refuse(seq_no(5));
  EXPECT_FALSE(admit(seq_no(6)));
  EXPECT_TRUE(admit(seq_no(5)));
  refuse(seq_no(5));
  EXPECT_FALSE(admit(seq_no(6)));
  EXPECT_TRUE(admit(seq_no(5)));
  EXPECT_TRUE(admit(seq_no(6)));
}

TEST_F(RefusalsTest, OtherSourcesAndPlainWritesAreNotHeldUp) {
  refuse(seq_no(5));
  refuse({"plain", Numbering::kNone, 0, 0});
  EXPECT_TRUE(admit(seq_no(6, "you")));
  EXPECT_TRUE(admit({"plain", Numbering::kNone, 0, 0}));
  EXPECT_EQ(refusals.size(), 1u);
}

TEST_F(RefusalsTest, OnlyTheFirstPartOfAMessageBringsItBack) {
  refuse(seq_no(5));
  EXPECT_FALSE(admit(seq_no(5), false));
  EXPECT_FALSE(admit(seq_no(6)));
  EXPECT_TRUE(admit(seq_no(5), true));
  EXPECT_TRUE(admit(seq_no(5), false));
  EXPECT_TRUE(admit(seq_no(6)));
}

TEST_F(RefusalsTest, AWriterThatGaveUpContinuesAfterATimeThatItsTriesDoNotProlong) {
  refuse(seq_no(5));
  for (std::uint64_t number = 6; now < kStart + kRefusalMemory; ++number) {
    EXPECT_FALSE(admit(seq_no(number)));
    now = now + 1s;
  }
  EXPECT_TRUE(admit(seq_no(10'000)));
  refuse(seq_no(10'001));
  now = now + kRefusalMemory;
  refusals.sweep(now);
  EXPECT_EQ(refusals.size(), 0u);
}

TEST_F(RefusalsTest, AStoredNumberIsNotWaitedFor) {
  refuse(seq_no(5));
  EXPECT_FALSE(admit(seq_no(6)));
  Source source;
  source.max_number = 5;
  refusals.stored("me", source);
  EXPECT_TRUE(admit(seq_no(6)));
  refuse(seq_no(7));
  source.max_number = 7;
  refusals.stored("me", source);
  EXPECT_EQ(refusals.size(), 0u);
}

TEST_F(RefusalsTest, SequencesAreComparedOverTheWrap) {
  const std::uint64_t last = kSequenceEnd - 1;
  refuse(sequence(last));
  EXPECT_FALSE(admit(sequence(0)));
  EXPECT_TRUE(admit(sequence(last - 3)));
  EXPECT_TRUE(admit(sequence(last)));
  EXPECT_TRUE(admit(sequence(0)));
  EXPECT_EQ(refusals.size(), 0u);
}

TEST_F(RefusalsTest, ANewEpochBeginsAnew) {
  refuse(sequence(50, 1));
  EXPECT_FALSE(admit(sequence(51, 1)));
  EXPECT_TRUE(admit(sequence(0, 2)));
  EXPECT_EQ(refusals.size(), 0u);
  refuse(sequence(0, 2));
  refuse(sequence(60, 1));
  EXPECT_FALSE(admit(sequence(1, 2))) << "an old epoch changes nothing";
}

TEST_F(RefusalsTest, AnUnknownProducerBeginsWithZeroForAWhile) {
  EXPECT_FALSE(refusals.begins(sequence(3), now));
  EXPECT_TRUE(refusals.begins(sequence(0), now));
  EXPECT_TRUE(refusals.begins(seq_no(3), now));
  now = now + kUnknownProducerGrace;
  EXPECT_FALSE(admit(sequence(4))) << "3 was refused before";
  EXPECT_TRUE(admit(sequence(3)));
  EXPECT_TRUE(refusals.begins(sequence(3), now));
  refusals.refused({"new", Numbering::kSequence, 0, 0}, false, now);
  EXPECT_FALSE(refusals.begins(sequence(3), now));
  now = now + kUnknownProducerGrace;
  refusals.refused({"old", Numbering::kSequence, 7, 0}, true, now);
  EXPECT_TRUE(refusals.begins(sequence(3), now)) << "one that is known needs no beginning";
}

TEST_F(RefusalsTest, InANewPartitionAnUnknownProducerBeginsAnywhereUntilOneIsRefused) {
  refusals.nothing_refused_before();
  EXPECT_TRUE(refusals.begins(sequence(3), now));
  refusals.refused({"new", Numbering::kSequence, 0, 0}, false, now);
  EXPECT_FALSE(refusals.begins(sequence(3), now));
}

TEST_F(RefusalsTest, PastItsBoundAGapInSequencesMayBeARefusal) {
  Refusals few({.sources_max = 1}, now);
  few.refused(sequence(1), true, now);
  EXPECT_FALSE(few.may_have_refused(now));
  few.refused({"other", Numbering::kSequence, 1, 0}, true, now);
  EXPECT_TRUE(few.may_have_refused(now));
  EXPECT_TRUE(few.admit(seq_no(1), true, now)) << "SeqNos are not concerned";
  EXPECT_FALSE(few.may_have_refused(now + kRefusalMemory));
}

TEST_F(RefusalsTest, PastItsBoundWhatIsNotRememberedIsRefusedUntilItCanBe) {
  Refusals few({.sources_max = 2}, now);
  few.refused(seq_no(1, "a"), true, now);
  few.refused(seq_no(1, "b"), true, now);
  few.refused(seq_no(1, "c"), true, now);
  EXPECT_EQ(few.size(), 2u);
  EXPECT_FALSE(few.admit(seq_no(2, "c"), true, now)) << "1 was refused";
  EXPECT_FALSE(few.admit(seq_no(1, "d"), true, now)) << "it is unknown whether it was refused";
  EXPECT_TRUE(few.admit(sequence(8), true, now)) << "sequences are dense";
  EXPECT_TRUE(few.admit(seq_no(1, "a"), true, now));
  EXPECT_FALSE(few.admit(seq_no(1, "c"), true, now)) << "now it is remembered";
  EXPECT_EQ(few.size(), 2u);
  EXPECT_FALSE(few.admit(seq_no(2, "c"), true, now));
  EXPECT_TRUE(few.admit(seq_no(1, "c"), true, now));
  EXPECT_TRUE(few.admit(seq_no(2, "c"), true, now));
  now = now + kRefusalMemory;
  EXPECT_TRUE(few.admit(seq_no(2, "d"), true, now));
}

// Pipelines, the lowest number that is not in flight first.
struct Writer {
  Producer producer;
  std::set<std::uint64_t> waiting;
  std::deque<std::uint64_t> in_flight;  // In the order of sending.
  std::deque<std::uint64_t> refused;    // Not answered yet.
  std::uint64_t accepted = 0;           // All up to this one.
};

// One step of one writer. False: a number was passed.
bool step(Writer& writer, Refusals& refusals, SeededRandom& random, bool refusing) {
  const std::uint64_t dice = random.below(3);
  if (dice == 0 && !writer.waiting.empty()) {
    writer.in_flight.push_back(writer.waiting.extract(writer.waiting.begin()).value());
  } else if (dice == 1 && !writer.refused.empty()) {
    writer.waiting.insert(writer.refused.front());
    writer.refused.pop_front();
  } else if (dice == 2 && !writer.in_flight.empty()) {
    writer.producer.number = writer.in_flight.front();
    writer.in_flight.pop_front();
    if (!refusals.admit(writer.producer, true, kStart)) {
      writer.refused.push_back(writer.producer.number);
    } else if (refusing && random.one_in(4)) {
      refusals.refused(writer.producer, true, kStart);
      writer.refused.push_back(writer.producer.number);
    } else {
      return writer.producer.number == ++writer.accepted;
    }
  }
  return true;
}

TEST(RefusalsRandom, WritersThatDoNotWaitLoseNothingAndEnd) {
  constexpr std::uint64_t kNumbers = 30;
  constexpr int kSteps = 100'000;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SeededRandom random(seed);
    const RefusalRules rules{.sources_max = 1 + random.below(6),
                             .numbers_max = random.one_in(2) ? 1 + random.below(40) : 10'000};
    Refusals refusals(rules, kStart);
    std::vector<Writer> writers(1 + random.below(6));
    for (std::size_t i = 0; i < writers.size(); ++i) {
      writers[i].producer = seq_no(0, std::string(1, static_cast<char>('a' + i)));
      for (std::uint64_t number = 1; number <= kNumbers; ++number) {
        writers[i].waiting.insert(number);
      }
    }
    const auto ended = [](const Writer& writer) { return writer.accepted == kNumbers; };
    int steps = 0;
    for (; steps < kSteps && !std::ranges::all_of(writers, ended); ++steps) {
      Writer& writer = writers[random.below(writers.size())];
      ASSERT_TRUE(step(writer, refusals, random, steps < kSteps / 100))
          << "seed " << seed << ": " << writer.producer.number << " was accepted before "
          << writer.accepted;
    }
    ASSERT_LT(steps, kSteps) << "seed " << seed << ": a writer waits for ever";
  }
}

}  // namespace
}  // namespace moraine::queue
