#include "crash/tables/tables_campaign.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace moraine::crash {
namespace {

TEST(TablesCampaign, NothingIsLostOrHalfAppliedWhenTheProgramIsKilled) {
  std::string folder = testing::TempDir() + "moraine-tables-crash-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder.data()));
  TablesCampaignOptions options;
  options.rounds = 5;
  options.binary =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "moraine_crash").string();
  options.folder = folder;
  EXPECT_EQ(run_tables_campaign(options), 0);
  if (!HasFailure()) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace moraine::crash
