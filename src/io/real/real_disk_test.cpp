#include "io/real/real_disk.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "io/real/lane.h"

namespace moraine {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{16} << 20;

class RealDiskTest : public testing::TestWithParam<IoMode> {
 protected:
  RealDiskTest() : lane_({.name = "test", .io = GetParam(), .cpu = std::nullopt}), store_(lane_) {
    std::string pattern = (std::filesystem::current_path() / "real_disk_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RealDiskTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  Result<std::unique_ptr<Disk>> open(const std::string& name, DiskOptions options) {
    return lane_.run(store_.open(path(name), options));
  }
  std::unique_ptr<Disk> create(const std::string& name, std::uint64_t size = kSize) {
    DiskOptions options{.create = true, .create_size = size, .read_only = false};
    auto disk = open(name, options);
    EXPECT_TRUE(disk.has_value()) << (disk ? "" : disk.error().message());
    return std::move(*disk);
  }

  std::filesystem::path folder_;
  Lane lane_;
  RealDiskStore store_;
};

INSTANTIATE_TEST_SUITE_P(Engines, RealDiskTest, testing::Values(IoMode::kAuto, IoMode::kThreads),
                         [](const auto& info) {
                           return info.param == IoMode::kAuto ? "Auto" : "Threads";
                         });

Slice filled(std::size_t size, int value) {
  Buffer buffer(size);
  std::memset(buffer.data(), value, size);
  return std::move(buffer).freeze();
}

std::vector<Slice> one(Slice piece) {
  std::vector<Slice> pieces;
  pieces.push_back(std::move(piece));
  return pieces;
}

bool all_are(ByteSpan bytes, int value) {
  return std::ranges::all_of(bytes, [value](std::byte b) { return b == std::byte(value); });
}

TEST_P(RealDiskTest, ReadsBackThePiecesOfAWriteInTheirOrder) {
  auto disk = create("d");
  for (const Durability durability : {Durability::kCached, Durability::kDurable}) {
    std::vector<Slice> pieces = {filled(4096, 1), filled(8192, 2), filled(4096, 3)};
    ASSERT_TRUE(lane_.run(disk->write(4096, std::move(pieces), durability)));
    ASSERT_TRUE(lane_.run(disk->sync()));
    const Result<Slice> read = lane_.run(disk->read(4096, 16384));
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_TRUE(all_are(read->sub(0, 4096), 1));
    EXPECT_TRUE(all_are(read->sub(4096, 8192), 2));
    EXPECT_TRUE(all_are(read->sub(12288, 4096), 3));
    EXPECT_TRUE(read->aligned());
  }
}

TEST_P(RealDiskTest, ContentSurvivesReopening) {
  ASSERT_TRUE(lane_.run(create("d")->write(0, one(filled(4096, 7)), Durability::kDurable)));
  auto disk = open("d", {});
  ASSERT_TRUE(disk) << disk.error().message();
  EXPECT_EQ((*disk)->size(), kSize);
  EXPECT_TRUE(all_are(*lane_.run((*disk)->read(0, 4096)), 7));
}

TEST_P(RealDiskTest, WritesMorePiecesThanOneSystemCallTakes) {
  auto disk = create("d");
  std::vector<Slice> pieces;
  for (int i = 0; i < 1500; ++i) pieces.push_back(filled(4096, i % 251));
  ASSERT_TRUE(lane_.run(disk->write(0, std::move(pieces), Durability::kDurable)));
  const Slice read = *lane_.run(disk->read(0, 1500 * 4096));
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE(all_are(read.sub(i * 4096, 4096), i % 251)) << i;
}

TEST_P(RealDiskTest, RefusesRangesPastTheEnd) {
  auto disk = create("d");
  EXPECT_EQ(lane_.run(disk->read(kSize, 4096)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(lane_.run(disk->read(kSize - 4096, 8192)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(lane_.run(disk->read(~std::uint64_t{4095}, 8192)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(lane_.run(disk->write(kSize, one(filled(4096, 0)), Durability::kCached)).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(lane_.run(disk->allocate(kSize, 4096)).error().code, Errc::kInvalidArgument);
  EXPECT_TRUE(lane_.run(disk->read(kSize, 0)));
}

TEST_P(RealDiskTest, AllocatesBlocksWithoutChangingTheSize) {
  auto disk = create("d");
  ASSERT_TRUE(lane_.run(disk->allocate(0, kSize / 2)));
  struct stat info{};
  ASSERT_EQ(stat(path("d").c_str(), &info), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(info.st_size), kSize);
  EXPECT_TRUE(all_are(*lane_.run(disk->read(0, 4096)), 0));
}

TEST_P(RealDiskTest, DiscardedRangesReleaseTheirBlocksAndLeaveTheRestUnchanged) {
  auto disk = create("d");
  ASSERT_TRUE(lane_.run(disk->write(0, one(filled(1u << 20, 5)), Durability::kDurable)));
  const auto blocks = [&] {
    struct stat info{};
    EXPECT_EQ(stat(path("d").c_str(), &info), 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
  };
  const std::uint64_t before = blocks();
  const auto discarded = lane_.run(disk->discard(65536, 512u << 10));
  if (!discarded && discarded.error().code == Errc::kUnsupported) GTEST_SKIP() << "no holes here";
  ASSERT_TRUE(discarded) << discarded.error().message();
  ASSERT_TRUE(lane_.run(disk->sync()));
  EXPECT_LE(blocks() + (256u << 10), before);
  EXPECT_EQ(disk->size(), kSize);
  EXPECT_TRUE(all_are(*lane_.run(disk->read(0, 65536)), 5));
  EXPECT_TRUE(all_are(*lane_.run(disk->read(65536 + (512u << 10), 65536)), 5));
  EXPECT_EQ(lane_.run(disk->discard(kSize, 4096)).error().code, Errc::kInvalidArgument);
  ASSERT_TRUE(lane_.run(disk->write(65536, one(filled(4096, 6)), Durability::kDurable)));
  EXPECT_TRUE(all_are(*lane_.run(disk->read(65536, 4096)), 6));
}

TEST_P(RealDiskTest, ASecondOpenerGetsAConflictThatNamesThePath) {
  auto disk = create("d");
  const auto second = open("d", {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kConflict);
  EXPECT_NE(second.error().context.find(path("d")), std::string::npos);
  disk.reset();
  EXPECT_TRUE(open("d", {}));
}

TEST_P(RealDiskTest, ErrorsOfOpeningSayWhatHappened) {
  EXPECT_EQ(open("absent", {}).error().code, Errc::kNotFound);
  DiskOptions options{.create = true, .create_size = kSize, .read_only = false};
  create("there");
  EXPECT_EQ(open("there", options).error().code, Errc::kAlreadyExists);
  options.create_size = 1000;
  EXPECT_EQ(open("odd", options).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(open(".", {.create = false, .create_size = 0, .read_only = true}).error().code,
            Errc::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(path("odd")));
}

TEST_P(RealDiskTest, AReadOnlyDiskRefusesWrites) {
  create("d");
  auto disk = open("d", {.create = false, .create_size = 0, .read_only = true});
  ASSERT_TRUE(disk) << disk.error().message();
  EXPECT_TRUE(lane_.run((*disk)->read(0, 4096)));
  EXPECT_EQ(lane_.run((*disk)->write(0, one(filled(4096, 1)), Durability::kCached)).error().code,
            Errc::kReadOnly);
  EXPECT_EQ(lane_.run((*disk)->allocate(0, 4096)).error().code, Errc::kReadOnly);
}

TEST_P(RealDiskTest, ATruncatedFileGivesAnIoErrorAndNoMadeUpBytes) {
  auto disk = create("d");
  ASSERT_EQ(truncate(path("d").c_str(), 4096), 0);
  const Result<Slice> read = lane_.run(disk->read(0, 8192));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kIo);
  EXPECT_NE(read.error().context.find(path("d")), std::string::npos);
}

Task<void> write_and_read(Disk& disk, std::uint64_t offset, int value, int& right) {
  const Result<void> written =
      co_await disk.write(offset, one(filled(4096, value)), Durability::kCached);
  const Result<Slice> read = co_await disk.read(offset, 4096);
  if (written && read && all_are(*read, value)) ++right;
}

Task<void> many(Disk& disk, int count, int& right) {
  TaskScope scope;
  for (int i = 0; i < count; ++i) {
    scope.spawn(write_and_read(disk, static_cast<std::uint64_t>(i) * 4096, i % 251, right));
  }
  co_await scope.join();
}

TEST_P(RealDiskTest, CallsPastTheQueueDepthWaitAndAllFinish) {
  auto disk = create("d");
  const int count = static_cast<int>(kDiskQueueDepth) * 4;
  int right = 0;
  lane_.run(many(*disk, count, right));
  EXPECT_EQ(right, count);
}

TEST_P(RealDiskTest, WorksWhereTheFileSystemRefusesDirectIo) {
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no tmpfs here";
  std::string pattern = "/dev/shm/real_disk_XXXXXX";
  const std::string file = std::string(mkdtemp(pattern.data())) + "/d";
  DiskOptions options{.create = true, .create_size = kSize, .read_only = false};
  auto disk = lane_.run(store_.open(file, options));
  ASSERT_TRUE(disk) << disk.error().message();
  EXPECT_TRUE(lane_.run((*disk)->allocate(0, 8192)));
  EXPECT_TRUE(lane_.run((*disk)->write(0, one(filled(4096, 9)), Durability::kDurable)));
  EXPECT_TRUE(lane_.run((*disk)->sync()));
  EXPECT_TRUE(all_are(*lane_.run((*disk)->read(0, 4096)), 9));
  std::filesystem::remove_all(pattern);
}

TEST_P(RealDiskTest, AStartedLaneServesADiskAndStopsCleanly) {
  Lane lane({.name = "disk lane", .io = GetParam(), .cpu = std::nullopt});
  RealDiskStore store(lane);
  std::unique_ptr<Disk> disk;
  int right = 0;
  lane.start();
  lane.post([&] {
    struct Body {
      static Task<void> run(RealDiskStore& from, std::string at, std::unique_ptr<Disk>& to,
                            int& n) {
        DiskOptions options{.create = true, .create_size = kSize, .read_only = false};
        auto opened = co_await from.open(at, options);
        if (!opened) co_return;
        to = std::move(*opened);
        co_await many(*to, 64, n);
      }
    };
    spawn(Body::run(store, path("d"), disk, right));
  });
  lane.stop();
  EXPECT_EQ(right, 64);
}

TEST(DiskError, NamesOperationPathOffsetAndReason) {
  EXPECT_EQ(disk_error(ENOSPC, "write", "/data/d1", 4096, 8192).message(),
            "no space: write /data/d1 at 4096, 8192 bytes: No space left on device");
  EXPECT_EQ(disk_error(EDQUOT, "write", "x").code, Errc::kNoSpace);
  EXPECT_EQ(disk_error(EROFS, "open", "x").code, Errc::kReadOnly);
  EXPECT_EQ(disk_error(EACCES, "open", "x").code, Errc::kReadOnly);
  EXPECT_EQ(disk_error(EIO, "read", "x").code, Errc::kIo);
}

}  // namespace
}  // namespace moraine
