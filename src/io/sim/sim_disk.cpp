#include "io/sim/sim_disk.h"

#include <utility>

#include "base/invariant.h"

namespace moraine {
namespace {

// Suspends until the drive has completed the request, or the node is dead.
struct Submitted {
  SimDrive& drive;
  SimDiskRequest& request;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> self) {
    request.waiter = self;
    drive.submit(request);
  }
  Result<Slice> await_resume() {
    if (!request.executor->alive()) return fail(Errc::kUnavailable, "the node has crashed");
    return std::move(request.outcome);
  }
};

// Reads complete at once, as long as the node's life that created the reader lasts.
class SimDiskReader final : public DiskReader {
 public:
  SimDiskReader(SimDrive& drive, const NodeExecutor& executor)
      : drive_(drive), executor_(executor), life_(drive.life()) {}

  Result<Slice> read(std::uint64_t offset, std::size_t size) const override {
    INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "read of {} bytes at {}", size,
              offset);
    if (life_ != drive_.life() || !executor_.alive()) {
      return fail(Errc::kUnavailable, "the node has crashed");
    }
    return drive_.read_now(offset, size);
  }

 private:
  SimDrive& drive_;
  const NodeExecutor& executor_;
  const std::uint64_t life_;
};

}  // namespace

SimDiskStore::SimDiskStore(SimExecutor& loop, FaultCounters& faults, std::uint64_t seed,
                           DiskTiming timing, bool trace_contents)
    : shared_{.loop = loop, .faults = faults, .timing = timing, .trace_contents = trace_contents},
      seed_(seed) {}

SimDrive& SimDiskStore::drive(const std::string& path) {
  std::unique_ptr<SimDrive>& drive = drives_[path];
  if (!drive) drive = std::make_unique<SimDrive>(shared_, path, stream_seed(seed_, path));
  return *drive;
}

void SimDiskStore::crash(CrashPolicy policy) {
  for (const auto& [path, drive] : drives_) drive->crash(policy);
}

Task<Result<std::unique_ptr<Disk>>> NodeDiskStore::open(std::string path, DiskOptions options) {
  SimDrive& drive = store_.drive(path);
  SimDiskRequest request{
      .kind = SimDiskRequest::Kind::kOpen, .executor = &executor_, .options = options};
  Submitted submitted{drive, request};
  CO_TRY(const Slice nothing, co_await submitted);
  co_return std::make_unique<SimDisk>(drive, executor_, options.read_only);
}

SimDisk::SimDisk(SimDrive& drive, NodeExecutor& executor, bool read_only)
    : drive_(drive),
      executor_(executor),
      options_{.create = false, .create_size = 0, .read_only = read_only},
      life_(drive.life()) {}

SimDisk::~SimDisk() {
  INVARIANT(in_flight_ == 0, "disk {} is closed with {} requests in flight", drive_.path(),
            in_flight_);
  drive_.unlock(life_);
}

Task<Result<void>> SimDisk::write(std::uint64_t offset, std::vector<Slice> pieces,
                                  Durability durability) {
  SimExtent extent(offset, std::move(pieces));
  const std::uint64_t size = extent.size;
  return perform({.kind = SimDiskRequest::Kind::kWrite,
                  .executor = &executor_,
                  .offset = offset,
                  .size = size,
                  .extent = std::move(extent),
                  .durability = durability,
                  .options = options_});
}

Task<Result<Slice>> SimDisk::read(std::uint64_t offset, std::size_t size) {
  INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "read of {} bytes at {}", size,
            offset);
  SimDiskRequest request{
      .kind = SimDiskRequest::Kind::kRead, .executor = &executor_, .offset = offset, .size = size};
  ++in_flight_;
  Submitted submitted{drive_, request};
  Result<Slice> bytes = co_await submitted;
  --in_flight_;
  co_return bytes;
}

Task<Result<void>> SimDisk::sync() {
  return perform({.kind = SimDiskRequest::Kind::kSync, .executor = &executor_});
}

Task<Result<void>> SimDisk::allocate(std::uint64_t offset, std::uint64_t size) {
  INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "allocate {} bytes at {}", size,
            offset);
  return perform({.kind = SimDiskRequest::Kind::kAllocate,
                  .executor = &executor_,
                  .offset = offset,
                  .size = size,
                  .options = options_});
}

Task<Result<void>> SimDisk::discard(std::uint64_t offset, std::uint64_t size) {
  INVARIANT(offset % kSectorSize == 0 && size % kSectorSize == 0, "discard {} bytes at {}", size,
            offset);
  return perform({.kind = SimDiskRequest::Kind::kDiscard,
                  .executor = &executor_,
                  .offset = offset,
                  .size = size,
                  .extent = drive_.discarded(offset, size),
                  .options = options_});
}

std::shared_ptr<const DiskReader> SimDisk::reader() {
  return std::make_shared<SimDiskReader>(drive_, executor_);
}

Task<Result<void>> SimDisk::perform(SimDiskRequest request) {
  ++in_flight_;
  Submitted submitted{drive_, request};
  const Result<Slice> outcome = co_await submitted;
  --in_flight_;
  if (!outcome) co_return std::unexpected(outcome.error());
  co_return Result<void>();
}

}  // namespace moraine
