#include "gateway/kafka/server/context.h"

#include <gtest/gtest.h>

namespace moraine::kafka {
namespace {

TEST(ErrorsOfKafka, WhatIsNotHereIsLookedForAndRetried) {
  const Error error{Errc::kNotHere, "the tablet is not running here"};
  EXPECT_EQ(partition_error(error), ErrorCode::kNotLeaderOrFollower);
  EXPECT_EQ(topic_error(error), ErrorCode::kNotController);
}

TEST(ErrorsOfKafka, DamageIsReported) {
  EXPECT_EQ(partition_error({Errc::kCorrupt, ""}), ErrorCode::kCorruptMessage);
}

TEST(ErrorsOfKafka, AChangeOfATopicWithAnUnknownOutcomeHasTimedOut) {
  for (const Errc code : {Errc::kUnavailable, Errc::kTimeout, Errc::kUnknownOutcome}) {
    EXPECT_EQ(topic_error({code, ""}), ErrorCode::kRequestTimedOut);
  }
}

}  // namespace
}  // namespace moraine::kafka
