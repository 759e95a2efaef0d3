// RealDisk and RealDiskStore: disks on files and block devices, bypassing the page cache.
//
// Promise    As io/disk.h. Durable writes are RWF_DSYNC writes, sync() is an fdatasync.
// Invariants Offsets, sizes and addresses are whole sectors; a range outside size() fails with
//            kInvalidArgument and changes nothing. discard() punches a hole; on block devices and
//            file systems without holes it fails with kUnsupported.
// Threading  The lane's thread; no operation may be in flight when a disk is destroyed. open()
//            makes a few blocking system calls on the lane.
// Limits     kDiskQueueDepth operations of a disk in flight; more wait in order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/disk.h"
#include "io/real/disk_engine.h"
#include "io/real/disk_file.h"
#include "io/real/lane.h"
#include "io/sync.h"

namespace moraine {

inline constexpr std::size_t kDiskQueueDepth = 128;
// Retries after EINTR or EAGAIN before an operation fails.
inline constexpr int kDiskRetriesMax = 100;

class RealDisk final : public Disk {
 public:
  RealDisk(Lane& lane, std::shared_ptr<DiskEngine> engine, DiskFile file);
  ~RealDisk() override;

  Task<Result<void>> write(std::uint64_t offset, std::vector<Slice> pieces,
                           Durability durability) override;
  Task<Result<Slice>> read(std::uint64_t offset, std::size_t size) override;
  Task<Result<void>> sync() override;
  Task<Result<void>> allocate(std::uint64_t offset, std::uint64_t size) override;
  Task<Result<void>> discard(std::uint64_t offset, std::uint64_t size) override;
  std::uint64_t size() const override { return file_.size(); }
  std::shared_ptr<const DiskReader> reader() override;

  const DiskFile& file() const { return file_; }

 private:
  // A slot of the queue depth, released by its destructor.
  class Place {
   public:
    explicit Place(RealDisk& disk);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    RealDisk& disk_;
  };

  bool in_range(std::uint64_t offset, std::uint64_t size) const;
  std::unexpected<Error> out_of_range(const char* operation, std::uint64_t offset,
                                      std::uint64_t size) const;
  DiskRequest request(DiskRequest::Kind kind) const;
  // Bytes of an operation's result that count: with O_DIRECT only whole sectors do.
  std::size_t progress(int result) const;
  Task<Result<void>> finish(DiskRequest request, const char* operation);

  Lane& lane_;
  const std::shared_ptr<DiskEngine> engine_;
  const DiskFile file_;
  Semaphore depth_{lane_, kDiskQueueDepth};
  std::size_t in_flight_ = 0;
};

// Chooses the engine by what the lane supports. Disks may outlive the store.
class RealDiskStore final : public DiskStore {
 public:
  explicit RealDiskStore(Lane& lane) : lane_(lane) {}
  Task<Result<std::unique_ptr<Disk>>> open(std::string path, DiskOptions options) override;

 private:
  Lane& lane_;
  std::shared_ptr<DiskEngine> engine_;  // Made at the first open().
};

}  // namespace moraine
