// SimDrive: one simulated disk drive: its bytes, its queue, its latencies and its faults.
//
// Promise    Requests take effect one at a time, at a moment between submission and completion, and
//            may overtake each other. Everything random comes from the seed, the node and the path.
// Invariants (1) A request stays at its address until it completes. (2) A request of a node that
//            has died completes with kUnavailable and has no effect after the death.
// Threading  The thread of the simulation.
// Errors     A range outside size() fails with kInvalidArgument and changes nothing.
// Limits     kSimDiskQueueDepth requests in flight; past it they are queued in order.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/disk.h"
#include "io/sim/node_executor.h"
#include "io/sim/sim_interval_set.h"
#include "io/sim/sim_medium.h"

namespace moraine {

inline constexpr std::size_t kSimDiskQueueDepth = 256;

struct DiskTiming {
  Duration request_min = 50us;  // For all requests but syncs.
  Duration request_max = 300us;
  Duration sync_min = 100us;
  Duration sync_max = 500us;
  std::uint64_t bytes_per_us = 1000;  // Bandwidth shared by all requests.
};

// The faults of one drive. May be changed at any moment; requests check it when they take effect.
struct DiskFaults {
  static constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

  FaultChance read_error;
  FaultChance write_error;  // Any sectors of the write may have arrived.
  FaultChance sync_error;   // The covered writes are each kept, lost or torn.
  FaultChance no_space;
  FaultChance bit_rot;    // Per write: a bit flips in some sector that was ever written.
  FaultChance misdirect;  // Per un-synced write at a crash: it lands elsewhere on the disk.
  FaultChance lie;        // A durable write or a sync is acknowledged and not done.
  std::uint64_t capacity = kUnlimited;  // Bytes that can be allocated, by allocate() or by writes.
  std::uint64_t slow_factor = 1;        // Multiplies the time that a request takes.
  bool read_only = false;
  bool no_discard = false;  // The file system has no holes.
};

// A moment at which a test may inspect the disk or crash the node.
struct IoEvent {
  enum class Kind : std::uint8_t { kWrite, kSync, kDiscard };
  Kind kind;
  bool done;  // False: about to take effect. True: took effect, not yet acknowledged.
  std::string_view path;
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t number;  // Number of this event in its store, from 0.
};

// What all drives of a node share.
struct DriveShared {
  SimExecutor& loop;
  FaultCounters& faults;
  DiskTiming timing;
  bool trace_contents;
  std::function<void(const IoEvent&)> hook = nullptr;
  std::uint64_t events = 0;  // Writes, discards and syncs so far.
};

struct SimDiskRequest {
  enum class Kind : std::uint8_t { kOpen, kRead, kWrite, kSync, kAllocate, kDiscard };
  Kind kind;
  NodeExecutor* executor;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  SimExtent extent = {};
  Durability durability = Durability::kCached;
  DiskOptions options = {};
  // Filled by the drive.
  std::uint64_t sync_mark = 0;
  bool took_effect = false;
  Result<Slice> outcome = Slice();
  std::coroutine_handle<> waiter = nullptr;
};

class SimDrive {
 public:
  SimDrive(DriveShared& shared, std::string path, std::uint64_t seed);
  SimDrive(const SimDrive&) = delete;
  SimDrive& operator=(const SimDrive&) = delete;

  const std::string& path() const { return path_; }
  DiskFaults& faults() { return faults_; }
  bool exists() const { return exists_; }
  bool locked() const { return locked_; }
  std::uint64_t size() const { return medium_.visible().size(); }
  std::size_t in_flight() const { return in_flight_.size(); }
  std::uint64_t allocated() const { return allocated_.total(); }

  void submit(SimDiskRequest& request);
  // What a discarded range may hold: an un-synced write of zeros or of random bytes.
  SimExtent discarded(std::uint64_t offset, std::uint64_t size);
  // What a blocking read would return, without delay. kUnavailable while the drive is stuck.
  Result<Slice> read_now(std::uint64_t offset, std::uint64_t size);
  // The number of crashes so far: a disk that was opened at another number is stale.
  std::uint64_t life() const { return life_; }
  void unlock(std::uint64_t life);

  // Requests do not complete while the drive is stuck.
  void set_stuck(bool stuck);
  // Flips one bit of the byte at `offset`.
  void corrupt(std::uint64_t offset, unsigned bit = 0);
  // Reads of the range fail with kIo until it is written again.
  void fail_reads_at(std::uint64_t offset, std::uint64_t size);
  void truncate(std::uint64_t size);
  // A replaced disk: the same size, all zeros.
  void wipe();
  // Deletes the file: opening it fails with kNotFound.
  void remove();
  void install(DiskImage image);

  // What readers see now.
  DiskImage snapshot() const { return medium_.visible(); }
  // What a power cut now would leave. Changes nothing and shifts no random stream. Each `variant`
  // is another image that the random policy could leave at this moment.
  DiskImage crash_image(CrashPolicy policy, std::uint64_t variant = 0) const;
  // Power loss: only the platter's contents remain, the lock is released, pending requests complete
  // with kUnavailable. Requires: the executors of the pending requests are dead.
  void crash(CrashPolicy policy);

 private:
  using Outcome = Result<Slice>;

  void start(std::uint64_t id);
  void finish(std::uint64_t id);
  void complete(std::uint64_t id);
  Duration time_of(const SimDiskRequest& request);
  // Calls the hook. False: the node crashed inside it.
  bool call_hook(std::uint64_t id, bool done);
  void trace(const SimDiskRequest& request);

  Outcome execute(SimDiskRequest& request);
  Outcome open(const SimDiskRequest& request);
  Outcome read(const SimDiskRequest& request);
  Outcome write(SimDiskRequest& request);
  Outcome sync(const SimDiskRequest& request);
  Outcome allocate(const SimDiskRequest& request);
  Outcome discard(const SimDiskRequest& request);
  bool in_range(const SimDiskRequest& request) const;
  bool has_room(std::uint64_t offset, std::uint64_t size) const;
  void rot_somewhere();
  std::vector<const SimExtent*> writes_in_flight() const;
  Error error(Errc code, std::string_view what, const SimDiskRequest& request) const;

  DriveShared& shared_;
  const std::string path_;
  SimMedium medium_;
  DiskFaults faults_;
  bool exists_ = false;
  bool locked_ = false;
  bool stuck_ = false;
  std::uint64_t life_ = 0;
  SimIntervalSet allocated_;
  std::set<std::uint64_t> bad_sectors_;

  std::map<std::uint64_t, SimDiskRequest*> in_flight_;  // By id: in order of submission.
  std::deque<std::uint64_t> waiting_;
  std::deque<std::uint64_t> held_;  // Due while the drive was stuck.
  std::size_t started_ = 0;
  std::uint64_t next_id_ = 1;
  Instant transfer_free_;

  const std::uint64_t seed_;
  SeededRandom latency_random_;
  SeededRandom fault_random_;
  SeededRandom crash_random_;
  SeededRandom discard_random_;
};

}  // namespace moraine
