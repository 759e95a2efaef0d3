#include "blob/device/device.h"

#include <gtest/gtest.h>

#include "blob/device/test_owner.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr OwnerSlot kSlot = 1;
const std::string kPath = "device";

// One simulated machine with one device.
class DeviceTest : public testing::Test {
 protected:
  DeviceTest() : world_(1), node_(world_.add_node()) {}
  ~DeviceTest() override { close(); }

  void format(std::uint32_t segments = 32, std::uint32_t segment_bytes = 256u << 10) {
    FormatOptions options;
    options.size = kSegmentsOffset + std::uint64_t{segments} * segment_bytes;
    options.segment_bytes = segment_bytes;
    const auto formatted = world_.run(Device::format(node_.world(), kPath, options));
    ASSERT_TRUE(formatted) << formatted.error().message();
  }
  void open(DeviceOptions options = {}) {
    auto opened = world_.run(Device::open(node_.world(), kPath, options, TestOwner::factory()));
    ASSERT_TRUE(opened) << opened.error().message();
    device_ = std::move(*opened);
    owner_ = std::static_pointer_cast<TestOwner>(device_->attach(kSlot));
  }
  void close() {
    if (!device_) return;
    world_.run(device_->stop());
    owner_.reset();
    device_.reset();
  }
  void crash(CrashPolicy policy) {
    node_.on_stop([this] { device_->abandon(); });
    node_.on_crash([this] {
      owner_.reset();
      device_.reset();
    });
    node_.crash(policy);
    node_.restart();
  }
  void set(const std::string& name, Slice data) {
    const auto written = world_.run(owner_->set(name, std::move(data)));
    ASSERT_TRUE(written) << written.error().message();
  }
  void expect(const std::string& name, const Slice& data) {
    const auto got = world_.run(owner_->get(name));
    ASSERT_TRUE(got) << name << ": " << got.error().message();
    EXPECT_TRUE(equal(*got, data)) << name;
  }

  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<TestOwner> owner_;
};

TEST_F(DeviceTest, GivesBackWhatWasAppendedForEverySizeAndRange) {
  format(64, 1u << 20);
  open();
  const std::vector<std::size_t> sizes{1,     100,   4095,  4096,   4097,   8192,  65535,
                                       65536, 65537, 70000, 131072, 200000, 900000};
  for (const std::size_t size : sizes) set(std::to_string(size), bytes_of(size, size));
  for (const std::size_t size : sizes) {
    const Slice data = bytes_of(size, size);
    expect(std::to_string(size), data);
    for (const auto& [shift, length] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 1}, {size - 1, 1}, {size / 2, size - size / 2}, {size / 3, size / 3}}) {
      if (length == 0) continue;
      const auto part =
          world_.run(owner_->get_range(std::to_string(size), static_cast<std::uint32_t>(shift),
                                       static_cast<std::uint32_t>(length)));
      ASSERT_TRUE(part) << size << " " << shift << "+" << length << part.error().message();
      EXPECT_TRUE(equal(*part, data.sub(shift, length)));
    }
  }
}

TEST_F(DeviceTest, KeepsEverythingOverACleanRestartAndReadsOnlyTheCheckpoint) {
  format();
  open();
  for (int i = 0; i < 100; ++i)
    set(std::to_string(i), bytes_of(static_cast<std::uint64_t>(i), 3000));
  close();
  open();
  EXPECT_LT(device_->stats().recovery_bytes_read, 64u << 10);
  for (int i = 0; i < 100; ++i)
    expect(std::to_string(i), bytes_of(static_cast<std::uint64_t>(i), 3000));
}

TEST_F(DeviceTest, KeepsAcknowledgedRecordsOverAPowerCut) {
  format();
  for (int life = 0; life < 20; ++life) {
    open();
    for (int i = 0; i < life * 10; ++i) {
      expect(std::to_string(i), bytes_of(static_cast<std::uint64_t>(i), 1000));
    }
    for (int i = life * 10; i < life * 10 + 10; ++i) {
      set(std::to_string(i), bytes_of(static_cast<std::uint64_t>(i), 1000));
    }
    crash(CrashPolicy::kRandom);
  }
}

TEST_F(DeviceTest, RecyclesSegmentsWhenMoreIsWrittenThanFits) {
  format();
  DeviceOptions options;
  options.checkpoint_log_bytes = 512u << 10;
  open(options);
  // About eight times the device, with a small live set.
  for (int i = 0; i < 2000; ++i) {
    set("key" + std::to_string(i % 40), bytes_of(static_cast<std::uint64_t>(i), 32u << 10));
  }
  EXPECT_GT(device_->stats().segments_freed, 50u);
  for (int i = 1960; i < 2000; ++i) {
    expect("key" + std::to_string(i % 40), bytes_of(static_cast<std::uint64_t>(i), 32u << 10));
  }
  crash(CrashPolicy::kRandom);
  open(options);
  for (int i = 1960; i < 2000; ++i) {
    expect("key" + std::to_string(i % 40), bytes_of(static_cast<std::uint64_t>(i), 32u << 10));
  }
}

TEST_F(DeviceTest, TakesEarlyCheckpointsOnlyWhenTheyMakeDeadBytesFree) {
  format(256);
  open();
  std::uint64_t next = 0;
  for (int i = 0; i < 200; ++i) set("key" + std::to_string(i), bytes_of(++next, 32u << 10));
  const std::uint64_t before = device_->stats().checkpoints;
  for (int i = 200; i < 600; ++i) set("key" + std::to_string(i), bytes_of(++next, 32u << 10));
  EXPECT_EQ(device_->stats().checkpoints, before) << "all of it lives";
  for (int i = 0; i < 400; ++i) set("key0", bytes_of(++next, 32u << 10));
  EXPECT_GT(device_->stats().checkpoints, before);
}

TEST_F(DeviceTest, FailsWithNoSpaceWhenNothingCanBeFreedAndRecoversWhenSomethingIs) {
  format(16);
  DeviceOptions options;
  options.checkpoint_log_bytes = 512u << 10;
  open(options);
  int written = 0;
  Errc code = Errc::kIo;
  for (; written < 200; ++written) {
    const auto result = world_.run(owner_->set(std::to_string(written), bytes_of(1, 60u << 10)));
    if (result) continue;
    code = result.error().code;
    break;
  }
  ASSERT_EQ(code, Errc::kNoSpace);
  EXPECT_GT(written, 20);
  for (int i = 0; i < written; ++i) expect(std::to_string(i), bytes_of(1, 60u << 10));
  for (int i = 0; i < written; i += 2) {
    ASSERT_TRUE(world_.run(owner_->erase(std::to_string(i))));
  }
  set("again", bytes_of(2, 60u << 10));
  expect("again", bytes_of(2, 60u << 10));
  for (int i = 1; i < written; i += 2) expect(std::to_string(i), bytes_of(1, 60u << 10));
}

TEST_F(DeviceTest, AFullFileSystemShowsInColourAndFreeShareUntilItHasBlocksAgain) {
  format(32);
  open();
  node_.disks().faults(kPath).capacity = kSegmentsOffset + 6 * (256u << 10);
  int written = 0;
  while (written < 100 && device_->colour() < Colour::kYellow &&
         world_.run(owner_->set(std::to_string(written), bytes_of(1, 60u << 10)))) {
    ++written;
  }
  EXPECT_GE(device_->colour(), Colour::kYellow) << written << " records of 60 KiB";
  EXPECT_TRUE(device_->file_system_full());
  EXPECT_LT(device_->segments().free_share(), 0.5) << "of 8 MiB only 1.5 can be had";
  node_.disks().faults(kPath).capacity = ~std::uint64_t{0};
  world_.run_for(2s);
  EXPECT_EQ(device_->colour(), Colour::kGreen) << "without a write that asks for it";
  EXPECT_FALSE(device_->file_system_full());
  set("again", bytes_of(2, 60u << 10));
}

// Records of more than half a segment leave much of each segment empty: by bytes there is room.
TEST_F(DeviceTest, IsNotGreenWhenRecordsThatFillSegmentsBadlyHaveTakenThemAll) {
  format(16);
  DeviceOptions options;
  options.checkpoint_log_bytes = 512u << 10;
  open(options);
  const std::size_t size = device_->superblock().segment_bytes * 6 / 10;
  int written = 0;
  while (written < 100 && world_.run(owner_->set(std::to_string(written), bytes_of(1, size)))) {
    ++written;
  }
  ASSERT_LT(written, 16);
  EXPECT_GE(device_->colour(), Colour::kPreOrange);
  for (int i = 0; i < written; i += 2) {
    ASSERT_TRUE(world_.run(owner_->erase(std::to_string(i))));
  }
  set("again", bytes_of(2, size));
  EXPECT_LT(device_->colour(), Colour::kPreOrange);
}

TEST_F(DeviceTest, WritesFreshSegmentsAheadWhileIdleAndOpensThoseFirst) {
  format();
  open();
  set("a", bytes_of(1, 1000));
  world_.run_for(20s);
  EXPECT_EQ(device_->stats().segments_prewritten, kPrewrittenSegments);
  crash(CrashPolicy::kRandom);
  open();
  expect("a", bytes_of(1, 1000));
}

TEST_F(DeviceTest, DetectsCorruptedData) {
  format();
  open();
  set("a", bytes_of(1, 100u << 10));
  set("b", bytes_of(2, 100u << 10));
  const Location a = owner_->names().at("a");
  node_.disks().drive(kPath).corrupt(device_->superblock().segment_offset(a.segment) + a.offset +
                                     70000);
  EXPECT_EQ(world_.run(owner_->get("a")).error().code, Errc::kCorrupt);
  EXPECT_TRUE(world_.run(owner_->get_range("a", 0, 1000))) << "the first block is intact";
  EXPECT_EQ(world_.run(owner_->get_range("a", 69000, 2000)).error().code, Errc::kCorrupt);
  expect("b", bytes_of(2, 100u << 10));
}

TEST_F(DeviceTest, ReportsAnAcknowledgedBatchThatIsCorrupted) {
  format();
  open();
  set("a", bytes_of(1, 1000));
  const Location a = owner_->names().at("a");
  set("b", bytes_of(2, 1000));
  set("c", bytes_of(3, 1000));
  const std::uint64_t header =
      device_->superblock().segment_offset(a.segment) + align_down(a.offset, kSectorSize);
  crash(CrashPolicy::kKeep);
  node_.disks().drive(kPath).corrupt(header + 20);
  open();
  EXPECT_TRUE(owner_->lost());
  EXPECT_FALSE(device_->damage().empty());
  expect("b", bytes_of(2, 1000));
  expect("c", bytes_of(3, 1000));
}

TEST_F(DeviceTest, SurvivesOneCorruptedSuperblockAndOneCorruptedRoot) {
  format();
  open();
  set("a", bytes_of(1, 1000));
  close();
  for (const std::uint64_t sector : {0, 2, 4}) {
    node_.disks().drive(kPath).corrupt(sector * kSectorSize + 10);
  }
  open();
  expect("a", bytes_of(1, 1000));
}

TEST_F(DeviceTest, ADestroyedSuperblockCopyIsReportedAndWrittenAgain) {
  format();
  open();
  set("a", bytes_of(1, 1000));
  close();
  for (const std::uint64_t copy : {0, 1}) {
    SCOPED_TRACE(copy);
    node_.disks().drive(kPath).corrupt(copy * kSectorSize + 10);
    open({.read_only = true});
    ASSERT_EQ(device_->damage().size(), 1u);
    EXPECT_TRUE(device_->damage()[0].starts_with(fmt::format("superblock copy {}: ", copy)));
    close();
    open();
    ASSERT_EQ(device_->damage().size(), 1u) << "reading only repairs nothing";
    EXPECT_TRUE(device_->damage()[0].contains("written again")) << device_->damage()[0];
    expect("a", bytes_of(1, 1000));
    close();
    open();
    EXPECT_TRUE(device_->damage().empty());
    close();
  }
}

// A crash while a copy is written again leaves the other one.
TEST_F(DeviceTest, ASuperblockCopyIsRewrittenWithoutTouchingTheOther) {
  format();
  open();
  set("a", bytes_of(1, 1000));
  close();
  const DiskImage whole = node_.disks().drive(kPath).snapshot();
  node_.disks().drive(kPath).corrupt(10);
  node_.disks().faults(kPath).write_error.next = 1;
  open();
  ASSERT_EQ(device_->damage().size(), 1u);
  EXPECT_TRUE(device_->damage()[0].contains("cannot be written again")) << device_->damage()[0];
  const Slice copy = node_.disks().drive(kPath).snapshot().read(kSectorSize, kSectorSize);
  EXPECT_TRUE(equal(copy, whole.read(kSectorSize, kSectorSize)));
  expect("a", bytes_of(1, 1000));
  close();
}

TEST_F(DeviceTest, StopsAtAFailedWriteAndAnswersNothingMore) {
  format();
  open();
  set("a", bytes_of(1, 1000));
  node_.disks().faults(kPath).write_error.next = 1;
  EXPECT_EQ(world_.run(owner_->set("b", bytes_of(2, 1000))).error().code, Errc::kIo);
  EXPECT_EQ(world_.run(owner_->set("c", bytes_of(3, 1000))).error().code, Errc::kIo);
  EXPECT_TRUE(device_->failure());
  close();
  open();
  expect("a", bytes_of(1, 1000));
  EXPECT_FALSE(owner_->names().contains("c"));
}

TEST_F(DeviceTest, RefusesAForeignOrCutFile) {
  {
    DiskOptions options;
    options.create = true;
    options.create_size = 8u << 20;
    auto disk = world_.run(node_.world().disks.open("foreign", options));
    ASSERT_TRUE(disk);
  }
  const auto opened = world_.run(Device::open(node_.world(), "foreign", {}, TestOwner::factory()));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message(), "corrupt: foreign: not a moraine device");
}

TEST_F(DeviceTest, RefusesToFormatOverADevice) {
  format();
  FormatOptions again;
  again.create = false;
  const auto formatted = world_.run(Device::format(node_.world(), kPath, again));
  ASSERT_FALSE(formatted);
  EXPECT_EQ(formatted.error().code, Errc::kAlreadyExists);
}

}  // namespace
}  // namespace moraine::blob
