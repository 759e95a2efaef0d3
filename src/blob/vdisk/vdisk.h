// VDisk: one member of a group; keeps parts of blobs, and the group's blocks and barriers.
//
// Promise    A reply of OK means durable on this disk. BLOCKED, ALREADY and NODATA are returned
//            only from durable facts. A disk that lost its data returns NOTREADY until it has
//            recovered the group's index, and NOT_YET for parts that it should have and lacks.
// Threading  The device's executor.
// Limits     See protocol.h for messages; kReadsPerGetMax reads in flight per request.
// Tests      state_test.cpp, barriers_test.cpp, records_test.cpp; whole groups in sim/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "blob/device/device.h"
#include "blob/endpoint/disk_service.h"
#include "blob/seeded_bug.h"
#include "blob/vdisk/forget_rule.h"
#include "blob/vdisk/part_cache.h"
#include "blob/vdisk/state.h"
#include "blob/vdisk/vdisk_events.h"

namespace moraine::blob {

struct VDiskOptions {
  Duration sync_period = 1s;         // Between two pulls from a neighbour.
  Duration replication_period = 2s;  // Between two passes over what is missing.
  // A disk that lost its data serves nothing for this long, so that no proxy still counts its
  // former acknowledgements (the proxy's limit is shorter).
  Duration loss_delay = 15s;
  Duration ask_timeout = 5s;
  std::uint64_t cache_bytes = 64u << 20;
};

inline constexpr std::size_t kReadsPerGetMax = 32;
inline constexpr std::size_t kMovesMax = 128;  // Parts that cleaning moves at once.
inline constexpr std::uint64_t kMovedBytesMax = 4u << 20;
inline constexpr std::size_t kCollectStep = 512;  // Entries collected between two yields.
inline constexpr std::size_t kVisitStep = 2048;   // Entries visited between two yields.

class Replicator;
class Syncer;

class VDisk final : public DeviceOwner,
                    public DiskService,
                    public std::enable_shared_from_this<VDisk> {
 public:
  VDisk(Device& device, OwnerSlot slot, VDiskOptions options);
  ~VDisk() override;

  // Starts as the member of `config` at address `self`; recovery continues in the background. When
  // the group has moved the member elsewhere it is retired: it keeps its data until its successor
  // is complete, and then releases its space, or becomes the other member that the config places
  // here. A member that is placed here again starts empty; that of a group of one keeps its data.
  // A newer config on disk wins; another one of the same generation is refused, and so is one that
  // check_config() refuses.
  Task<Result<void>> start(GroupConfig config, DiskAddress self, EndpointResolver& resolver);
  // Ends background work; requests from now on get kError.
  Task<void> stop();
  // Asks background work to end, without waiting for it.
  void abandon();
  // Adopts a newer generation of the group; a member that it places elsewhere retires. kConflict:
  // it is another config of the known generation, or check_config() refuses it.
  Task<Result<void>> adopt_config(GroupConfig config);
  // kConflict: the config is newer than the known one, this disk has data, and adopting the config
  // could lose it (see check_change()). For a config after missed generations a disk can detect
  // this only when its own place changes.
  Result<void> check_config(const GroupConfig& config) const;

  enum class Phase : std::uint8_t {
    kIdle,        // Not started.
    kRecovering,  // Checks with the neighbours whether its data is complete, or recovers it.
    kReady,
    kRetired,  // The group has moved this member elsewhere.
    kBroken,   // The group remembers another guid, or the device failed.
  };
  Phase phase() const { return phase_; }
  // Returns when it does not recover any more, is stopped, or the deadline has passed.
  Task<void> wait_while_recovering(Instant deadline);
  const std::string& broken_reason() const { return broken_reason_; }
  bool stopping() const { return stopping_; }
  bool replicated() const { return replicated_; }
  // Retired, with its space released: the slot may be used by another member or group.
  bool vacant() const;
  const VDiskState& state() const { return state_; }
  const PartCache& cache() const { return cache_; }
  const VDiskEvents& events() const { return events_; }
  // Where threads may read the blob directly. nullopt: they cannot, or it is not whole here.
  std::optional<DirectPlace> locate(const BlobId& id) const;

  // DiskService
  Executor& executor() override { return device_.world().executor; }
  Task<DiskReply> handle(DiskRequest request) override;

  // DeviceOwner
  Result<void> restore(ByteSpan chunk) override { return state_.restore_page(chunk); }
  Result<void> replay(std::uint8_t kind, ByteSpan inline_bytes, const Location& data) override;
  void recovered(bool lost) override;
  void failed(const Error& error) override;
  Task<Result<void>> checkpoint(CheckpointSink& sink) override;
  Task<Result<void>> evacuate(const SegmentSet& segments) override;
  Task<void> visit_live(LiveMap& map) override;

 private:
  friend class Replicator;
  friend class Syncer;
  friend class GuidRecovery;

  // service.cpp: dispatch and small commands
  Task<DiskReply> serve(DiskRequest request);
  DiskReply reply(Status status, std::string reason = {}) const;
  std::optional<DiskReply> refuse(const DiskRequest& request);
  Task<DiskReply> on(PutPart request);
  Task<DiskReply> on(GetParts request);
  Task<DiskReply> on(BlockTablet request);
  Task<DiskReply> on(GetBlock request);
  Task<DiskReply> on(Collect request);
  Task<DiskReply> on(RangeIndex request);
  Task<DiskReply> on(GetStatus request);
  Task<DiskReply> on(Configure request);
  Task<DiskReply> on(ExchangeGuid request);
  Task<DiskReply> on(PullFacts request);

  // put.cpp
  std::optional<DiskReply> refuse_put(const PutPart& request) const;
  std::optional<DiskReply> refuse_other_size(const PutPart& request) const;
  Task<void> store_unawaited(BlobId id, ByteChain data);
  Task<Result<void>> store_part(BlobId id, ByteChain data, bool publish, AppendClass append_class);

  // get.cpp
  Ingress own_ingress(const BlobId& id) const;
  Task<void> answer(const PartQuery& query, std::uint32_t number, bool index_only,
                    std::vector<PartAnswer>& answers);
  Task<void> answer_part(BlobId id, std::uint32_t shift, std::uint32_t size, PartAnswer& answer);
  Task<Result<Slice>> read_part(BlobId id, Location location, std::uint32_t shift,
                                std::uint32_t size);

  // fence.cpp: blocks, and waiting for them to be durable
  Task<Result<bool>> fenced(TabletId tablet, Generation generation);
  Task<Result<Status>> record_block(TabletId tablet, Generation generation, std::uint64_t issuer);
  Task<std::optional<DiskReply>> check_fences(const std::vector<TabletGeneration>& fences);
  Task<std::optional<DiskReply>> force_block(const std::optional<TabletGeneration>& fence);

  // collect.cpp
  std::optional<DiskReply> refuse_collect(const Collect& request) const;

  // logging.cpp: facts and meta become durable, then take effect
  Task<Result<void>> log_facts(std::vector<Fact> facts);
  using MetaChange = std::function<void(MetaState&)>;
  Task<Result<void>> log_meta(MetaChange change);
  // Called with the current meta when the reset is written. nullopt: nothing is reset.
  using ResetPlan = std::function<std::optional<MetaState>(const MetaState&)>;
  // False: the plan returned nullopt.
  Task<Result<bool>> log_reset(ResetPlan plan);
  void schedule_collection();
  Task<void> collect_in_background();

  // neighbours.cpp
  Task<DiskReply> ask(std::uint32_t order, RequestBody body);
  Task<void> heal_config(std::uint32_t order, std::optional<GroupConfig> theirs);
  void note_refused(const GroupConfig& theirs, const std::string& reason);
  void note_acknowledged(std::uint32_t order, std::uint64_t log, std::uint64_t after);
  void note_pulled(std::uint32_t order, std::uint64_t round);
  bool alone() const { return state_.geometry().disks() == 1; }

  // retire.cpp
  std::optional<std::uint32_t> placed_here(const GroupConfig& config) const;
  void leave_group();
  Task<void> retire();
  Task<bool> successor_complete();
  Task<bool> may_leave(std::optional<std::uint32_t> place);
  Task<Result<bool>> forget(std::optional<std::uint32_t> place);
  Task<Result<bool>> rejoin();
  Task<void> restart_membership(std::optional<std::uint32_t> place);
  Task<bool> wait_until_idle();
  Task<void> verify_guid();
  Result<void> check_start(const GroupConfig& config) const;
  Task<Result<void>> take_place(const GroupConfig& config);

  Task<void> join_group();
  void set_phase(Phase phase);
  void become_ready();
  void break_down(std::string reason);
  // Why the device found here cannot be this member; empty when it can.
  std::string foreign() const;

  Task<Result<void>> move_parts(const std::vector<BlobId>& ids, const SegmentSet& segments);
  Task<void> move_and_note(BlobId id, const SegmentSet& segments, Result<void>& outcome);
  Task<Result<void>> move_part(BlobId id, const SegmentSet& segments);

  Device& device_;
  const OwnerSlot slot_;
  const VDiskOptions options_;
  VDiskState state_;
  PartCache cache_;
  VDiskEvents events_;
  Phase phase_ = Phase::kIdle;
  Event phase_changed_{executor()};
  std::string broken_reason_;
  bool lost_ = false;        // Acknowledged records could not be read back.
  bool replicated_ = false;  // Everything missing when the last pass began is replicated.
  bool stopping_ = false;
  DiskAddress self_;
  EndpointResolver* resolver_ = nullptr;

  std::uint64_t next_lsn_ = 1;
  std::uint32_t contradicted_ = 0;  // A generation for which a config was refused; 0: none.
  // Not durable yet, by generation, with their issuers: the highest one fences.
  std::map<TabletId, std::map<Generation, std::uint64_t>> pending_blocks_;
  struct Issued {
    Generation generation = 0;
    std::uint64_t issuer = 0;
  };
  std::map<TabletId, Issued> issuers_;  // Of durable blocks stored here since the start.
  Event blocks_changed_{executor()};
  ForgetRule forget_rule_;

  bool retiring_ = false;  // retire() is running.
  bool skipped_ = false;   // Generations were missed in which the group may have moved this disk.

  Semaphore meta_turn_{executor(), 1};
  bool resetting_ = false;  // A reset record is pending: no part is moved behind it.
  bool collecting_ = false;
  std::size_t calls_ = 0;
  Event calls_done_{executor()};
  std::unique_ptr<Syncer> syncer_;
  std::unique_ptr<Replicator> replicator_;
  TaskScope work_;   // Tasks of one membership: recovery, sync, replication.
  TaskScope scope_;  // Everything else.
};

}  // namespace moraine::blob
