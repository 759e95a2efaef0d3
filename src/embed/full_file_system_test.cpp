// A file system that other programs have filled: the folder opens while there is enough space for
// what a start writes, and fails with kNoSpace otherwise.

#include <sys/mount.h>

#include <fstream>

#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr int kOpensMax = 2'000;

class FullFileSystem : public DatabaseTest {
 protected:
  FullFileSystem() {
    db_.reset();
    disk_ = folder_ + "/disk";
    std::filesystem::create_directory(disk_);
    mounted_ = mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=128m") == 0;
  }
  ~FullFileSystem() override {
    db_.reset();
    if (mounted_) umount2(disk_.c_str(), MNT_DETACH);
  }
  Result<void> open_there() {
    OpenOptions options;
    options.device_bytes = std::uint64_t{256} << 20;
    auto opened = Database::open(disk_ + "/data", options);
    if (!opened) return std::unexpected(opened.error());
    db_.emplace(std::move(*opened));
    return {};
  }
  void fill() {
    std::ofstream filler(disk_ + "/filler");
    const std::string page(4096, 'x');
    while (filler.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }

  std::string disk_;
  bool mounted_ = false;
};

TEST_F(FullFileSystem, OpensAsLongAsThereIsRoomAndThenSaysThatThereIsNone) {
  if (!mounted_) GTEST_SKIP() << "only root can mount a small file system";
  expect_ok(open_there());
  expect_ok(db_->run(db_->create_table("/users", users_schema())));
  insert(users(), {{"id", 1}, {"name", "kept"}});
  db_.reset();
  fill();
  Result<void> opened = open_there();
  for (int i = 0; opened && i < kOpensMax; ++i) {
    ASSERT_EQ(name_of(users(), 1), "kept");
    db_.reset();
    opened = open_there();
  }
  ASSERT_FALSE(opened) << "opening always found space; use another device";
  EXPECT_EQ(opened.error().code, Errc::kNoSpace) << opened.error().message();
  EXPECT_NE(opened.error().context.find(disk_ + "/data: not enough free space"), std::string::npos)
      << opened.error().message();
  std::filesystem::remove(disk_ + "/filler");
  expect_ok(open_there());
  EXPECT_EQ(name_of(users(), 1), "kept");
}

}  // namespace
}  // namespace moraine
