// Dead space is returned to the file system; live data never is.

#include <gtest/gtest.h>

#include "blob/device/device.h"
#include "blob/device/test_owner.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr OwnerSlot kSlot = 1;
constexpr std::uint32_t kSegmentBytes = 256u << 10;
const std::string kPath = "device";

// One simulated machine with one device, and what it must hold.
class TrimTest : public testing::Test {
 protected:
  TrimTest() : world_(3), node_(world_.add_node()) {
    FormatOptions options;
    options.segment_bytes = kSegmentBytes;
    options.size = kSegmentsOffset + 64ull * kSegmentBytes;
    EXPECT_TRUE(world_.run(Device::format(node_.world(), kPath, options)));
    open();
  }
  ~TrimTest() override { close(); }

  void open() {
    auto opened = world_.run(Device::open(node_.world(), kPath, {}, TestOwner::factory()));
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
    open();
  }
  void set(const std::string& name, std::uint64_t seed, std::size_t size) {
    const auto written = world_.run(owner_->set(name, bytes_of(seed, size)));
    ASSERT_TRUE(written) << written.error().message();
    truth_[name] = {seed, size};
  }
  void erase(const std::string& name) {
    ASSERT_TRUE(world_.run(owner_->erase(name)));
    truth_.erase(name);
  }
  void expect_all() {
    EXPECT_TRUE(device_->damage().empty());
    ASSERT_EQ(owner_->names().size(), truth_.size());
    for (const auto& [name, value] : truth_) {
      const auto got = world_.run(owner_->get(name));
      ASSERT_TRUE(got) << name << ": " << got.error().message();
      ASSERT_TRUE(equal(*got, bytes_of(value.first, value.second))) << name;
      if (value.second > kChecksumBlock) {
        EXPECT_TRUE(world_.run(owner_->get_range(name, 100, 50))) << name;
      }
    }
  }
  // Some names stay forever, most are overwritten soon, so that all segments are partly dead.
  void fill(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i % 8 == 0) set("cold" + std::to_string(i), i, i % 24 == 0 ? 70'000 : 3'000);
      set("hot" + std::to_string(i % 4), i, 20'000);
    }
  }
  std::uint64_t used() { return device_->segments().used_bytes(); }
  std::uint64_t live() { return device_->segments().live_bytes(); }

  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<TestOwner> owner_;
  std::map<std::string, std::pair<std::uint64_t, std::size_t>> truth_;
};

TEST_F(TrimTest, AnIdleDeviceTakesUpLittleMoreThanWhatIsLive) {
  fill(150);
  EXPECT_GT(used(), live() + (128u << 10)) << "there is something to gain";
  world_.run_for(3s);
  EXPECT_GT(device_->stats().segments_trimmed, 0u);
  EXPECT_LT(used(), live() * 5 / 4 + (256u << 10));
  expect_all();
  const std::uint64_t used_before = used();
  crash(CrashPolicy::kRandom);
  expect_all();
  world_.run_for(3s);
  EXPECT_LE(used(), used_before + (128u << 10));
  expect_all();
}

TEST_F(TrimTest, AnIdleDeviceWithNothingToGainDoesNothing) {
  fill(100);
  world_.run_for(20s);
  const DeviceStats before = device_->stats();
  world_.run_for(120s);
  EXPECT_EQ(device_->stats().checkpoints, before.checkpoints);
  EXPECT_EQ(device_->stats().batches, before.batches);
  EXPECT_EQ(device_->stats().segments_trimmed, before.segments_trimmed);
}

TEST_F(TrimTest, GiveBackDoesNotWaitForIdleness) {
  fill(100);
  const std::uint64_t before = used();
  world_.run(device_->give_back());
  EXPECT_LT(used(), before);
  EXPECT_LT(used(), live() * 5 / 4 + (256u << 10));
  expect_all();
}

TEST_F(TrimTest, UnderLoadTheDeviceStaysInProportionToWhatIsLive) {
  std::uint64_t peak = 0;
  for (std::uint64_t i = 0; i < 1500; ++i) {
    set("hot" + std::to_string(i % 40), i, 20'000);
    if (i % 16 == 0) set("cold" + std::to_string(i % 160), i, 3'000);
    peak = std::max(peak, used());
  }
  EXPECT_LT(peak, 2 * live() + 4 * kSegmentBytes);
  expect_all();
}

// Much live data, so that several segments are filled between two checkpoints; what is overwritten
// at once is dead in them before the next one.
TEST_F(TrimTest, APowerCutAfterAnyDiscardUnderLoadFindsTheWholeLog) {
  std::uint64_t discards = 0;
  node_.disks().on_io([&](const IoEvent& event) {
    if (event.kind != IoEvent::Kind::kDiscard || !event.done || HasFailure()) return;
    ++discards;
    SimWorld other(9);
    SimNode& copy = other.add_node();
    copy.disks().install(kPath, node_.disks().crash_image(kPath, CrashPolicy::kKeep));
    auto opened = other.run(Device::open(copy.world(), kPath, {}, TestOwner::factory()));
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_TRUE((*opened)->damage().empty()) << (*opened)->damage().front();
    other.run((*opened)->stop());
  });
  for (std::uint64_t i = 0; i < 250; ++i) set("old" + std::to_string(i), i, 16'000);
  for (std::uint64_t i = 0; i < 250; ++i) {
    for (std::uint64_t k = 0; k < 6; ++k) set("hot" + std::to_string(k % 2), i * 6 + k, 20'000);
    if (i % 5 != 0) erase("old" + std::to_string(i));
  }
  node_.disks().on_io({});
  EXPECT_GT(discards, 20u);
  expect_all();
}

TEST_F(TrimTest, WhatIsNotAccountedForIsLeftAlone) {
  owner_->hide("cold48");
  fill(100);
  world_.run_for(10s);
  EXPECT_GT(device_->stats().segments_trimmed, 0u);
  expect_all();
  crash(CrashPolicy::kRandom);
  expect_all();
}

TEST_F(TrimTest, AFileSystemWithoutHolesChangesNothing) {
  node_.disks().faults(kPath).no_discard = true;
  fill(100);
  const std::uint64_t before = used();
  world_.run_for(20s);
  EXPECT_EQ(device_->stats().segments_trimmed, 0u);
  EXPECT_LE(used(), before + (64u << 10));
  expect_all();
}

TEST_F(TrimTest, TrimmedSegmentsAreNotTakenForWrittenOnesAndFreeOnesShrink) {
  fill(150);
  for (std::uint64_t i = 0; i < 150; i += 8) erase("cold" + std::to_string(i));
  for (int i = 0; i < 4; ++i) erase("hot" + std::to_string(i));
  world_.run_for(30s);
  std::uint32_t written = 0;
  for (std::uint32_t i = 0; i < device_->segments().count(); ++i) {
    const Segment& segment = device_->segments()[i];
    if (segment.use == SegmentUse::kFree && segment.written) ++written;
    EXPECT_FALSE(segment.written && segment.holes) << i;
  }
  EXPECT_LE(written, kPrewrittenSegments + 1);
  EXPECT_LT(node_.disks().drive(kPath).allocated(), 8 * kSegmentBytes);
  EXPECT_LT(used(), 128u << 10);
}

// The checkpoint does not have what was discarded after it.
TEST_F(TrimTest, AfterACrashSegmentsAreAllocatedAnewBeforeTheyAreUsed) {
  fill(150);
  for (int i = 0; i < 4; ++i) erase("hot" + std::to_string(i));
  world_.run_for(30s);
  crash(CrashPolicy::kKeep);
  for (std::uint32_t i = 0; i < device_->segments().count(); ++i) {
    EXPECT_FALSE(device_->segments()[i].written) << i;
  }
  fill(150);
  expect_all();
}

TEST_F(TrimTest, OpensADeviceThatWasClosedAfterTrimmingWithTheSameFigures) {
  fill(150);
  world_.run_for(3s);
  const std::uint64_t before = used();
  close();
  open();
  EXPECT_LE(used(), before + (128u << 10));
  EXPECT_GE(used() + (128u << 10), before);
  expect_all();
}

TEST_F(TrimTest, RandomWorkWithIdleTimesAndPowerCutsLosesNothing) {
  SeededRandom random(11);
  for (std::uint64_t step = 0; step < 4000; ++step) {
    const std::string name = std::to_string(random.below(60));
    const std::uint64_t dice = random.below(100);
    if (dice < 70) {
      set(name, step, 1 + random.below(random.one_in(5) ? 90'000 : 12'000));
    } else if (dice < 90) {
      if (truth_.contains(name)) erase(name);
    } else if (dice < 96) {
      world_.run_for(Duration{static_cast<std::int64_t>(random.below(2'000'000'000))});
    } else if (dice < 98) {
      world_.run(device_->give_back());
    } else {
      crash(random.one_in(3)   ? CrashPolicy::kLose
            : random.one_in(2) ? CrashPolicy::kKeep
                               : CrashPolicy::kRandom);
      expect_all();
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(truth_.size(), 20u);
  expect_all();
}

}  // namespace
}  // namespace moraine::blob
