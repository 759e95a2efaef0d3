#include "cluster/topics_claim.h"

#include <algorithm>

#include "base/log.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

class TopicsClaimTest : public testing::Test {
 protected:
  TopicsClaimTest() : world_(12), storage_(world_) {}
  ~TopicsClaimTest() override { world_.shutdown(); }

  Result<std::unique_ptr<TopicsClaim>> take(std::uint32_t node, bool take_over = false) {
    ClaimHolder self;
    self.node = node;
    self.address = "127.0.0.1:" + std::to_string(9090 + node);
    ClaimOptions options;
    options.take_over = take_over;
    Result<std::unique_ptr<TopicsClaim>> taken = fail(Errc::kUnavailable, "");
    world_.run(take_into(std::move(self), options, taken));
    return taken;
  }
  Task<void> take_into(ClaimHolder self, ClaimOptions options,
                       Result<std::unique_ptr<TopicsClaim>>& taken) {
    taken = co_await TopicsClaim::take(storage_.world(), *storage_.group(kTestGroup),
                                       std::move(self), options);
  }
  void die(TopicsClaim& claim) {
    claim.abandon();
    world_.run_for(1ms);
  }
  void wait(Duration time) { world_.run_for(time); }

  SimWorld world_;
  TestStorage storage_;
};

TEST_F(TopicsClaimTest, ASecondNodeIsRefusedWithTheNodeThatServes) {
  const auto first = take(1);
  ASSERT_TRUE(first) << first.error().message();
  wait(10s);
  const auto second = take(2);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kConflict);
  for (const char* word : {"node 1", "127.0.0.1:9091", "--take-over"}) {
    EXPECT_TRUE(second.error().context.contains(word)) << second.error().context;
  }
  EXPECT_FALSE((*first)->lost()) << "a read does not fence the holder";
  world_.run((*first)->stop());
}

TEST_F(TopicsClaimTest, BeatsThatFailAreLoggedOnceAndLeaveOneBlob) {
  const auto claim = take(1);
  ASSERT_TRUE(claim) << claim.error().message();
  wait(3s);
  const ScopedLogCapture log;
  const auto blobs = [this] {
    return storage_.storage().vdisks().begin()->second->state().index().size();
  };
  const std::size_t before = blobs();
  auto& faults = storage_.node().disks().drive("device").faults();
  faults.slow_factor = 1'000'000;
  wait(60s);
  faults.slow_factor = 1;
  EXPECT_FALSE((*claim)->lost());
  wait(300s);
  const auto count = [&](std::string_view text) {
    return std::ranges::count_if(log.lines(),
                                 [&](const auto& line) { return line.contains(text); });
  };
  EXPECT_EQ(count("cannot be renewed"), 1);
  EXPECT_EQ(count("renewed again"), 1);
  EXPECT_LE(blobs(), before + 1);
  world_.run((*claim)->stop());
}

TEST_F(TopicsClaimTest, OfTwoNodesThatTakeAFreeClaimAtOnceOneIsRefused) {
  Result<std::unique_ptr<TopicsClaim>> first = fail(Errc::kUnavailable, "");
  Result<std::unique_ptr<TopicsClaim>> second = fail(Errc::kUnavailable, "");
  TaskScope scope;
  scope.spawn(take_into({1, false, "127.0.0.1:9091"}, {}, first));
  scope.spawn(take_into({2, false, "127.0.0.1:9092"}, {}, second));
  wait(30s);
  ASSERT_EQ(scope.live(), 0u);
  ASSERT_EQ(first.has_value() + second.has_value(), 1);
  EXPECT_EQ((first ? second : first).error().code, Errc::kConflict);
  const auto& holder = first ? first : second;
  EXPECT_FALSE((*holder)->lost());
  world_.run((*holder)->stop());
}

TEST_F(TopicsClaimTest, ANodeThatEndedOrDiedIsFollowed) {
  const auto first = take(1);
  ASSERT_TRUE(first);
  world_.run((*first)->stop());
  const auto second = take(2);
  ASSERT_TRUE(second) << second.error().message();
  world_.run((*second)->stop());
  // A holder without heartbeats.
  {
    const auto dead = take(1);
    ASSERT_TRUE(dead);
    die(**dead);
  }
  const auto third = take(3);
  ASSERT_TRUE(third) << third.error().message();
  world_.run((*third)->stop());
}

TEST_F(TopicsClaimTest, ANodeTakesItsOwnClaimBackAtOnce) {
  const auto first = take(1);
  ASSERT_TRUE(first);
  die(**first);
  const Instant before = storage_.world().executor.now();
  const auto again = take(1);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_LT(storage_.world().executor.now() - before, ClaimOptions().silence);
  world_.run((*again)->stop());
}

TEST_F(TopicsClaimTest, TakingOverFencesAndNotifiesThePreviousNode) {
  const auto first = take(1);
  ASSERT_TRUE(first);
  bool notified = false;
  (*first)->on_lost([&notified] { notified = true; });
  const auto second = take(2, true);
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_TRUE((*first)->lost()) << "before the second one begins to serve";
  EXPECT_TRUE(notified);
  wait(10s);
  EXPECT_FALSE((*second)->lost()) << "it does not fight back";
  world_.run((*first)->stop());
  wait(3s);
  EXPECT_FALSE((*second)->lost()) << "nor when it ends";
  world_.run((*second)->stop());
}

TEST(TopicsClaim, AClaimIsReadAsItWasWrittenAndDamageIsSeen) {
  const ClaimHolder holder{7, true, "host:9092"};
  const Slice bytes = encode_claim(holder);
  EXPECT_EQ(decode_claim(bytes).value(), holder);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> broken(bytes.span().begin(), bytes.span().end());
    broken[i] ^= std::byte{1};
    EXPECT_FALSE(decode_claim(broken)) << i;
  }
}

}  // namespace
}  // namespace moraine
