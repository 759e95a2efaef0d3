#include "client/change_sessions.h"

#include <gtest/gtest.h>

#include "io/sim/sim_world.h"

namespace moraine {
namespace {

class ChangeSessionsTest : public testing::Test {
 protected:
  ~ChangeSessionsTest() override { world_.shutdown(); }

  static Slice reply(std::string_view text) { return Slice::copy_of(text); }
  // Nullopt: not ended.
  std::shared_ptr<std::optional<bool>> start(Task<bool> task) {
    auto result = std::make_shared<std::optional<bool>>();
    spawn(keep(std::move(task), result));
    world_.run_for(1ms);
    return result;
  }
  static Task<void> keep(Task<bool> task, std::shared_ptr<std::optional<bool>> result) {
    *result = co_await std::move(task);
  }

  SimWorld world_{1};
  std::shared_ptr<std::size_t> kept_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<ChangeSessions> sessions_ =
      std::make_shared<ChangeSessions>(world_.executor(), kept_);
};

TEST_F(ChangeSessionsTest, AChangeIsBegunOnceAndInOrder) {
  const std::uint64_t session = sessions_->open(0);
  EXPECT_EQ(sessions_->begin(session, 2).error(), Refusal::kStaleSession);
  EXPECT_EQ(sessions_->begin(session + 1, 1).error(), Refusal::kStaleSession);
  EXPECT_EQ(sessions_->newest(session, 1), nullptr);
  const auto change = sessions_->begin(session, 1);
  ASSERT_TRUE(change);
  EXPECT_EQ(sessions_->newest(session, 1), *change);
  EXPECT_EQ(sessions_->begin(session, 2).error(), Refusal::kOverloaded);
  sessions_->end(session, *change, reply("one"));
  EXPECT_EQ(sessions_->newest(session, 1)->reply->text(), "one");
  EXPECT_EQ(*kept_, 3u);
  ASSERT_TRUE(sessions_->begin(session, 2));
  EXPECT_EQ(*kept_, 0u);
  EXPECT_EQ(sessions_->newest(session, 1), nullptr);
  EXPECT_EQ(sessions_->begin(session, 1).error(), Refusal::kStaleSession);
}

TEST_F(ChangeSessionsTest, AChangeThatWasNotCarriedOutMayBeBegunAgain) {
  const std::uint64_t session = sessions_->open(0);
  const auto first = sessions_->begin(session, 1);
  const auto waits = start(ChangeSessions::wait(*first));
  sessions_->cancel(session, *first, reply("too late"));
  world_.run_for(1ms);
  EXPECT_EQ(*waits, true);
  EXPECT_EQ(sessions_->last_change(session), 0u);
  EXPECT_TRUE(sessions_->begin(session, 1));
}

TEST_F(ChangeSessionsTest, AllClosesWaitForTheChangeAndShareTheNextSession) {
  const std::uint64_t session = sessions_->open(0);
  const auto change = sessions_->begin(session, 1);
  const auto first = start(ChangeSessions::close(sessions_, session));
  const auto second = start(ChangeSessions::close(sessions_, session));
  EXPECT_EQ(*first, std::nullopt);
  EXPECT_EQ(*second, std::nullopt);
  EXPECT_EQ(sessions_->begin(session, 2).error(), Refusal::kStaleSession);
  sessions_->end(session, *change, reply("one"));
  world_.run_for(1ms);
  EXPECT_EQ(*first, true);
  EXPECT_EQ(*second, true);
  EXPECT_EQ(sessions_->last_change(session), 1u);
  EXPECT_EQ(sessions_->newest(session, 1), nullptr);
  EXPECT_EQ(*kept_, 0u);
  const std::uint64_t next = sessions_->open(session);
  EXPECT_NE(next, session);
  EXPECT_EQ(sessions_->open(session), next) << "a repeated request";
  ASSERT_TRUE(sessions_->begin(next, 1));
  EXPECT_NE(sessions_->open(session), next) << "that one is used";
}

TEST_F(ChangeSessionsTest, RepeatsThatWaitAreBounded) {
  const std::uint64_t session = sessions_->open(0);
  const auto change = sessions_->begin(session, 1);
  for (std::size_t i = 0; i < kRepeatsWaitingMax; ++i) {
    EXPECT_EQ(*start(ChangeSessions::wait(*change)), std::nullopt);
  }
  EXPECT_EQ(*start(ChangeSessions::wait(*change)), false);
  EXPECT_EQ(*start(ChangeSessions::close(sessions_, session)), false);
  sessions_->end(session, *change, reply("one"));
  world_.run_for(1ms);
  EXPECT_EQ(*start(ChangeSessions::close(sessions_, session)), true);
}

TEST_F(ChangeSessionsTest, TheOldestIdleSessionMakesRoomForANewOne) {
  const std::uint64_t busy = sessions_->open(0);
  ASSERT_TRUE(sessions_->begin(busy, 1));
  const std::uint64_t idle = sessions_->open(0);
  sessions_->end(idle, *sessions_->begin(idle, 1), reply("one"));
  while (sessions_->size() < kChangeSessionsMax) sessions_->open(0);
  EXPECT_EQ(sessions_->last_change(idle), 1u);
  EXPECT_NE(sessions_->open(0), 0u);
  EXPECT_EQ(sessions_->size(), kChangeSessionsMax);
  EXPECT_EQ(sessions_->begin(idle, 2).error(), Refusal::kStaleSession);
  EXPECT_EQ(sessions_->last_change(idle), 1u) << "it is remembered";
  EXPECT_NE(sessions_->newest(busy, 1), nullptr);
  EXPECT_EQ(*kept_, 0u);
}

TEST_F(ChangeSessionsTest, KeptRepliesAreBounded) {
  const Slice large = Buffer::zeroed(kKeptReplyBytesMax / 4).freeze();
  std::vector<std::uint64_t> opened;
  for (int i = 0; i < 6; ++i) {
    opened.push_back(sessions_->open(0));
    sessions_->end(opened.back(), *sessions_->begin(opened.back(), 1), large);
    EXPECT_LE(*kept_, kKeptReplyBytesMax);
  }
  EXPECT_EQ(sessions_->newest(opened[0], 1), nullptr);
  EXPECT_NE(sessions_->newest(opened[5], 1), nullptr);
}

}  // namespace
}  // namespace moraine
