// What an operator sees when disks of a group are removed, replaced, swapped, damaged, moved.
#include "blob/node/group_watch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/log.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr TabletId kTablet{9};
constexpr GroupId kGroup{0x82000000};
constexpr std::uint32_t kDisks = 8;
constexpr std::uint32_t kBlobSize = 40'000;

class GroupWatchTest : public testing::Test {
 protected:
  GroupWatchTest() : world_(5), node_(world_.add_node()) {
    start();
    world_.run_for(5s);  // All disks have answered each other.
  }
  ~GroupWatchTest() override { stop(); }

  // One node with the eight devices of a group, and a ninth as a spare.
  ClusterConfig config() const {
    ClusterConfig config;
    config.name = "test";
    NodeConfig node;
    node.id = node_.id();
    node.host = "127.0.0.1";
    node.port = kDefaultNodePort;
    for (std::uint32_t id = 1; id <= kDisks + 1; ++id) {
      node.devices.push_back({id, path(id), kSegmentsOffset + (20u << 20), 1u << 20});
    }
    config.nodes.push_back(node);
    GroupConfig group;
    group.id = kGroup;
    group.geometry = Geometry::standard(Species::kBlock42);
    for (std::uint32_t id = 1; id <= kDisks; ++id) group.disks.push_back({node_.id(), id, 0});
    config.groups.push_back(group);
    return config;
  }
  static std::string path(std::uint32_t device) { return "device-" + std::to_string(device); }
  void start(bool format_missing = true) {
    BlobNodeOptions options;
    options.vdisk.loss_delay = 5s;
    options.vdisk.cache_bytes = 0;  // Reads go to the disk.
    options.format_missing = format_missing;
    storage_ = std::make_unique<BlobNode>(node_.world(), config(), node_.id(), options);
    const auto started = world_.run(storage_->start());
    ASSERT_TRUE(started) << started.error().message();
    watch_ = std::make_unique<GroupWatch>(node_.world(), *storage_);
    watch_->start();
  }
  void stop() {
    if (!storage_) return;
    world_.run(watch_->stop());
    watch_.reset();
    world_.run(storage_->stop());
    storage_.reset();
  }
  const GroupReport& report() { return watch_->groups().at(kGroup); }
  GroupCondition condition() { return report().redundancy.condition; }
  VDisk& disk(std::uint32_t device) { return *storage_->vdisk(device, 0); }
  static BlobId id(Step step) { return BlobId(kTablet, 5, step, 0, kBlobSize, 0); }
  void put(Step step) {
    PutRequest request;
    request.id = id(step);
    request.data = Buffer::zeroed(kBlobSize).freeze();
    ASSERT_EQ(world_.run(storage_->proxy(kGroup)->put(std::move(request))).status, Status::kOk);
  }
  Status get(Step step) {
    GetRequest request;
    request.queries.push_back({id(step), 0, 0});
    return world_.run(storage_->proxy(kGroup)->get(std::move(request))).items.at(0).status;
  }
  std::size_t lines(std::string_view a, std::string_view b = "") const {
    return static_cast<std::size_t>(std::ranges::count_if(
        log_.lines(), [&](const auto& line) { return line.contains(a) && line.contains(b); }));
  }
  std::string all_lines() const {
    std::string text;
    for (const std::string& line : log_.lines()) text += line + "\n";
    return text;
  }
  // Damages the part of the blob that this device has, where it has one.
  bool corrupt(std::uint32_t device, Step step) {
    for (std::uint32_t part = 1; part <= kPartsMax; ++part) {
      const auto at = disk(device).state().index().locate(id(step).with_part(part));
      if (!at) continue;
      const Superblock& superblock = storage_->device(device)->superblock();
      node_.disks()
          .drive(path(device))
          .corrupt(superblock.segment_offset(at->segment) + at->offset + 7);
      return true;
    }
    return false;
  }

  ScopedLogCapture log_;
  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<BlobNode> storage_;
  std::unique_ptr<GroupWatch> watch_;
};

TEST_F(GroupWatchTest, AHealthyGroupIsLoggedOnce) {
  put(1);
  world_.run_for(60s);
  EXPECT_EQ(condition(), GroupCondition::kWhole);
  EXPECT_EQ(report().redundancy.disks_survived, 2);
  EXPECT_EQ(report().redundancy.nodes_survived, 0) << "all are on one node";
  EXPECT_EQ(lines("group health"), 1u) << all_lines();
  EXPECT_EQ(lines("info group health", "whole: all 8 disks"), 1u) << all_lines();
  EXPECT_EQ(lines("replication"), 0u) << all_lines();
}

TEST_F(GroupWatchTest, EachDiskThatIsGoneIsLoggedOnceWithWhatMayStillFail) {
  put(1);
  world_.run_for(10s);
  stop();
  node_.disks().drive(path(3)).remove();
  start(false);
  world_.run_for(60s);
  EXPECT_EQ(condition(), GroupCondition::kDegraded);
  EXPECT_EQ(report().redundancy.disks_survived, 1);
  EXPECT_EQ(lines("warning group health", "degraded: 1 of 8 disks is not whole"), 1u)
      << all_lines();
  EXPECT_EQ(lines("group health", "node 1 device 3 is unreachable"), 1u) << all_lines();
  stop();
  node_.disks().drive(path(5)).remove();
  start(false);
  world_.run_for(60s);
  EXPECT_EQ(condition(), GroupCondition::kNoRedundancy);
  EXPECT_EQ(report().redundancy.disks_survived, 0);
  EXPECT_EQ(lines("group health", "no redundancy left"), 1u) << all_lines();
  EXPECT_EQ(get(1), Status::kOk);
}

TEST_F(GroupWatchTest, AReplacedDiskIsFollowedFromLossToTheEndOfReplication) {
  constexpr Step kBlobs = 40;
  for (Step step = 1; step <= kBlobs; ++step) put(step);
  world_.run_for(10s);
  stop();
  node_.disks().drive(path(3)).remove();
  start();
  world_.run_for(4s);
  EXPECT_EQ(condition(), GroupCondition::kDegraded);
  EXPECT_EQ(state_word(report().status.disks[2]), "recovering");
  EXPECT_EQ(lines("warning VDisk lacks data", "device-3"), 1u) << all_lines();
  EXPECT_EQ(lines("replication began"), 0u);
  world_.run_for(60s);
  EXPECT_EQ(lines("VDisk has recovered the group's index", "device-3"), 1u) << all_lines();
  EXPECT_EQ(lines("replication began", "device-3"), 1u) << all_lines();
  EXPECT_EQ(lines("replication ended", "device-3"), 1u) << all_lines();
  EXPECT_EQ(condition(), GroupCondition::kWhole);
  EXPECT_GT(disk(3).events().restored(), 0u);
  EXPECT_EQ(report().missing(), 0u);
  EXPECT_EQ(lines("info group health", "whole"), 2u) << "before and after: " << all_lines();
}

TEST_F(GroupWatchTest, ADeviceOfAnotherMemberIsNamedAndDoesNotServe) {
  put(1);
  world_.run_for(10s);
  stop();
  node_.disks().drive(path(3)).install(node_.disks().drive(path(2)).snapshot());
  start();
  world_.run_for(20s);
  EXPECT_EQ(disk(3).phase(), VDisk::Phase::kBroken);
  EXPECT_EQ(lines("error VDisk broken", "foreign device: device-3 belongs to [82000000:1:0:1:0]"),
            1u)
      << all_lines();
  EXPECT_EQ(state_word(report().status.disks[2]), "broken");
  EXPECT_EQ(condition(), GroupCondition::kDegraded);
  EXPECT_EQ(lines("group health", "is broken: foreign device"), 1u) << all_lines();
  EXPECT_EQ(get(1), Status::kOk);
}

TEST_F(GroupWatchTest, DamageThatIsFoundAndRepairedIsCountedAndLoggedInFewLines) {
  constexpr Step kBlobs = 30;
  for (Step step = 1; step <= kBlobs; ++step) put(step);
  world_.run_for(10s);
  std::uint64_t corrupted = 0;
  for (Step step = 1; step <= kBlobs; ++step) corrupted += corrupt(4, step) ? 1 : 0;
  ASSERT_GT(corrupted, 10u);
  for (Step step = 1; step <= kBlobs; ++step) EXPECT_EQ(get(step), Status::kOk) << step;
  world_.run_for(30s);
  // Damage in parts that the read did not use is still unknown: read again.
  for (std::uint32_t device = 1; device <= kDisks; ++device) {
    if (device != 4) EXPECT_EQ(disk(device).events().damaged_found(), 0u) << device;
  }
  const VDiskEvents& events = disk(4).events();
  EXPECT_GT(events.damaged_found(), 10u);
  EXPECT_LE(events.damaged_found(), corrupted);
  EXPECT_EQ(events.damaged_repaired(), events.damaged_found());
  EXPECT_EQ(report().status.disks[3].state.damaged_found, events.damaged_found());
  EXPECT_EQ(report().status.disks[3].state.damaged_repaired, events.damaged_repaired());
  EXPECT_GE(lines("warning damaged data found", "device-4"), 1u) << all_lines();
  EXPECT_LE(lines("warning damaged data found"), 4u) << all_lines();
  EXPECT_GE(lines("info damaged data repaired", "device-4"), 1u) << all_lines();
  EXPECT_LE(lines("info damaged data repaired"), 4u) << all_lines();
  const std::string last = fmt::format("since_start={}", events.damaged_found());
  EXPECT_EQ(lines("damaged data found", last), 1u) << all_lines();
  EXPECT_EQ(lines("damaged data repaired", last), 1u) << all_lines();
}

TEST_F(GroupWatchTest, AMoveIsLoggedWhereItLeavesAndWhereItArrives) {
  for (Step step = 1; step <= 20; ++step) put(step);
  world_.run_for(10s);
  GroupConfig moved = config().groups[0];
  moved.generation = 2;
  moved.disks[7].device = 9;
  ASSERT_TRUE(world_.run(storage_->reconfigure(moved)));
  world_.run_for(60s);
  EXPECT_EQ(lines("VDisk retired", "device-8"), 1u) << all_lines();
  EXPECT_EQ(lines("VDisk lacks data", "device-9"), 1u) << all_lines();
  EXPECT_EQ(lines("replication ended", "device-9"), 1u) << all_lines();
  EXPECT_EQ(lines("group reconfigured", "group=82000000 generation=2"), 1u) << all_lines();
  EXPECT_EQ(report().config.generation, 2u);
  EXPECT_EQ(condition(), GroupCondition::kWhole);
}

}  // namespace
}  // namespace moraine::blob
