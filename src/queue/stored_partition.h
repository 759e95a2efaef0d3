// StoredPartition: a partition whose blobs, sources and consumers are keys of a key-value tablet.
//
// Invariants (1) One transaction at a time is in flight: requests that arrive meanwhile share the
//            next one. (2) Nothing of a transaction is visible before it is durable.
//            (3) The state in memory is a function of the tablet's keys.
// Threading  As Partition. Consumers and figures are changed on the executor of the tablet with
//            shared_mutex_ locked, so that other threads can read them. read_cached() uses these
//            figures and the cache only.
// Limits     kCycle*Max for a transaction, kOpenMessagesMax messages in
//            parts, kDeviceReadsMax concurrent reads from the device; with other partitions of the
//            node those of FactCounts: sources are evicted past it, new consumers are refused.
// Tests      *_test.cpp beside it.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "io/event.h"
#include "io/world.h"
#include "keyvalue/key_value.h"
#include "queue/blob_cache.h"
#include "queue/fact_counts.h"
#include "queue/layout.h"
#include "queue/partition.h"
#include "queue/refusals.h"
#include "queue/retention.h"
#include "queue/seeded_bug.h"
#include "queue/sources.h"

namespace moraine::queue {

inline constexpr std::size_t kCycleBytesMax = 12u << 20;
inline constexpr std::size_t kCycleWritesMax = 10'000;
inline constexpr std::size_t kCycleCommandsMax = 6'000;
inline constexpr std::size_t kCycleFactBytesMax = 2u << 20;  // Of consumers; of sources.
inline constexpr std::size_t kCycleMessagesMax = 1u << 24;
inline constexpr std::size_t kEntryMessagesMax = 1u << 24;
inline constexpr std::size_t kHeadMessagesMax = 1u << 30;
inline constexpr std::size_t kCycleActionsMax = 1'000;
inline constexpr std::size_t kWaitingActionsMax = 100'000;
inline constexpr std::size_t kOpenMessagesMax = 16;
inline constexpr std::size_t kMessagePartsMax = 1'000;
// An incomplete message that got no part for so long may be dropped for another one.
inline constexpr Duration kOpenMessageIdle = 10s;
inline constexpr std::size_t kDeviceReadsMax = 20;
inline constexpr std::size_t kReadAheadBytes = 4u << 20;
inline constexpr std::size_t kReadAheadPieces = 16;  // Started by one call.
inline constexpr std::size_t kForgottenSourcesPerCycle = 1'000;
inline constexpr std::size_t kRemovedBlobsPerCycle = 1'000;
inline constexpr Duration kRetentionPeriod = 5s;
inline constexpr Duration kSpaceProbePeriod = 1s;

struct PartitionSetup {
  PartitionIndex index = 0;
  PartitionConfig config;
  std::size_t waiting_writes_max = kInFlightWritesMax;
  RefusalRules refusals = {};
  std::shared_ptr<FactCounts> facts = nullptr;  // Of the node. Null: no limits.
};

WriteAnswer refused(WriteStatus status, std::string detail, bool disk_full = false);

class StoredPartition final : public Partition,
                              public std::enable_shared_from_this<StoredPartition> {
 public:
  // `tablet` and `cache` must live until stop() has ended.
  StoredPartition(World world, KeyValue& tablet, BlobCache& cache, PartitionSetup setup);
  StoredPartition(const StoredPartition&) = delete;
  StoredPartition& operator=(const StoredPartition&) = delete;
  // After stop() or abandon() on any thread.
  ~StoredPartition() override {
    if (retention_timer_.value != 0) world_.executor.cancel(retention_timer_);
  }

  // Loads the state from the tablet's keys. kCorrupt names the invalid key.
  Task<Result<void>> load();
  // After load(): nothing of the partition is stored, so no earlier incarnation accepted or refused
  // writes.
  bool never_served() const { return never_served_; }
  // The partition is new: producers may begin with any sequence at once.
  void created() { refusals_.nothing_refused_before(); }
  // Fails everything that waits; the tablet is not used after it ends.
  Task<void> stop();
  // The same without waiting for operations in flight.
  void abandon();

  std::shared_ptr<OneShot<WriteAnswer>> write(WriteRequest request) override;
  Task<Result<ReadAnswer>> read(ReadRequest request) override;
  std::optional<ReadAnswer> read_cached(const ReadRequest& request) override;
  void read_ahead(Offset offset, std::size_t bytes) override;
  Task<Result<std::optional<StoredEntry>>> find_time(std::int64_t time_ms) override;
  Task<Result<std::optional<StoredEntry>>> find_time_from(Offset from,
                                                          std::int64_t time_ms) override;
  Task<Result<std::optional<StoredEntry>>> find_newest() override;
  Task<Result<void>> commit(ConsumerOffset offset) override;
  std::optional<ConsumerOffset> committed(const std::string& consumer) const override;
  std::vector<ConsumerOffset> all_committed() const override;
  std::vector<ConsumerOffset> committed_after(const std::string& name,
                                              std::size_t limit) const override;
  Task<Result<void>> forget_consumer(std::string consumer) override;
  Task<Result<Offset>> trim(Offset offset) override;
  PartitionInfo info() const override;
  void configure(PartitionConfig config) override;
  std::uint64_t watch(Callback moved) override;
  void unwatch(std::uint64_t watch) override;
  bool stopped() const override { return stopped_.load(); }

 private:
  struct Waiting {
    WriteRequest request;
    std::shared_ptr<OneShot<WriteAnswer>> done;
  };
  struct SetConsumer {
    ConsumerOffset offset;
  };
  struct ForgetConsumer {
    std::string consumer;
  };
  struct Trim {
    Offset offset = 0;
  };
  struct Action {
    std::variant<SetConsumer, ForgetConsumer, Trim> what;
    std::shared_ptr<OneShot<Result<void>>> done;
  };
  // A message that has got some of its parts.
  struct OpenMessage {
    std::uint32_t slot = 0;  // Part of its parts' keys.
    Producer producer;
    std::uint32_t parts = 0;
    std::uint32_t next = 0;
    std::uint32_t crc = 0;
    std::uint64_t bytes = 0;
    Instant touched;
  };
  struct Watch {
    Callback callback;  // Null after unwatch().
    void call() {
      if (callback) callback();
    }
  };
  // A read that uses the tablet.
  class InUse {
   public:
    explicit InUse(StoredPartition& partition) : partition_(partition) { ++partition_.reading_; }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse() {
      if (--partition_.reading_ == 0) partition_.read_ended_.notify_all();
    }

   private:
    StoredPartition& partition_;
  };
  // A piece that is being read, and the other readers that wait for it.
  struct Loading {
    explicit Loading(Executor& executor) : ended(executor) {}

    Result<Piece> piece;
    Event ended;
  };
  // A write of the cycle, and the answer that it will get.
  struct PendingAnswer {
    std::shared_ptr<OneShot<WriteAnswer>> done;
    WriteAnswer answer;
    Producer producer;
  };
  // One transaction, from taking the queued writes to answering them.
  struct Cycle {
    std::uint64_t now_ms = 0;
    Offset first = 0;  // The end before it.
    Offset end = 0;
    std::uint64_t new_bytes = 0;
    std::size_t fact_bytes = 0;
    std::vector<StoredEntry> entries;
    std::optional<StoredEntry> whole;  // A message completed by its last part; the only entry.
    std::map<std::string, Source> sources;
    std::map<std::string, std::optional<ConsumerOffset>> consumers;
    std::vector<Sources::Stale> forgotten;
    bool drops_parts = false;  // Of messages that failed before.
    std::vector<PendingAnswer> answers;
    std::vector<std::shared_ptr<OneShot<Result<void>>>> actions;
    std::vector<Command> commands;
    Layout layout;
    std::size_t removed = 0;  // Blobs at the front.
    Offset start = 0;
    // A write is rejected as wrong. That is true only if this incarnation still leads, so the cycle
    // must write something.
    bool confirm = false;
    bool shown = false;  // By a seeded bug: before it was durable.
  };

  Result<void> load_blobs();
  Task<Result<void>> load_facts(char kind);  // 's' or 'c', as in keys.h.
  void notify_watches();
  // Makes the present figures those of info().
  void publish_info();
  WriteStatus stopped_status() const {
    return no_space_ ? WriteStatus::kDiskFull : WriteStatus::kStopped;
  }

  // write_cycle.cpp
  Task<void> run_cycles();
  Task<bool> run_cycle();  // False: it failed.
  // Why no write can be accepted now.
  std::optional<WriteAnswer> refusal() const;
  static bool full(const Cycle& cycle);
  void take_writes(Cycle& cycle);
  void refuse_writes(Cycle& cycle, const WriteAnswer& refusal);
  void fail_source(Cycle& cycle, const std::string& source_id);
  void note_refused(const Producer& producer);
  std::string forgotten_reason() const;
  Judgement judge_write(const Source* known, const WriteRequest& request);
  WriteAnswer take_write(Cycle& cycle, WriteRequest& request);
  void take_actions(Cycle& cycle);
  Task<void> lay_out_cycle(Cycle& cycle);

  // message_parts.cpp
  WriteAnswer take_part(Cycle& cycle, WriteRequest& request);
  void drop_open_message(Cycle& cycle, const std::string& source_id);
  void drop_idle_message(Cycle& cycle);
  void add_whole_message(Cycle& cycle);

  void add_removals(Cycle& cycle);
  void add_facts(Cycle& cycle);
  Task<void> apply_seeded_bug(Cycle& cycle);
  void apply(Cycle& cycle);
  void apply_consumers(Cycle& cycle);
  void answer_writes(Cycle& cycle);
  void answer_actions(Cycle& cycle);
  void fail_cycle(Cycle& cycle, const Error& error);
  void fail_waiting(WriteStatus status, const std::string& detail, bool disk_full = false);
  Task<void> wait_for_quota();
  Task<void> probe_space();
  void kick();
  bool has_work() const;
  bool retention_due() const;
  bool sources_due() const;
  void count_facts() { facts_.set(sources_.size(), consumers_.size()); }
  bool may_add_consumer(const Cycle& cycle, const std::string& name);
  void retention_tick();
  RetentionView retention_view(Offset start, const Cycle* cycle) const;
  Offset read_up_to(const ConsumerOffset& consumer) const;
  void note_end(const ConsumerOffset& consumer, Offset end);
  Task<Result<void>> act(Action action);
  const Source* source(const Cycle& cycle, const std::string& id) const;

  // partition_read.cpp
  Task<Result<std::optional<Piece>>> piece_at(Offset offset);
  Error unreadable(Offset offset, Error error);
  Task<Result<std::int64_t>> newest_time();  // Below 0: no timestamps.
  Task<Result<Piece>> load_piece(const StoredBlob& blob, PieceRef ref);
  Task<Result<Piece>> read_piece(std::string key, PieceRef ref);
  Task<void> load_into_cache(Offset offset);
  void count_read(std::uint64_t messages, std::size_t bytes);
  Task<Result<Slice>> read_bytes(std::string key, std::uint64_t at, std::uint64_t bytes);
  StoredBlob* find_blob(Offset offset);
  Task<Result<void>> read_piece_info(Offset blob_offset, std::size_t index);
  BlobCache::Key cache_key(Offset offset, std::uint32_t messages) const;

  std::size_t head_from() const;
  std::uint64_t now_ms() const;

  World world_;
  KeyValue* tablet_;
  BlobCache& cache_;
  const std::shared_ptr<LoadingBudget> loading_budget_;
  const std::uint64_t tablet_id_;
  const PartitionIndex index_;
  PartitionConfig config_;

  std::deque<StoredBlob> blobs_;
  std::uint64_t bytes_ = 0;
  Offset start_ = 0;
  Offset end_ = 0;
  Sources sources_;
  Refusals refusals_;
  mutable std::mutex shared_mutex_;
  std::map<std::string, ConsumerOffset> consumers_;  // Changed with shared_mutex_ locked.
  PartitionInfo published_;                          // Guarded by shared_mutex_.
  FactCounts::Share facts_;
  // By consumer that committed past the end: the end at that time.
  std::map<std::string, Offset> ends_at_commit_;
  std::map<std::string, OpenMessage> open_messages_;  // By source id.
  std::uint32_t next_slot_ = 0;
  bool stray_parts_ = false;  // Keys of parts of failed messages may remain.
  std::uint64_t failures_in_row_ = 0;

  const std::size_t waiting_writes_max_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::deque<Action> actions_;
  bool never_served_ = false;
  bool cycling_ = false;
  std::atomic<bool> stopped_{false};
  bool no_space_ = false;  // It stopped for lack of space.
  bool refusing_ = false;  // From a refused write until the queue is empty.
  double quota_ = 0;       // Bytes that may be taken now.
  Instant quota_at_;
  bool disk_full_ = false;
  Instant space_probed_at_;
  TimerId retention_timer_;
  Semaphore device_reads_{world_.executor, kDeviceReadsMax};
  std::map<Offset, std::shared_ptr<Loading>> loading_;  // By first offset.
  std::size_t reading_ = 0;
  Event read_ended_{world_.executor};
  Event action_queued_{world_.executor};
  std::map<std::uint64_t, std::shared_ptr<Watch>> watches_;
  std::uint64_t next_watch_ = 1;
  PartitionInfo counters_;
  // Counted by readers on any thread.
  std::atomic<std::uint64_t> read_messages_ = 0;
  std::atomic<std::uint64_t> read_bytes_ = 0;
  TaskScope scope_;
};

}  // namespace moraine::queue
