// A VDisk on a failing disk: places that cannot be read while cleaning, writes that fail while
// blocks are pending.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/log.h"
#include "blob/device/recovery.h"
#include "blob/node/blob_node.h"
#include "io/sim/sim_world.h"

namespace moraine::blob {
namespace {

constexpr TabletId kTablet{9};
constexpr GroupId kGroup{1};
constexpr GroupId kOtherGroup{2};

class DiskTrouble : public testing::Test {
 protected:
  DiskTrouble() : world_(5), node_(world_.add_node()) { start(); }
  ~DiskTrouble() override {
    if (storage_) world_.run(storage_->stop());
  }

  void start() {
    ClusterConfig config = single_node_config("device", kSegmentsOffset + (20u << 20));
    config.nodes[0].id = node_.id();
    config.nodes[0].devices[0].segment_size = 1u << 20;
    config.groups[0].disks[0].node = node_.id();
    config.groups.push_back(config.groups[0]);
    config.groups[1].id = kOtherGroup;
    config.groups[1].disks[0].slot = 1;
    storage_ = std::make_unique<BlobNode>(node_.world(), config, node_.id());
    ASSERT_TRUE(world_.run(storage_->start()));
  }
  void stop() {
    world_.run(storage_->stop());
    storage_.reset();
  }
  void restart() {
    stop();
    start();
  }
  Proxy& proxy() { return *storage_->proxy(kGroup); }
  VDisk& disk() { return *storage_->vdisk(1, 0); }
  static BlobId id(Step step) { return BlobId(kTablet, 5, step, 0, 100'000, 0); }
  Status put(Step step, GroupId group = kGroup) {
    PutRequest request;
    request.id = id(step);
    request.data = Buffer::zeroed(100'000).freeze();
    return world_.run(storage_->proxy(group)->put(std::move(request))).status;
  }
  Status get(Step step, GroupId group = kGroup) {
    GetRequest request;
    request.queries.push_back({id(step), 0, 0});
    return world_.run(storage_->proxy(group)->get(std::move(request))).items.at(0).status;
  }
  static Task<void> ask(VDisk& disk, DiskRequest request, std::vector<Status>& answers) {
    const DiskReply reply = co_await disk.handle(std::move(request));
    answers.push_back(reply.status);
  }
  DiskRequest block(Generation generation) {
    BlockTablet body;
    body.tablet = kTablet;
    body.generation = generation;
    body.issuer = generation;
    return {proxy().config().vdisk(0), body};
  }

  SimWorld world_;
  SimNode& node_;
  std::unique_ptr<BlobNode> storage_;
};

TEST_F(DiskTrouble, APlaceThatCannotBeReadStaysWhereItIsAndTheRestIsCleaned) {
  constexpr Step kStep = 8;  // Every eighth blob is kept.
  Step last = 0;
  while (last < 120) ASSERT_EQ(put(++last), Status::kOk) << last;
  const auto bad = disk().state().index().locate(id(kStep).with_part(1));
  ASSERT_TRUE(bad);
  Device& device = *storage_->device(1);
  node_.disks().drive("device").fail_reads_at(
      device.superblock().segment_offset(bad->segment) + align_up(bad->offset, kSectorSize),
      kSectorSize);
  // Leaves nearly empty segments, and then needs them again.
  std::uint32_t counter = 0;
  const auto collect = [&](Step from, Step to) {
    CollectRequest request;
    request.tablet = kTablet;
    request.record_generation = 5;
    request.counter = ++counter;
    request.barrier = GenStep{5, to};
    for (Step step = from; step <= to; ++step) {
      if (step % kStep == 0) request.keep.push_back(id(step));
    }
    return world_.run(proxy().collect(std::move(request))).status;
  };
  ASSERT_EQ(collect(1, last), Status::kOk);
  for (int round = 0; round < 3; ++round) {
    const Step first = last + 1;
    for (int i = 0; i < 80; ++i) {
      ASSERT_EQ(put(++last), Status::kOk) << last;
      world_.run_for(20ms);
    }
    ASSERT_EQ(collect(first, last), Status::kOk);
    world_.run_for(5s);
  }
  EXPECT_GT(device.stats().segments_evacuated, 0u);
  EXPECT_FALSE(device.failure());
  EXPECT_EQ(get(kStep), Status::kError) << "it is stored, and cannot be read now";
  for (Step step = 2 * kStep; step <= last; step += kStep)
    EXPECT_EQ(get(step), Status::kOk) << step;
  EXPECT_EQ(*disk().state().index().locate(id(kStep).with_part(1)), *bad) << "not moved";
}

// The whole index of one of two groups is corrupted. Neither has copies elsewhere.
TEST_F(DiskTrouble, AGroupWhoseIndexIsLostStaysBrokenAndItsNeighbourIsHealthy) {
  ASSERT_EQ(put(1), Status::kOk);
  ASSERT_EQ(put(1, kOtherGroup), Status::kOk);
  stop();
  DiskOptions options;
  options.read_only = true;
  auto opened = world_.run(node_.world().disks.open("device", options));
  ASSERT_TRUE(opened);
  const auto log = world_.run(recover_log(**opened));
  ASSERT_TRUE(log);
  opened->reset();
  int corrupted = 0;
  for (const Manifest::Chunk& chunk : log->manifest.chunks) {
    if (chunk.owner != 2) continue;
    node_.disks().drive("device").corrupt(log->superblock.segment_offset(chunk.location.segment) +
                                          chunk.location.offset + 5);
    ++corrupted;
  }
  ASSERT_GT(corrupted, 0);
  for (int life = 0; life < 3; ++life) {
    start();
    EXPECT_EQ(get(1), Status::kOk);
    EXPECT_EQ(get(1, kOtherGroup), Status::kError) << "in life " << life;
    EXPECT_EQ(put(2, kOtherGroup), Status::kError);
    EXPECT_EQ(storage_->vdisk(1, 1)->phase(), VDisk::Phase::kBroken);
    stop();
  }
  start();
}

TEST_F(DiskTrouble, DamageWithoutAnotherCopyIsLoggedAsAnErrorOnceForEachPart) {
  ASSERT_EQ(put(1), Status::kOk);
  restart();  // Nothing is cached.
  const auto at = disk().state().index().locate(id(1).with_part(1));
  ASSERT_TRUE(at);
  node_.disks().drive("device").corrupt(
      storage_->device(1)->superblock().segment_offset(at->segment) + at->offset + 7);
  const ScopedLogCapture log;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(get(1), Status::kError);
    world_.run_for(20s);
  }
  EXPECT_EQ(disk().events().damaged_found(), 1u);
  EXPECT_EQ(disk().events().damaged_repaired(), 0u);
  const auto lines = log.lines();
  EXPECT_EQ(std::ranges::count_if(lines,
                                  [](const std::string& line) {
                                    return line.starts_with("error damaged data found") &&
                                           line.contains("no other copy") &&
                                           line.contains("[9:5:1:0:0:100000:1]");
                                  }),
            1);
}

TEST_F(DiskTrouble, BlocksThatOvertakeEachOtherAndFailAreNotReported) {
  ASSERT_EQ(put(1), Status::kOk);
  std::vector<Status> answers;
  node_.disks().drive("device").faults().write_error.next = 1;
  TaskScope scope;
  scope.spawn(ask(disk(), block(6), answers));
  scope.spawn(ask(disk(), block(8), answers));
  scope.spawn(ask(disk(), block(7), answers));  // Overtaken already; waits for the higher one.
  PutPart late;
  late.id = BlobId(kTablet, 7, 1, 0, 10, 0).with_part(1);
  late.data = Buffer::zeroed(10).freeze();
  scope.spawn(ask(disk(), {proxy().config().vdisk(0), late}, answers));
  world_.run_for(5s);
  ASSERT_EQ(scope.live(), 0u) << "a waiter is never resumed";
  ASSERT_EQ(answers.size(), 4u);
  for (const Status status : answers) EXPECT_EQ(status, Status::kError) << to_string(status);
  EXPECT_TRUE(storage_->device(1)->failure());
  // Whatever was stored is valid from now on, for all clients.
  restart();
  const Generation blocked = disk().state().blocked(kTablet);
  EXPECT_TRUE(blocked == 0 || blocked == 6 || blocked == 8) << blocked;
  EXPECT_EQ(get(1), Status::kOk);
  BlockRequest again;
  again.tablet = kTablet;
  again.generation = 10;
  EXPECT_EQ(world_.run(proxy().block(again)).status, Status::kOk);
}

}  // namespace
}  // namespace moraine::blob
