// SimDiskStore: the disks of one simulated node. They outlive its crashes.
//
// Promise    As io/disk.h, with the faults of io/sim/sim_drive.h. What a crash leaves is described
//            in io/sim/sim_medium.h; every disk of the node crashes at the same moment.
// Invariants A Disk belongs to the life of the node that opened it: after a crash of the node all
//            its calls fail with kUnavailable, also when the node has been restarted.
// Threading  The thread of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/disk.h"
#include "io/sim/sim_drive.h"

namespace moraine {

class SimDiskStore {
 public:
  SimDiskStore(SimExecutor& loop, FaultCounters& faults, std::uint64_t seed, DiskTiming timing = {},
               bool trace_contents = true);
  SimDiskStore(const SimDiskStore&) = delete;
  SimDiskStore& operator=(const SimDiskStore&) = delete;

  // The drive at `path`; its faults can be set before a disk is created on it.
  SimDrive& drive(const std::string& path);
  DiskFaults& faults(const std::string& path) { return drive(path).faults(); }

  // Called before and after every write, discard and sync takes effect, outside the node's own
  // code: it may look at images, change faults and crash the node.
  void on_io(std::function<void(const IoEvent&)> hook) { shared_.hook = std::move(hook); }
  std::uint64_t io_events() const { return shared_.events; }

  // Creates a disk from an image, so that a test can open what a crash left.
  void install(const std::string& path, DiskImage image) { drive(path).install(std::move(image)); }
  DiskImage crash_image(const std::string& path, CrashPolicy policy, std::uint64_t variant = 0) {
    return drive(path).crash_image(policy, variant);
  }
  void crash(CrashPolicy policy);

 private:
  DriveShared shared_;
  const std::uint64_t seed_;
  std::map<std::string, std::unique_ptr<SimDrive>> drives_;
};

// The store as one life of the node sees it.
class NodeDiskStore final : public DiskStore {
 public:
  NodeDiskStore(SimDiskStore& store, NodeExecutor& executor) : store_(store), executor_(executor) {}
  Task<Result<std::unique_ptr<Disk>>> open(std::string path, DiskOptions options) override;

 private:
  SimDiskStore& store_;
  NodeExecutor& executor_;
};

class SimDisk final : public Disk {
 public:
  SimDisk(SimDrive& drive, NodeExecutor& executor, bool read_only);
  ~SimDisk() override;
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  Task<Result<void>> write(std::uint64_t offset, std::vector<Slice> pieces,
                           Durability durability) override;
  Task<Result<Slice>> read(std::uint64_t offset, std::size_t size) override;
  Task<Result<void>> sync() override;
  Task<Result<void>> allocate(std::uint64_t offset, std::uint64_t size) override;
  Task<Result<void>> discard(std::uint64_t offset, std::uint64_t size) override;
  std::uint64_t size() const override { return drive_.size(); }
  std::shared_ptr<const DiskReader> reader() override;

 private:
  Task<Result<void>> perform(SimDiskRequest request);

  SimDrive& drive_;
  NodeExecutor& executor_;
  const DiskOptions options_;
  const std::uint64_t life_;
  std::size_t in_flight_ = 0;
};

}  // namespace moraine
