#include "crash/topics/topic_truth.h"

#include <gtest/gtest.h>

#include "crash/topics/log_check.h"

namespace moraine::crash {
namespace {

class Topic : public testing::Test {
 protected:
  MessageId send(std::int32_t partition, std::uint32_t producer = 0) {
    return truth.begin_send(producer, partition, 100);
  }
  MessageId store(std::int32_t partition, std::int64_t offset, std::uint32_t producer = 0) {
    const MessageId id = send(partition, producer);
    truth.acknowledged(id, partition, offset);
    return id;
  }
  static std::string bytes(const MessageId& id, std::int32_t partition) {
    return message_bytes(id, partition, 100);
  }
  // How often each kind was found, as the only one.
  std::uint64_t only(Violation kind) const {
    const TopicCounts counts = truth.counts();
    return counts.of(kind) == counts.violations_in_all() ? counts.of(kind) : 0;
  }

  TopicTruth truth{2, 2};
};

TEST_F(Topic, AnAcknowledgedMessageThatIsNotThereIsLost) {
  store(0, 0);
  send(0);
  LogCheck(truth).finish();
  EXPECT_EQ(only(Violation::kLost), 1u);
}

TEST_F(Topic, AMessageInFlightIsThereOrNot) {
  const MessageId flying = send(1);
  LogCheck(truth).finish();
  LogCheck check(truth);
  check.see(1, 0, bytes(flying, 1));
  check.finish();
  EXPECT_EQ(truth.counts().violations_in_all(), 0u);
}

TEST_F(Topic, AMessageStoredTwiceIsDoubled) {
  const MessageId flying = send(0);
  LogCheck check(truth);
  check.see(0, 0, bytes(flying, 0));
  check.see(0, 1, bytes(flying, 0));
  EXPECT_EQ(only(Violation::kDoubled), 1u);
}

TEST_F(Topic, AMessageIsWhereItWasAcknowledged) {
  const MessageId id = store(0, 1);
  LogCheck check(truth);
  check.see(0, 0, bytes(id, 0));
  EXPECT_EQ(only(Violation::kMoved), 1u);
}

TEST_F(Topic, MessagesOfAProducerKeepTheirOrder) {
  const MessageId first = send(0);
  const MessageId second = send(0);
  const MessageId other = send(0, 1);
  LogCheck check(truth);
  check.see(0, 0, bytes(second, 0));
  check.see(0, 1, bytes(other, 0));
  EXPECT_EQ(truth.counts().violations_in_all(), 0u);
  check.see(0, 2, bytes(first, 0));
  EXPECT_EQ(only(Violation::kDisordered), 1u);
}

TEST_F(Topic, AMessageThatWasNotSentIsForeign) {
  const MessageId id = send(0);
  LogCheck check(truth);
  check.see(0, 0, "words");
  check.see(0, 1, bytes({0, 7}, 0));
  check.see(1, 0, bytes(id, 1));
  EXPECT_EQ(only(Violation::kForeign), 3u);
}

TEST_F(Topic, OtherBytesAreNoticed) {
  const MessageId id = send(0);
  std::string changed = bytes(id, 0);
  changed.back() ^= 1;
  LogCheck check(truth);
  check.see(0, 0, changed);
  EXPECT_EQ(only(Violation::kChanged), 1u);
}

TEST_F(Topic, AnOffsetThatIsLeftOutIsAHole) {
  const MessageId id = send(0);
  LogCheck check(truth);
  check.see(0, 1, bytes(id, 0));
  EXPECT_EQ(only(Violation::kHole), 1u);
}

TEST_F(Topic, WhatTheGroupReadMustStay) {
  const MessageId first = send(0);
  const MessageId second = send(0);
  Assignment assignment = truth.assigned(0);
  truth.processed(assignment, 0, bytes(first, 0));
  LogCheck check(truth);
  check.see(0, 0, bytes(second, 0));
  EXPECT_EQ(only(Violation::kChanged), 1u);
}

class Group : public Topic {
 protected:
  void process(Assignment& assignment, std::int64_t offset) {
    truth.processed(assignment, offset,
                    bytes({0, static_cast<std::uint64_t>(offset)}, assignment.partition));
  }
};

TEST_F(Group, ResumesBetweenTheLastAcknowledgedCommitAndTheHighestSent) {
  Assignment first = truth.assigned(0);
  for (int i = 0; i < 10; ++i) process(first, i);
  truth.begin_commit(0, 4);
  truth.committed(first, 4);
  truth.begin_commit(0, 8);
  for (const std::int64_t offset : {4, 6, 8}) {
    Assignment next = truth.assigned(0);
    process(next, offset);
  }
  EXPECT_EQ(truth.counts().violations_in_all(), 0u);
  EXPECT_EQ(truth.counts().reprocessed, 3u);
  Assignment back = truth.assigned(0);
  process(back, 3);
  EXPECT_EQ(only(Violation::kWentBack), 1u);
  Assignment ahead = truth.assigned(0);
  process(ahead, 9);
  EXPECT_EQ(truth.counts().of(Violation::kSkipped), 1u);
}

TEST_F(Group, ACommitIsTheLastAcknowledgedOneOrOneSentAfterIt) {
  Assignment assignment = truth.assigned(0);
  for (int i = 0; i < 10; ++i) process(assignment, i);
  truth.begin_commit(0, 4);
  truth.committed(assignment, 4);
  truth.begin_commit(0, 8);
  const std::int64_t floor = truth.commit_floor(0);
  truth.found_commit(0, floor, 4);
  truth.found_commit(0, floor, 8);
  EXPECT_EQ(truth.counts().violations_in_all(), 0u);
  truth.found_commit(0, floor, 0);
  EXPECT_EQ(only(Violation::kWentBack), 1u);
  truth.found_commit(0, floor, 9);
  EXPECT_EQ(truth.counts().of(Violation::kSkipped), 1u);
}

TEST_F(Group, LeavesNothingOut) {
  Assignment assignment = truth.assigned(0);
  process(assignment, 0);
  process(assignment, 2);
  EXPECT_EQ(only(Violation::kSkipped), 1u);
  Assignment other = truth.assigned(1);
  process(other, 1);
  EXPECT_EQ(only(Violation::kSkipped), 2u);
}

TEST_F(Group, AConsumerDoesNotGoBackByItself) {
  Assignment assignment = truth.assigned(0);
  process(assignment, 0);
  process(assignment, 1);
  process(assignment, 0);
  EXPECT_EQ(only(Violation::kWentBack), 1u);
}

}  // namespace
}  // namespace moraine::crash
