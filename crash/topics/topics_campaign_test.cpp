#include "crash/topics/topics_campaign.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "app/cli_test_util.h"

namespace moraine::crash {
namespace {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#endif

TEST(TopicsCampaign, NothingIsLostOrDoubledWhenTheServerIsKilled) {
  if (kThreadSanitizer) GTEST_SKIP() << "librdkafka starts threads that the sanitizer cannot see";
  std::string folder = testing::TempDir() + "moraine-topics-crash-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder.data()));
  TopicsCampaignOptions options;
  options.rounds = 4;
  options.check_every = 2;
  options.binary = app::moraine_binary();
  options.folder = folder;
  EXPECT_EQ(run_topics_campaign(options), 0);
  if (!HasFailure()) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace moraine::crash
