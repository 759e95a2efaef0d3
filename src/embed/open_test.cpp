// A folder that somebody else has open.
#include <thread>

#include "embed/test_database.h"

namespace moraine {
namespace {

class OpenTest : public DatabaseTest {
 protected:
  Result<Database> open_again() { return Database::open(folder_ + "/data"); }
};

TEST_F(OpenTest, AFolderThatStaysOpenElsewhereIsRefused) {
  const auto second = open_again();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kConflict);
}

TEST_F(OpenTest, AFolderThatIsLetGoOfMeanwhileIsOpened) {
  std::thread other([this] { db_.reset(); });
  const auto second = open_again();
  other.join();
  EXPECT_TRUE(second) << second.error().message();
}

}  // namespace
}  // namespace moraine
