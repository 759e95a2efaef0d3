// A folder that another process has open, or whose config was edited.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "embed/test_database.h"

namespace moraine {
namespace {

class OpenTest : public DatabaseTest {
 protected:
  Result<Database> open_again() { return Database::open(folder_ + "/data"); }
  void put_a_group_first() {
    const std::string path = folder_ + "/data/cluster.yaml";
    std::ifstream file(path);
    std::string config(std::istreambuf_iterator<char>(file), {});
    const std::string groups = "\ngroups:\n";
    const std::size_t at = config.find(groups);
    ASSERT_NE(at, std::string::npos) << config;
    config.insert(at + groups.size(),
                  "  - id: 0x82000001\n"
                  "    generation: 1\n"
                  "    erasure: none\n"
                  "    shape: {realms: 1, domains: 1, vdisks: 1}\n"
                  "    disks:\n"
                  "      - {node: 1, device: 1, slot: 1}\n");
    std::ofstream(path) << config;
  }
};

TEST_F(OpenTest, AFolderThatStaysOpenElsewhereIsRefused) {
  const auto second = open_again();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kConflict);
}

TEST_F(OpenTest, TheProcessThatHasTheFolderIsNamed) {
  db_.reset();
  const std::string device = folder_ + "/data/device-1";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    const int fd = ::open(device.c_str(), O_RDWR);
    const char locked = fd >= 0 && flock(fd, LOCK_EX) == 0 ? 'y' : 'n';
    if (::write(ready[1], &locked, 1) == 1) pause();
    _exit(0);
  }
  char locked = 'n';
  ASSERT_EQ(::read(ready[0], &locked, 1), 1);
  const auto second = open_again();
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  for (const int fd : ready) ::close(fd);
  ASSERT_EQ(locked, 'y');
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kConflict);
  EXPECT_NE(second.error().context.find(device + ": process " + std::to_string(other)),
            std::string::npos)
      << second.error().context;
}

TEST_F(OpenTest, AFolderThatIsReleasedMeanwhileIsOpened) {
  std::thread other([this] { db_.reset(); });
  const auto second = open_again();
  other.join();
  EXPECT_TRUE(second) << second.error().message();
}

TEST_F(OpenTest, TheMemoryOfANodeHasASizeAndAMinimum) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  insert(users(), {{"id", 1}, {"name", "kept"}});
  db_.reset();
  OpenOptions options;
  options.memory_bytes = 1'000;
  const auto refused = Database::open(folder_ + "/data", options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalidArgument);
  EXPECT_NE(refused.error().message().find("268435456"), std::string::npos);
  options.memory_bytes = std::size_t{256} << 20;
  auto opened = Database::open(folder_ + "/data", options);
  ASSERT_TRUE(opened) << opened.error().message();
  db_.emplace(std::move(*opened));
  EXPECT_EQ(name_of(users(), 1), "kept");
}

TEST_F(OpenTest, AGroupThatIsPutFirstLeavesTheTablesWhereTheyAre) {
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  insert(users(), {{"id", 1}, {"name", "kept"}});
  db_.reset();
  put_a_group_first();
  open();
  EXPECT_EQ(name_of(users(), 1), "kept");
  // New tablets are spread over the groups in turn.
  for (const char* path : {"/a", "/b"})
    expect_ok(db_->run(db_->create_table(path, users_schema())));
  insert(users(), {{"id", 2}, {"name", "new"}});
  reopen();
  EXPECT_EQ(name_of(users(), 1), "kept");
  EXPECT_EQ(name_of(users(), 2), "new");
}

}  // namespace
}  // namespace moraine
