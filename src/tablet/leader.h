// Leader: the one incarnation of a tablet that may write.
//
// Promise    boot() succeeds for at most one incarnation of a generation, with every commit that
//            was ever confirmed, in order, and no commit whose outcome could still change. commit()
//            returns OK when its entry and all its blobs are durable; a leader that has been
//            superseded never gets OK again and stops itself.
// Invariants (1) At most LeaderOptions::entries_in_flight log entries are being written; commits
//            made meanwhile share the next one. (2) Entries are confirmed in order, whatever the
//            order in which they become durable; behind one that failed none is. (3) Blobs of a
//            commit have its step in their ids, so a barrier at a confirmed step never passes a
//            blob of an unconfirmed commit. (4) A barrier never passes a blob of an entry that the
//            next boot may have to check (settled_). (5) Nothing else is written beside a snapshot.
// Threading  The world's executor.
// Limits     kCommitBytesMax per commit, kBatchedBytesMax per entry, kQueuedBytesMax waiting,
//            kEntryBytesInFlightMax being written. With kBatchedBytesMax in flight no further entry
//            begins.
// Errors     kConflict: another incarnation has taken over. kUnavailable and kNoSpace: the outcome
//            is unknown; this incarnation has ended. kOverloaded: nothing was done.
// Tests      leader_test.cpp, in_flight_test.cpp, leader_bounds_test.cpp, kept_log_test.cpp,
//            group_history_test.cpp.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/byte_chain.h"
#include "base/bytes.h"
#include "base/result.h"
#include "io/event.h"
#include "io/sync.h"
#include "io/world.h"
#include "tablet/channel_garbage.h"
#include "tablet/groups.h"
#include "tablet/log_entry.h"
#include "tablet/rebuild.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kCommitBytesMax = 32u << 20;
inline constexpr std::size_t kBatchedBytesMax = 16u << 20;
inline constexpr std::size_t kQueuedBytesMax = 128u << 20;
inline constexpr std::size_t kQueuedCommitsMax = 65'536;
inline constexpr std::size_t kBodyBytesMax = 8u << 20;        // In one commit.
inline constexpr std::size_t kSharedBodyBytesMax = 1u << 20;  // Past this an entry is full.
inline constexpr std::size_t kSnapshotPageMax = 4u << 20;
// This many bytes of dead blobs and log are collected at once, without waiting for the period.
inline constexpr std::uint64_t kDiscardedBytesMax = 8u << 20;
inline constexpr std::size_t kEntryBytesInFlightMax = 64u << 20;  // Blobs of one entry being put.
inline constexpr std::size_t kEntriesInFlight = 4;
inline constexpr std::size_t kCollectPageFlags = 100'000;  // Sent as one collect.
static_assert(kCollectPageFlags <= blob::kCollectFlagsMax);

// The tablet's own state, as the leader uses it.
class TabletState {
 public:
  virtual ~TabletState() = default;
  // The pages of the newest snapshot, then the bodies of every later commit, in order.
  virtual Result<void> restore(const std::vector<Slice>& pages) = 0;
  virtual Result<void> replay(const Slice& body) = 0;
  // The state in pages of at most kSnapshotPageMax: all of it, or all but what stays in the log
  // from needed_since() on.
  virtual std::vector<Slice> snapshot() const = 0;
  // The oldest entry with bodies that a snapshot made now would not contain; (0, 0): there is none.
  // Never decreases.
  virtual GenStep needed_since() const { return {}; }
  // A body from needed_since() on that is before the snapshot in the log. Called after restore(),
  // in order.
  virtual Result<void> replay_kept(const Slice&) { return {}; }
  // The entry of the bodies that are replayed next.
  virtual void replaying(GenStep) {}
  // Every blob of the data channels that the state refers to.
  virtual std::vector<BlobId> live_blobs() const = 0;
};

struct LeaderOptions {
  Duration timeout = 30s;                        // For one storage command.
  std::uint64_t snapshot_log_bytes = 16u << 20;  // Log between two snapshots.
  Duration collect_period = 2s;
  std::size_t bytes_in_flight = kEntryBytesInFlightMax;  // For one entry.
  std::size_t entries_in_flight = kEntriesInFlight;      // At most kEntriesInFlightMax.
  std::uint32_t leftover_ids = 10'000;            // Read in one step of collecting leftovers.
  std::size_t collect_flags = kCollectPageFlags;  // In one collect; the rest in further ones.
};

struct DataBlob {
  Channel channel = kFirstDataChannel;
  ByteChain data;
};

struct CommitRequest {
  std::vector<DataBlob> blobs;
  // Makes the body from the ids of the blobs. Called in commit order; commits before it may not be
  // confirmed yet, but it counts only if they do. Empty: no body.
  std::function<ByteChain(const std::vector<BlobId>&)> body;
  std::size_t body_bytes_hint = 0;
  // Called when the commit could be added to an entry, perhaps several times. True: its body is
  // made when every commit before it is confirmed. Empty: the body may be made before that.
  std::function<bool()> after_confirmed;
};

class Leader {
 public:
  // Becomes the leader of the tablet and brings `state` up to date. `groups` and `state` outlive
  // it.
  static Task<Result<std::unique_ptr<Leader>>> boot(World world, BlobGroups& groups,
                                                    TabletInfo info, TabletState& state,
                                                    LeaderOptions options = {});
  ~Leader();

  // Calls `confirmed` with the blobs' ids when the commit is durable, before later commits are, and
  // then returns. `confirmed` applies the commit to the state.
  using Confirmed = std::move_only_function<void(const std::vector<BlobId>&)>;
  Task<Result<void>> commit(CommitRequest request, Confirmed confirmed);

  // OK: when this was called no other incarnation had begun, so what was read before it was the
  // newest. Written as an entry without a body.
  Task<Result<void>> confirm_lead();

  // Collects blobs that the confirmed state does not refer to any more and that are not being read.
  void discard(const std::vector<BlobId>& ids);
  // Returns when collects for everything dead by now have succeeded or failed; waits first for a
  // requested snapshot.
  Task<void> collect_now();

  // Writes a snapshot before the next commit, whatever the log's length.
  void want_snapshot();

  // Ends background work and waits for what is in flight. With `last_snapshot` the next boot has
  // little to replay.
  Task<void> stop(bool last_snapshot);
  // Asks background work to end, without waiting for it.
  void abandon();

  Generation generation() const { return generation_; }
  // Position of the newest confirmed entry; while `confirmed` runs: of that commit.
  GenStep position() const { return {generation_, step_}; }
  const TabletInfo& info() const { return info_; }
  // Set once this incarnation has ended.
  const std::optional<Error>& ended() const { return ended_; }
  // Called once, when it ends by itself.
  void on_end(Callback hook) { on_end_ = std::move(hook); }
  std::uint64_t log_bytes() const { return log_bytes_; }
  // How full the disks are, by the newest entry that is confirmed or by ask_colour().
  blob::Colour colour() const { return colour_; }
  // The current colour, from the group of the first data channel.
  Task<Result<blob::Colour>> ask_colour();

 private:
  struct Pending {
    CommitRequest request;
    Confirmed confirmed;
    std::size_t bytes = 0;
    OneShot<Result<void>> done;

    bool after_confirmed() const { return request.after_confirmed && request.after_confirmed(); }
  };
  // One log entry with its commits.
  struct Batch {
    LogEntry entry;
    Step step = 0;
    std::size_t bytes = 0;  // Of the commits.
    std::vector<std::pair<BlobId, ByteChain>> blobs;
    std::vector<std::pair<std::shared_ptr<Pending>, std::vector<BlobId>>> commits;
    std::optional<Result<std::size_t>> written;  // Its size. Not set while it is being written.
    blob::Colour colour = blob::Colour::kGreen;  // The worst of its puts.
  };

  // The puts of one entry.
  struct EntryPuts {
    explicit EntryPuts(Executor& executor) : ended(executor) {}
    blob::PutResult worst;
    std::size_t bytes = 0;  // In flight.
    Event ended;            // One of them.
  };

  Leader(World world, BlobGroups& groups, TabletInfo info, TabletState& state,
         LeaderOptions options);

  // boot.cpp
  Task<Result<void>> become_leader();
  Task<Result<Generation>> next_generation();
  Task<Result<void>> block_all();
  Task<Result<void>> replay_log();
  Result<void> replay_entries(const RebuiltLog& log);
  Task<Result<void>> write_zero_entry(GenStep previous);

  // commit.cpp
  Task<void> write_queued();
  bool snapshot_due() const;
  bool has_work() const;
  std::shared_ptr<Batch> next_batch();
  Task<void> write_batch(std::shared_ptr<Batch> batch);
  void settle_written();
  void confirm(Batch& batch);
  Task<void> answer_rest();
  void answer_due();
  Task<Result<std::size_t>> write_entry(const LogEntry& entry, Step step,
                                        const std::vector<std::pair<BlobId, ByteChain>>& blobs,
                                        blob::Colour& colour);
  Task<void> put_blob(BlobId id, ByteChain data, blob::PutResult& result);
  Task<void> put_counted(BlobId id, ByteChain data, EntryPuts& puts);
  Task<Result<void>> write_snapshot();
  void end(Error error);
  BlobId log_id(Step step, std::size_t size) const;

  // garbage.cpp
  Task<void> collect_loop();
  bool nothing_to_collect(const std::vector<bool>& clean) const;
  void count_discarded(std::uint64_t bytes);
  Task<void> collect_channel(Channel channel);
  Task<bool> collect_leftovers(Channel channel);
  Task<bool> flag_leftovers(GroupId group, Channel channel, GenStep barrier,
                            const std::set<BlobId>& live);
  Task<bool> send_command(Channel channel, const ChannelGarbage::Command& command);
  Task<bool> send_collect(GroupId group, Channel channel, std::optional<GenStep> barrier,
                          std::vector<BlobId> keep, std::vector<BlobId> do_not_keep);
  void note_collect(GroupId group, Channel channel, bool done, const blob::CollectResult& answer);
  GenStep log_barrier() const;

  Instant deadline() const { return world_.executor.now() + options_.timeout; }

  World world_;
  BlobGroups& groups_;
  const TabletInfo info_;
  TabletState& state_;
  const LeaderOptions options_;
  Generation generation_ = 0;
  Step step_ = 0;     // Step of the newest confirmed entry.
  Step settled_ = 0;  // The next boot takes entries up to this one as confirmed.
  GenStep snapshot_;
  GenStep log_begin_;  // The oldest entry that the next boot needs; at most snapshot_.
  std::vector<BlobId> snapshot_pages_;
  std::uint64_t log_bytes_ = 0;  // Since the snapshot.
  blob::Colour colour_ = blob::Colour::kGreen;
  std::uint32_t collect_counter_ = 0;
  std::uint64_t collects_failed_ = 0;    // Since the last one that succeeded.
  std::vector<ChannelGarbage> garbage_;  // By channel.
  std::vector<GenStep> barriers_;        // By channel: the last one sent.
  bool snapshot_wanted_ = false;
  bool writing_snapshot_ = false;

  std::deque<std::shared_ptr<Pending>> queue_;
  std::deque<std::shared_ptr<Pending>> answers_due_;  // Confirmed; their callers are not resumed.
  std::size_t queued_bytes_ = 0;
  std::deque<std::shared_ptr<Batch>> in_flight_;  // By step, from step_ + 1 on.
  std::size_t in_flight_bytes_ = 0;
  bool writing_ = false;  // write_queued() runs.
  bool failed_ = false;   // An entry could not be written: no later one is confirmed.
  std::optional<Error> ended_;
  Callback on_end_;
  // An entry or a snapshot was written, or a round of collecting has ended.
  Event progress_{world_.executor};
  Event garbage_found_{world_.executor};
  Signal collector_wakes_{world_.executor};  // Collects at once.
  std::uint64_t discarded_bytes_ = 0;        // Since the collector woke.
  std::uint64_t collections_begun_ = 0;
  std::uint64_t collections_done_ = 0;
  TaskScope scope_;
};

// Deletes a tablet: no incarnation can boot any more, and its blobs are collected.
Task<Result<void>> delete_tablet(World world, BlobGroups& groups, TabletInfo info);

}  // namespace moraine
