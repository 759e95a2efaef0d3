// Device: a file or block device that keeps the records of its owners (VDisks) in one log.
//
// Promise    append() completes when the record is durable, in log order: if a record survives a
//            crash, so do all that completed before it. Data is written once; its Location stays
//            valid until the owner drops or moves it.
// Invariants (1) Segments are recycled whole, and only behind the last checkpoint. (2) After a
//            failed write nothing more is written: every append fails until the device is reopened.
//            (3) Dead parts of a segment are returned to the file system only behind a checkpoint
//            of this opening, and only while every live byte of the segment is accounted for.
// Threading  One executor.
// Limits     kBatchesInFlightMax batches and kBytesInFlightToDiskMax bytes being written;
//            kPendingBytesMax bytes waiting, past which ordinary appends fail with kOverloaded;
//            kReservedSegments segments that ordinary data does not use (see admits()).
// Errors     kNoSpace: nothing could be freed; nothing was written. The colour is pre-orange
//            or worse by then, if copies fill segments as segments.cpp expects. kIo: see invariant
//            2.
// Tests      device_test.cpp, batch_test.cpp, log_order_test.cpp, segments_test.cpp; fuzzers
//            beside.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/byte_chain.h"
#include "base/bytes.h"
#include "base/result.h"
#include "blob/device/batch.h"
#include "blob/device/direct_reads.h"
#include "blob/device/format.h"
#include "blob/device/location.h"
#include "blob/device/owner.h"
#include "blob/device/segments.h"
#include "blob/device/small_bytes.h"
#include "io/disk.h"
#include "io/event.h"
#include "io/world.h"

namespace moraine::blob {

inline constexpr std::size_t kBatchesInFlightMax = 16;
inline constexpr std::uint64_t kBytesInFlightToDiskMax = 16u << 20;
inline constexpr std::uint64_t kLargestBatchBytes = 11u << 20;
inline constexpr std::uint64_t kSplitBytes = 512u << 10;  // Worth another batch in flight.
inline constexpr std::uint64_t kBatchEnough = 1u << 20;   // A batch is not filled beyond this.
// Of the reserved segments: for checkpoints, besides their size; for copies of one segment, which
// may fill two; for ordinary records without data, which free space.
inline constexpr std::uint32_t kCheckpointSegments = 1;
inline constexpr std::uint32_t kCopySegments = 2;
inline constexpr std::uint32_t kFactSegments = 1;
inline constexpr std::uint32_t kReservedSegments =
    kCheckpointSegments + kCopySegments + kFactSegments;
inline constexpr std::uint64_t kPendingBytesMax = 256u << 20;  // Of waiting ordinary appends.
inline constexpr std::uint32_t kPrewrittenSegments = 2;  // Kept ready; further ones are discarded.
inline constexpr std::uint64_t kFormatPrefillBytes = 64u << 20;

struct FormatOptions {
  std::uint64_t size = 0;  // 0: as large as the disk is.
  std::uint32_t segment_bytes = kSegmentBytesDefault;
  std::uint32_t prefill_segments = 0;  // Written once now, so that first commits there are fast.
  std::uint64_t prefill_bytes = kFormatPrefillBytes;  // At least, of the first segment.
  bool create = true;                                 // Create the file; otherwise it must exist.
  bool force = false;                                 // Format over an existing device.
};

struct DeviceOptions {
  std::uint64_t checkpoint_log_bytes = 256u << 20;  // Log between two checkpoints, at most.
  double clean_fill_max = 0.5;  // Sealed segments emptier than this are cleaned.
  bool read_only = false;       // Recover, serve reads, write nothing.
  // Its owners have no copies elsewhere: when the disk fails to read part of their records, open()
  // fails with that error, since what is written after it would replace the part. The next open()
  // may read it.
  bool only_copy = false;
};

struct DeviceStats {
  std::uint64_t bytes_appended = 0;  // Whole batches.
  std::uint64_t batches = 0;
  std::uint64_t checkpoints = 0;
  std::uint64_t segments_freed = 0;
  std::uint64_t segments_evacuated = 0;
  std::uint64_t segments_prewritten = 0;
  std::uint64_t segments_trimmed = 0;
  std::uint64_t bytes_trimmed = 0;  // In segments in use.
  std::uint64_t recovery_bytes_read = 0;
};

enum class AppendClass : std::uint8_t { kOrdinary, kMaintenance };

// Where the data of `record`, found in the batch of `header`, lies.
Location location_of(const BatchHeader& header, const RecordView& record);

struct FoundBatch;
struct RecoveredLog;

class Device {
 public:
  using OwnerFactory = std::function<std::shared_ptr<DeviceOwner>(Device&, OwnerSlot)>;

  static Task<Result<Superblock>> format(World world, std::string path, FormatOptions options);
  // Recovers the log and every owner in it.
  static Task<Result<std::unique_ptr<Device>>> open(World world, std::string path,
                                                    DeviceOptions options, OwnerFactory factory);
  ~Device();

  // Waits for what is in flight, writes a last checkpoint, closes. The device is unusable after it.
  Task<void> stop();
  // Asks background work to end, without waiting for it.
  void abandon();

  // The owner of a slot: the one recovered from the log, or a new one.
  std::shared_ptr<DeviceOwner> attach(OwnerSlot slot);
  const std::map<OwnerSlot, std::shared_ptr<DeviceOwner>>& owners() const { return owners_; }
  const Superblock& superblock() const { return superblock_; }
  const DeviceStats& stats() const { return stats_; }
  const std::string& path() const { return path_; }
  SegmentTable& segments() { return segments_; }
  Colour colour() const { return segments_.colour(ordinary_bytes_, ordinary_.size()); }
  // The file system has no blocks left for the next segment.
  bool file_system_full() const { return segments_.no_blocks(); }
  const std::optional<Error>& failure() const { return failure_; }
  const std::vector<std::string>& damage() const { return damage_; }
  World& world() { return world_; }
  // The largest data that a record may have on this device.
  std::uint32_t data_size_max() const;

  // One record to be appended; lives in the frame of the coroutine that awaits it.
  class Append {
   public:
    Append(Device& device, OwnerSlot owner, std::uint8_t kind, SmallBytes inline_bytes,
           ByteChain data, AppendClass append_class)
        : device_(device),
          owner_(owner),
          kind_(kind),
          class_(append_class),
          inline_(std::move(inline_bytes)),
          data_(std::move(data)) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self);
    Result<Location> await_resume() { return std::move(result_); }

   private:
    friend class Device;
    Device& device_;
    OwnerSlot owner_;
    std::uint8_t kind_;
    AppendClass class_;
    SmallBytes inline_;
    ByteChain data_;
    std::coroutine_handle<> waiter_;
    Result<Location> result_;
  };
  // co_await returns the data's Location once the record is durable. The new data is live: the
  // owner drops it with segments().drop_live().
  Append append(OwnerSlot owner, std::uint8_t kind, SmallBytes inline_bytes, ByteChain data,
                AppendClass append_class = AppendClass::kOrdinary) {
    return Append(*this, owner, kind, std::move(inline_bytes), std::move(data), append_class);
  }

  // Bytes [shift, shift + size) of the data. Requires: they lie within it.
  Task<Result<Slice>> read(Location location, std::uint32_t shift, std::uint32_t size);
  // Where other threads may read the data; nullopt when they cannot. Requires: the data is live.
  std::optional<DirectPlace> place(const Location& location) const;

  // Runs one checkpoint now. Safe at any time; at most one runs at once.
  Task<Result<void>> checkpoint();
  // Frees and cleans what the policy allows, now. True when a segment was freed.
  Task<Result<bool>> clean(double fill_max);
  // Returns dead space to the file system where it is worth it, now and also under load. An idle
  // device does so by itself.
  Task<void> give_back();

 private:
  struct Batch {
    std::uint64_t sequence = 0;
    std::uint64_t epoch = 0;
    std::uint64_t bytes = 0;
    std::vector<Append*> appends;
    std::vector<Location> locations;
    std::optional<Result<void>> outcome;
  };
  class Sink;

  Device(World world, std::string path, DeviceOptions options, OwnerFactory factory,
         std::unique_ptr<Disk> disk, Superblock superblock);

  // commit.cpp
  void enqueue(Append& append);
  void schedule_pump();
  void pump();
  bool has_pending() const { return !ordinary_.empty() || !maintenance_.empty(); }
  Append* front() const;
  std::uint64_t open_room() const;
  // Each class of records leaves free segments to others, also when it is appended to the open
  // segment, since that may be one of those that were kept:
  //   of a checkpoint          none
  //   copies by cleaning       those for a checkpoint
  //   ordinary, without data   these, and those that the copies of this pass may still fill; when a
  //                            segment is opened, also those for another pass
  //   ordinary, with data      all of these, and those for records without data
  // Copies and records without data may use the open segment without that if it keeps the room for
  // a checkpoint. Thus a checkpoint, or a pass of cleaning, has the segments that it needs once it
  // has begun. Ordinary records that are not admitted wait until cleaning and a checkpoint have
  // freed all that they can.
  bool admits(const Append& append, std::uint64_t room) const;
  bool ensure_room();
  void refuse(const Append& append);
  void start_batch();
  Task<void> write_batch(std::shared_ptr<Batch> batch, std::uint64_t offset,
                         std::vector<Slice> pieces);
  void complete_in_order();
  void fail_device(Error error);
  enum class Pending : std::uint8_t { kAll, kNotAdmitted, kCopies, kMaintenance };
  void fail_pending(const Error& error, Pending which);
  void prepare_next();
  Task<void> prepare_next_segment(std::uint32_t segment);

  // lifecycle.cpp
  Task<Result<void>> recover();
  void adopt_segments(const RecoveredLog& log);
  void measure_segments(const RecoveredLog& log);
  void resume_tail(const RecoveredLog& log);
  Result<void> replay_batch(const FoundBatch& batch, const std::set<OwnerSlot>& torn);
  Task<Result<void>> write_root(Location manifest, bool clean);

  // maintenance.cpp
  void nudge();
  // kCheckpointSegments, and space for two checkpoints like the last one.
  std::uint32_t checkpoint_segments() const;
  std::uint64_t checkpoint_room() const;
  // Kept from ordinary data: kReservedSegments, and space for two checkpoints.
  std::uint32_t reserved_segments() const;
  Task<void> maintain();
  Task<void> maintain_once();
  Task<void> relieve_stall();
  bool checkpoint_due();
  void release_dead();
  void limit_copies(SegmentTable::CleanLimits& limits) const;
  bool note_idle();
  // Ordinary appends came since the last note_idle().
  bool busy() const { return ordinary_appends_ != ordinary_seen_; }
  Task<Result<Location>> write_manifest(Manifest& manifest);
  void forget_checkpoint(const Manifest& manifest, const Location& location);

  // trim.cpp
  struct Garbage {
    std::uint64_t ready = 0;  // In segments behind the last checkpoint.
    std::uint64_t held = 0;   // In other sealed segments.
    std::uint64_t open = 0;
  };
  Garbage garbage() const;
  bool may_trim() const;
  std::uint64_t segment_worth() const;
  void seal_open();
  Task<void> reclaim(bool stop_when_busy);
  Task<void> trim_under_load();
  Task<void> trim(std::uint64_t least, bool stop_when_busy);
  bool accounted_for(std::uint32_t segment, const LiveMap& map) const;
  Task<bool> discard_gaps(std::uint32_t segment, std::vector<LiveMap::Gap> gaps,
                          bool stop_when_busy);
  Task<void> shrink();

  // prewrite.cpp
  std::optional<std::uint32_t> choose_prewrite(std::uint32_t least) const;
  Task<void> prewrite(bool idle);
  void leave_slow_segment();

  World world_;
  std::string path_;
  DeviceOptions options_;
  OwnerFactory factory_;
  std::unique_ptr<Disk> disk_;
  Superblock superblock_;
  SegmentTable segments_;
  std::shared_ptr<const DirectReads> direct_;  // Null: the disk has no reader.
  std::map<OwnerSlot, std::shared_ptr<DeviceOwner>> owners_;
  DeviceStats stats_;
  std::vector<std::string> damage_;
  bool log_lost_ = false;  // Acknowledged batches could not be read when it was opened.

  // The log's end.
  std::uint32_t run_ = 0;
  std::uint64_t run_first_ = 1;
  std::uint64_t previous_last_ = 0;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t durable_ = 0;
  std::uint64_t epoch_ = 0;
  std::optional<std::uint32_t> open_segment_;
  std::uint32_t open_sector_ = 0;
  std::optional<std::uint32_t> next_segment_;  // Opened after open_segment_.
  bool next_ready_ = false;
  std::optional<Error> allocate_error_;  // Why there is no next segment.

  std::deque<Append*> ordinary_;
  std::deque<Append*> maintenance_;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t ordinary_bytes_ = 0;  // The data of ordinary_.
  std::deque<std::shared_ptr<Batch>> in_flight_;
  std::uint64_t in_flight_bytes_ = 0;
  bool pump_scheduled_ = false;
  bool stalled_ = false;  // Ordinary appends wait for free segments.
  std::optional<Error> failure_;

  // The last checkpoint.
  Root root_;
  Location manifest_location_;  // Where manifest_ lies.
  Manifest manifest_;
  std::uint64_t log_bytes_ = 0;         // Appended since the last checkpoint began.
  std::uint64_t checkpoint_bytes_ = 0;  // Size of the last checkpoint.
  bool checkpoint_wanted_ = false;
  std::uint64_t garbage_check_at_ = 0;  // log_bytes_ of the next check of what a checkpoint frees.
  bool checkpointing_ = false;
  bool cleaning_ = false;
  std::vector<std::uint32_t> victims_;       // Being cleaned.
  std::optional<std::uint32_t> prewriting_;  // Must not be opened meanwhile.
  struct PrewriteLeft {
    std::optional<std::uint32_t> segment;
    std::uint64_t bytes = 0;
  };
  PrewriteLeft prewrite_left_at_;  // Progress in a segment that is not fully prewritten.
  std::uint64_t ordinary_appends_ = 0;
  std::uint64_t ordinary_seen_ = 0;  // By the maintenance loop.
  Instant idle_since_{};
  std::uint64_t batches_then_ = 0;  // At the last call of prewrite().
  std::uint64_t bytes_then_ = 0;
  bool trimming_ = false;
  bool can_discard_ = true;
  Instant trim_after_{};  // Delays the next pass after one that freed nothing.
  Duration trim_pause_{};
  std::uint64_t give_back_asked_ = 0;
  std::uint64_t give_back_done_ = 0;
  bool stopping_ = false;

  TaskScope scope_;
  Signal nudges_{world_.executor};  // Wakes the maintenance loop.
  // Appends, maintenance and give_back(): some of it has ended, has failed, or stalls.
  Event work_changed_{world_.executor};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace moraine::blob
