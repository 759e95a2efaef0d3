#include "blob/device/direct_reads.h"

#include <gtest/gtest.h>

#include "blob/device/test_owner.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr OwnerSlot kSlot = 1;
const std::string kPath = "device";

class DirectReadsTest : public testing::Test {
 protected:
  DirectReadsTest() : world_(1), node_(world_.add_node()) {
    FormatOptions options;
    options.segment_bytes = 1u << 20;
    options.size = kSegmentsOffset + std::uint64_t{32} * options.segment_bytes;
    const auto formatted = world_.run(Device::format(node_.world(), kPath, options));
    EXPECT_TRUE(formatted);
    auto opened = world_.run(Device::open(node_.world(), kPath, {}, TestOwner::factory()));
    EXPECT_TRUE(opened);
    device_ = std::move(*opened);
    owner_ = std::static_pointer_cast<TestOwner>(device_->attach(kSlot));
  }
  ~DirectReadsTest() override { close(); }

  void close() {
    if (!device_) return;
    world_.run(device_->stop());
    owner_.reset();
    device_.reset();
  }
  void set(const std::string& name, Slice data) {
    const auto written = world_.run(owner_->set(name, std::move(data)));
    ASSERT_TRUE(written) << written.error().message();
  }
  DirectPlace place(const std::string& name) { return *device_->place(owner_->names().at(name)); }
  // Moves all live data out of the segment.
  void clean_out(const std::string& name) {
    const std::uint32_t segment = owner_->names().at(name).segment;
    // The next record begins another segment.
    while (device_->segments()[segment].use != SegmentUse::kSealed) {
      set("filling", bytes_of(9, 300'000));
    }
    ASSERT_TRUE(world_.run(device_->checkpoint()));
    SegmentSet moved(device_->segments().count(), false);
    moved[segment] = true;
    ASSERT_TRUE(world_.run(owner_->evacuate(moved)));
    // Its dead space may be being discarded.
    for (int i = 0; i < 100 && device_->segments()[segment].readers > 0; ++i) world_.run_for(1ms);
    ASSERT_TRUE(world_.run(device_->clean(0.99)));
    ASSERT_EQ(device_->segments()[segment].use, SegmentUse::kFree);
  }

  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<TestOwner> owner_;
};

TEST_F(DirectReadsTest, GiveTheBytesOfEveryRange) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{4'096}, std::size_t{5'000},
                                 std::size_t{65'537}, std::size_t{400'000}}) {
    const Slice data = bytes_of(size, size);
    set("x", data);
    const DirectPlace at = place("x");
    for (const auto& [shift, length] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, size}, {0, 1}, {size - 1, 1}, {size / 3, size / 3}}) {
      const auto bytes =
          at.read(static_cast<std::uint32_t>(shift), static_cast<std::uint32_t>(length));
      ASSERT_TRUE(bytes) << size << " " << shift;
      EXPECT_TRUE(equal(*bytes, data.sub(shift, length))) << size << " " << shift;
    }
    const auto end = static_cast<std::uint32_t>(size);
    EXPECT_FALSE(at.read(0, end + 1));
    EXPECT_FALSE(at.read(end + 1, 1));
    EXPECT_FALSE(at.read(1, ~std::uint32_t{0}));
  }
}

TEST_F(DirectReadsTest, APlaceWhoseSegmentWasRecycledIsRefused) {
  const Slice data = bytes_of(1, 200'000);
  set("x", data);
  const DirectPlace old = place("x");
  EXPECT_TRUE(old.current());
  clean_out("x");
  EXPECT_FALSE(old.current());
  EXPECT_FALSE(old.read(0, 100));
  // The data was moved.
  const DirectPlace now = place("x");
  EXPECT_NE(now.offset, old.offset);
  const auto bytes = now.read(0, now.size);
  ASSERT_TRUE(bytes);
  EXPECT_TRUE(equal(*bytes, data));
  // Also once the segment is used again.
  while (device_->segments()[old.segment].use == SegmentUse::kFree) {
    set("more", bytes_of(2, 300'000));
  }
  EXPECT_FALSE(old.read(0, 100));
}

TEST_F(DirectReadsTest, ASegmentThatIsGivenUpDuringTheReadIsRefused) {
  // The segment is overwritten during the read.
  class Overtaken final : public DiskReader {
   public:
    Overtaken(std::shared_ptr<const DiskReader> disk, SegmentLives& lives, std::uint32_t segment)
        : disk_(std::move(disk)), lives_(lives), segment_(segment) {}
    Result<Slice> read(std::uint64_t offset, std::size_t size) const override {
      auto bytes = disk_->read(offset, size);
      lives_.end(segment_);
      return bytes;
    }

   private:
    std::shared_ptr<const DiskReader> disk_;
    SegmentLives& lives_;
    std::uint32_t segment_;
  };
  set("x", bytes_of(1, 10'000));
  DirectPlace at = place("x");
  SegmentLives& lives = *device_->segments().lives();
  at.reads = std::make_shared<DirectReads>(
      std::make_shared<Overtaken>(at.reads->disk, lives, at.segment), at.reads->lives);
  EXPECT_TRUE(at.current());
  EXPECT_FALSE(at.read(0, 100));
}

TEST_F(DirectReadsTest, ADiskThatDoesNotAnswerGivesNothing) {
  set("x", bytes_of(1, 10'000));
  const DirectPlace at = place("x");
  node_.disks().drive(kPath).fail_reads_at(at.offset, at.size);
  EXPECT_FALSE(at.read(0, 100));
  EXPECT_TRUE(at.current());
}

TEST_F(DirectReadsTest, AClosedDeviceIsNotRead) {
  set("x", bytes_of(1, 10'000));
  const DirectPlace at = place("x");
  EXPECT_TRUE(at.read(0, 100));
  close();
  EXPECT_FALSE(at.current());
  EXPECT_FALSE(at.read(0, 100));
}

}  // namespace
}  // namespace moraine::blob
