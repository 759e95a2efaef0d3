#include "io/real/file_reader.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "io/real/real_disk.h"

namespace moraine {
namespace {

constexpr std::uint64_t kSize = std::uint64_t{1} << 20;

class FileReaderTest : public testing::Test {
 protected:
  FileReaderTest()
      : lane_({.name = "test", .io = IoMode::kAuto, .cpu = std::nullopt}), store_(lane_) {
    std::string pattern = (std::filesystem::current_path() / "file_reader_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    disk_ = open({.create = true, .create_size = kSize, .read_only = false}).value();
  }
  ~FileReaderTest() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<Disk>> open(DiskOptions options) {
    return lane_.run(store_.open(folder_ / "disk", options));
  }
  void write(std::uint64_t offset, std::size_t size, int value) {
    Buffer buffer(size);
    std::memset(buffer.data(), value, size);
    std::vector<Slice> pieces;
    pieces.push_back(std::move(buffer).freeze());
    ASSERT_TRUE(lane_.run(disk_->write(offset, std::move(pieces), Durability::kCached)));
  }

  std::filesystem::path folder_;
  Lane lane_;
  RealDiskStore store_;
  std::unique_ptr<Disk> disk_;
};

TEST_F(FileReaderTest, GivesOnAnyThreadWhatTheDiskHasWritten) {
  write(kSectorSize, 2 * kSectorSize, 'a');
  const auto reader = disk_->reader();
  ASSERT_NE(reader, nullptr);
  Result<Slice> bytes;
  std::thread([&] { bytes = reader->read(0, 3 * kSectorSize); }).join();
  ASSERT_TRUE(bytes) << bytes.error().message();
  EXPECT_EQ(bytes->text()[0], '\0');
  EXPECT_EQ(bytes->text()[kSectorSize], 'a');
  EXPECT_EQ(bytes->text().back(), 'a');
  write(0, kSectorSize, 'b');
  EXPECT_EQ(reader->read(0, kSectorSize).value().text()[0], 'b');
}

TEST_F(FileReaderTest, RefusesWhatLiesPastTheEnd) {
  const auto reader = disk_->reader();
  EXPECT_TRUE(reader->read(kSize - kSectorSize, kSectorSize));
  EXPECT_EQ(reader->read(kSize, kSectorSize).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(reader->read(~std::uint64_t{0} / kSectorSize * kSectorSize, kSectorSize).error().code,
            Errc::kInvalidArgument);
}

TEST_F(FileReaderTest, DoesNotHoldTheLockOfTheDisk) {
  const auto reader = disk_->reader();
  EXPECT_EQ(open({}).error().code, Errc::kConflict);
  disk_.reset();
  auto again = open({});
  ASSERT_TRUE(again) << again.error().message();
  disk_ = std::move(*again);
  write(0, kSectorSize, 'c');
  EXPECT_EQ(reader->read(0, kSectorSize).value().text()[0], 'c');
}

}  // namespace
}  // namespace moraine
