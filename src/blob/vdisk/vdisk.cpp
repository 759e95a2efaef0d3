// Starting, stopping, and the device's side of a VDisk.

#include "blob/vdisk/vdisk.h"

#include "base/invariant.h"
#include "blob/vdisk/guid_recovery.h"
#include "blob/vdisk/replicator.h"
#include "blob/vdisk/syncer.h"

namespace moraine::blob {

VDisk::VDisk(Device& device, OwnerSlot slot, VDiskOptions options)
    : device_(device),
      slot_(slot),
      options_(options),
      state_(device.segments()),
      cache_(options.cache_bytes),
      events_(device.world().executor, device.path()) {}

VDisk::~VDisk() {
  INVARIANT(calls_ == 0, "{} calls outlive their VDisk", calls_);
}

Task<Result<void>> VDisk::start(GroupConfig config, DiskAddress self, EndpointResolver& resolver) {
  INVARIANT(phase_ == Phase::kIdle, "a VDisk starts once");
  self_ = self;
  resolver_ = &resolver;
  CO_TRY_VOID(check_start(config));
  std::string why = foreign();
  if (why.empty()) {
    CO_TRY_VOID(co_await take_place(config));
  }
  // A loss stays recorded until the index is recovered from the neighbours, however often the disk
  // restarts. Without neighbours an empty slot looks like one that lost all its records.
  const LocalState before = state_.meta().state;
  if (lost_ && (before == LocalState::kFinal || (alone() && before == LocalState::kEmpty))) {
    MetaChange lose = [](MetaState& lost) { lost.state = LocalState::kLost; };
    CO_TRY_VOID(co_await log_meta(std::move(lose)));
  }
  syncer_ = std::make_unique<Syncer>(*this);
  replicator_ = std::make_unique<Replicator>(*this);
  set_phase(Phase::kRecovering);
  events_.set_name(*state_.meta().config, state_.order());
  if (!why.empty()) {
    break_down(std::move(why));
    co_return Result<void>();
  }
  if (!placed_here(*state_.meta().config) || state_.meta().state == LocalState::kRetired) {
    leave_group();
    co_return Result<void>();
  }
  work_.spawn(join_group());
  co_return Result<void>();
}

void VDisk::abandon() {
  stopping_ = true;
  scope_.close();
  if (syncer_) syncer_->stop();
  if (replicator_) replicator_->stop();
  blocks_changed_.notify_all();
}

Task<void> VDisk::stop() {
  abandon();
  co_await scope_.join();
  co_await work_.join();
  while (calls_ > 0) co_await calls_done_.wait();
}

void VDisk::set_phase(Phase phase) {
  phase_ = phase;
  phase_changed_.notify_all();
}

Task<void> VDisk::wait_while_recovering(Instant deadline) {
  while (phase_ == Phase::kRecovering && co_await phase_changed_.wait_until(deadline, scope_)) {
  }
}

void VDisk::become_ready() {
  set_phase(Phase::kReady);
  scope_.spawn(collect_in_background());
  if (alone()) {
    replicated_ = true;
    return;
  }
  syncer_->start(work_);
  work_.spawn(replicator_->run());
}

void VDisk::break_down(std::string reason) {
  if (phase_ != Phase::kBroken) events_.broken(reason);
  set_phase(Phase::kBroken);
  broken_reason_ = std::move(reason);
}

Result<void> VDisk::replay(std::uint8_t kind, ByteSpan inline_bytes, const Location& data) {
  const auto record = static_cast<RecordKind>(kind);
  if (record == RecordKind::kMeta) {
    TRY(MetaState meta, decode_meta_state(inline_bytes));
    state_.apply_meta(std::move(meta));
    return {};
  }
  if (record == RecordKind::kReset) {
    TRY(MetaState meta, decode_meta_state(inline_bytes));
    state_.apply_reset(std::move(meta));
    return {};
  }
  if (!state_.configured()) {
    return fail(Errc::kCorrupt, "a record comes before the first meta record");
  }
  switch (record) {
    case RecordKind::kPut: {
      TRY(const PutRecord put, decode_put(inline_bytes));
      if (put.id.part() == 0 || put.id.part() > kPartsMax ||
          data.size != stored_part_size(state_.geometry().species(), put.id.size())) {
        return fail(Errc::kCorrupt, fmt::format("invalid put record of {}", put.id.to_string()));
      }
      state_.apply_put(put, data, false);
      return {};
    }
    case RecordKind::kFacts: {
      TRY(const FactsRecord facts, decode_facts(inline_bytes));
      state_.apply_facts(facts);
      return {};
    }
    case RecordKind::kDrop: {
      TRY(const PutRecord drop, decode_put(inline_bytes));
      state_.apply_drop(drop);
      return {};
    }
    case RecordKind::kLost: {
      TRY(const BlobId id, decode_id(inline_bytes));
      state_.apply_lost(id);
      return {};
    }
    case RecordKind::kNotMine: {
      TRY(const BlobId id, decode_id(inline_bytes));
      state_.apply_not_mine(id);
      return {};
    }
    default: return fail(Errc::kCorrupt, fmt::format("unknown record kind {}", kind));
  }
}

// A Keep flag may be among lost facts: nothing is collected before the neighbours' facts are here.
void VDisk::recovered(bool lost) {
  lost_ = lost;
  if (!lost && state_.configured()) state_.collect_all();
  next_lsn_ = state_.last_lsn() + 1;
}

void VDisk::failed(const Error& error) {
  if (phase_ != Phase::kIdle) break_down("device failed: " + error.message());
  scope_.close();
  blocks_changed_.notify_all();
}

Task<Result<void>> VDisk::checkpoint(CheckpointSink& sink) {
  if (!state_.configured()) co_return Result<void>();
  VDiskState::Cursor cursor;
  while (auto page = state_.checkpoint_page(cursor)) {
    CO_TRY_VOID(co_await sink.write(std::move(*page)));
  }
  co_return Result<void>();
}

Task<Result<void>> VDisk::evacuate(const SegmentSet& segments) {
  std::optional<BlobId> after;
  while (!resetting_) {
    // Pages over the index, so that a large one does not block the lane.
    std::vector<BlobId> found;
    const auto& entries = state_.index().entries();
    auto at = after ? entries.upper_bound(*after) : entries.begin();
    for (std::size_t seen = 0; at != entries.end() && seen < 4 * kCollectStep; ++at, ++seen) {
      after = at->first;
      const std::uint8_t parts = state_.index().local_parts(at->first);
      for (std::uint32_t part = 1; part <= kPartsMax; ++part) {
        if ((parts >> (part - 1) & 1) == 0) continue;
        const BlobId id = at->first.with_part(part);
        if (segments[state_.index().locate(id)->segment]) found.push_back(id);
      }
    }
    const bool last = at == entries.end();
    CO_TRY_VOID(co_await move_parts(found, segments));
    if (last) break;
    co_await yield(executor());
  }
  co_return Result<void>();
}

Task<void> VDisk::visit_live(LiveMap& map) {
  std::optional<BlobId> after;
  while (state_.index().visit_live(after, kVisitStep, map)) co_await yield(executor());
}

// Many at once, so that small parts share batches: alone, each would need a sector or more.
Task<Result<void>> VDisk::move_parts(const std::vector<BlobId>& ids, const SegmentSet& segments) {
  for (std::size_t at = 0; at < ids.size();) {
    TaskScope moves;
    Result<void> outcome;
    std::uint64_t bytes = 0;
    for (std::size_t n = 0; at < ids.size() && n < kMovesMax && bytes < kMovedBytesMax; ++n, ++at) {
      bytes += stored_part_size(state_.geometry().species(), ids[at].size());
      moves.spawn(move_and_note(ids[at], segments, outcome));
    }
    co_await moves.join();
    if (!outcome) co_return outcome;
  }
  co_return Result<void>();
}

Task<void> VDisk::move_and_note(BlobId id, const SegmentSet& segments, Result<void>& outcome) {
  auto moved = co_await move_part(id, segments);
  if (!moved) outcome = std::move(moved);
}

Task<Result<void>> VDisk::move_part(BlobId id, const SegmentSet& segments) {
  const auto location = state_.index().locate(id);
  if (!location || !segments[location->segment]) co_return Result<void>();
  auto data = co_await device_.read(*location, 0, location->size);
  // A part that cannot be read now stays where it is; the others are moved.
  if (!data && data.error().code == Errc::kIo) co_return Result<void>();
  if (!data && data.error().code != Errc::kCorrupt) co_return std::unexpected(data.error());
  if (resetting_ || state_.index().locate(id) != location) co_return Result<void>();
  if (data) co_return co_await store_part(id, std::move(*data), false, AppendClass::kMaintenance);
  // Corrupted: there is nothing to move. The neighbours may be able to restore it.
  events_.damaged(id, data.error().context);
  CO_TRY(const Location written,
         co_await device_.append(slot_, static_cast<std::uint8_t>(RecordKind::kLost), encode_id(id),
                                 Slice(), AppendClass::kMaintenance));
  (void)written;
  state_.apply_lost(id);
  co_return Result<void>();
}

}  // namespace moraine::blob
