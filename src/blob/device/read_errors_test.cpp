// A disk that fails reads, or returns other bytes, while a device is opened: acknowledged records
// are present, or reported lost, or the device does not open.
#include <gtest/gtest.h>

#include "blob/device/device.h"
#include "blob/device/recovery.h"
#include "blob/device/test_owner.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

const std::string kPath = "device";
constexpr std::uint32_t kSegmentBytes = 1u << 20;

class ReadErrors : public testing::Test {
 protected:
  ReadErrors() : world_(2), node_(world_.add_node()) { format(32, kSegmentBytes); }
  ~ReadErrors() override { close(); }

  void format(std::uint32_t segments, std::uint32_t segment_bytes) {
    FormatOptions options;
    options.size = kSegmentsOffset + std::uint64_t{segments} * segment_bytes;
    options.segment_bytes = segment_bytes;
    options.force = true;
    ASSERT_TRUE(world_.run(Device::format(node_.world(), kPath, options)));
  }
  Result<void> try_open(DeviceOptions options = {}) {
    auto opened = world_.run(Device::open(node_.world(), kPath, options, TestOwner::factory()));
    if (!opened) return std::unexpected(opened.error());
    device_ = std::move(*opened);
    return {};
  }
  void open() {
    const auto opened = try_open();
    ASSERT_TRUE(opened) << opened.error().message();
  }
  std::shared_ptr<TestOwner> owner(OwnerSlot slot = 1) {
    return std::static_pointer_cast<TestOwner>(device_->attach(slot));
  }
  void close() {
    if (!device_) return;
    world_.run(device_->stop());
    device_.reset();
  }
  void crash() {
    node_.on_stop([this] { device_->abandon(); });
    node_.on_crash([this] { device_.reset(); });
    node_.crash(CrashPolicy::kKeep);
    node_.restart();
  }
  void set(const std::string& name, Slice data, OwnerSlot slot = 1) {
    const auto written = world_.run(owner(slot)->set(name, std::move(data)));
    ASSERT_TRUE(written) << written.error().message();
  }
  static Task<void> set_and_count(std::shared_ptr<TestOwner> owner, std::string name, Slice data,
                                  std::vector<std::string>& done) {
    if (co_await owner->set(name, std::move(data))) done.push_back(name);
  }
  SimDrive& drive() { return node_.disks().drive(kPath); }
  std::uint64_t place(const Location& location) {
    return device_->superblock().segment_offset(location.segment) + location.offset;
  }

  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<Device> device_;
};

TEST_F(ReadErrors, ALogThatCannotBeReadKeepsTheDeviceFromOpening) {
  open();
  for (int i = 0; i < 20; ++i) set(std::to_string(i), bytes_of(1, 5'000));
  // Not the first sector of the segment, which is checked separately.
  const std::uint64_t bad = place(owner()->names().at("10"));
  crash();
  drive().fail_reads_at(bad, kSectorSize);
  const auto opened = try_open();
  ASSERT_FALSE(opened) << "it opened without what cannot be read";
  EXPECT_EQ(opened.error().code, Errc::kIo) << opened.error().message();
}

TEST_F(ReadErrors, TheOnlyCopyOutlivesADiskThatFailsReadsForAWhile) {
  DeviceOptions options;
  options.only_copy = true;
  ASSERT_TRUE(try_open(options));
  for (int i = 0; i < 50; ++i) set(std::to_string(i), bytes_of(1, 100));
  close();  // Its index is in the checkpoint.
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    drive().faults().read_error.one_in = 4;
    const auto opened = try_open(options);
    drive().faults().read_error.one_in = 0;
    if (opened) {
      EXPECT_FALSE(owner()->lost());
      EXPECT_EQ(owner()->names().size(), 50u);
      set("after", bytes_of(1, 100));
      crash();
      ASSERT_TRUE(try_open(options));
      EXPECT_TRUE(owner()->names().contains("after"));
      ASSERT_TRUE(world_.run(owner()->erase("after")));
    } else {
      ++refused;
      EXPECT_EQ(opened.error().code, Errc::kIo) << opened.error().message();
    }
    close();
  }
  EXPECT_GT(refused, 0);
  ASSERT_TRUE(try_open(options));
  EXPECT_EQ(owner()->names().size(), 50u);
}

TEST_F(ReadErrors, DataThatDecidesTheEndOfTheLogIsNotTakenForTornWhenItCannotBeRead) {
  open();
  // One batch: the second record's checksum table is far from the batch's header.
  std::vector<std::string> done;
  TaskScope scope;
  scope.spawn(set_and_count(owner(), "first", bytes_of(1, 300'000), done));
  scope.spawn(set_and_count(owner(), "second", bytes_of(2, 100'000), done));
  world_.run_for(1s);
  ASSERT_EQ(done.size(), 2u);
  ASSERT_EQ(owner()->names().at("first").segment, owner()->names().at("second").segment);
  const Location second = owner()->names().at("second");
  const std::uint64_t table = align_down(place(second) - table_bytes(second.size), kSectorSize);
  ASSERT_LE(table + kSectorSize, place(second)) << "the table shares a sector with the data";
  crash();
  drive().fail_reads_at(table, kSectorSize);
  const auto opened = try_open();
  if (opened) {
    EXPECT_TRUE(owner()->names().contains("second") || owner()->lost())
        << "acknowledged, and lost without a report";
  } else {
    EXPECT_EQ(opened.error().code, Errc::kIo) << opened.error().message();
  }
}

TEST_F(ReadErrors, ACorruptedCheckpointChunkAffectsOnlyItsOwner) {
  open();
  for (int i = 0; i < 50; ++i) {
    set(std::to_string(i), bytes_of(1, 100), 1);
    set(std::to_string(i), bytes_of(2, 100), 2);
  }
  close();
  DiskOptions options;
  options.read_only = true;
  auto disk = world_.run(node_.world().disks.open(kPath, options));
  ASSERT_TRUE(disk);
  const auto log = world_.run(recover_log(**disk));
  ASSERT_TRUE(log);
  disk->reset();
  const auto chunk = std::ranges::find(log->manifest.chunks, 2, &Manifest::Chunk::owner);
  ASSERT_NE(chunk, log->manifest.chunks.end());
  drive().corrupt(log->superblock.segment_offset(chunk->location.segment) + chunk->location.offset +
                  10);
  open();
  EXPECT_FALSE(owner(1)->lost());
  EXPECT_EQ(owner(1)->names().size(), 50u);
  EXPECT_TRUE(owner(2)->lost());
  EXPECT_FALSE(device_->damage().empty());
}

TEST_F(ReadErrors, ACheckpointLargerThanTheReservedSegmentsFitsAFullDevice) {
  constexpr std::uint32_t kSmall = 256u << 10;
  drive().remove();
  format(48, kSmall);
  open();
  // Many names with little data each: most of the device is index.
  std::vector<std::string> done;
  bool full = false;
  for (int round = 0; round < 600 && !full; ++round) {
    const std::size_t before = done.size();
    TaskScope scope;
    for (int i = 0; i < 300; ++i) {
      scope.spawn(set_and_count(owner(), fmt::format("a name of some length {}/{}", round, i),
                                bytes_of(1, 150), done));
    }
    while (scope.live() > 0) world_.run_for(10ms);
    full = done.size() != before + 300;
  }
  EXPECT_TRUE(full) << "the device took everything";
  EXPECT_FALSE(device_->failure()) << device_->failure()->message();
  close();
  open();
  std::uint64_t checkpoint = 0;
  for (const std::string& name : done) ASSERT_TRUE(owner()->names().contains(name)) << name;
  for (const auto& [name, location] : owner()->names()) checkpoint += name.size() + 20;
  EXPECT_GT(checkpoint, std::uint64_t{kReservedSegments} * kSmall);
  EXPECT_FALSE(owner()->lost());
}

}  // namespace
}  // namespace moraine::blob
