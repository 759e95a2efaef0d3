// How facts and meta become durable and then take effect.

#include "blob/vdisk/replicator.h"
#include "blob/vdisk/syncer.h"
#include "blob/vdisk/vdisk.h"

namespace moraine::blob {

// In order, in records of at most kFactsPerRecordMax; each takes effect when it is durable.
Task<Result<void>> VDisk::log_facts(std::vector<Fact> facts) {
  for (std::size_t at = 0; at < facts.size(); at += kFactsPerRecordMax) {
    const auto end = std::min(facts.size(), at + kFactsPerRecordMax);
    FactsRecord record;
    record.lsn = next_lsn_++;
    record.facts.assign(facts.begin() + static_cast<std::ptrdiff_t>(at),
                        facts.begin() + static_cast<std::ptrdiff_t>(end));
    SmallBytes header = encode_facts(record);
    CO_TRY(const Location written,
           co_await device_.append(slot_, static_cast<std::uint8_t>(RecordKind::kFacts),
                                   std::move(header), Slice()));
    (void)written;
    state_.apply_facts(record);
  }
  schedule_collection();
  co_return Result<void>();
}

// A meta record replaces the whole former one, so changes are made one at a time.
Task<Result<void>> VDisk::log_meta(MetaChange change) {
  co_await meta_turn_.acquire();
  MetaState meta = state_.meta();
  change(meta);
  SmallBytes header = encode_meta(meta);
  const auto written = co_await device_.append(slot_, static_cast<std::uint8_t>(RecordKind::kMeta),
                                               std::move(header), Slice());
  if (written) state_.apply_meta(std::move(meta));
  meta_turn_.release();
  if (!written) co_return std::unexpected(written.error());
  co_return Result<void>();
}

// The record drops everything before it. A part that cleaning moved behind the record would
// reappear at the next start, so nothing is moved from here on.
Task<Result<bool>> VDisk::log_reset(ResetPlan plan) {
  co_await meta_turn_.acquire();
  std::optional<MetaState> meta = plan(state_.meta());
  if (!meta) {
    meta_turn_.release();
    co_return false;
  }
  resetting_ = true;
  SmallBytes header = encode_meta(*meta);
  // It frees space, so a nearly full device accepts it.
  const auto written =
      co_await device_.append(slot_, static_cast<std::uint8_t>(RecordKind::kReset),
                              std::move(header), Slice(), AppendClass::kMaintenance);
  if (written) {
    state_.apply_reset(std::move(*meta));
    issuers_.clear();
    forget_rule_ = ForgetRule();
    lost_ = false;
    replicated_ = false;
  }
  resetting_ = false;
  meta_turn_.release();
  if (!written) co_return std::unexpected(written.error());
  co_return true;
}

Task<Result<void>> VDisk::adopt_config(GroupConfig config) {
  CO_TRY_VOID(check(config));
  const GroupConfig& current = *state_.meta().config;
  if (config.id != current.id) {
    co_return fail(Errc::kInvalidArgument, "the config belongs to another group");
  }
  if (contradict(current, config)) {
    std::string reason = contradiction(current, config);
    note_refused(config, reason);
    co_return fail(Errc::kConflict, std::move(reason));
  }
  if (config.generation <= current.generation) co_return Result<void>();
  if (config.disks.size() != current.disks.size()) {
    co_return fail(Errc::kInvalidArgument, "the shape of a group cannot change");
  }
  if (auto sound = check_config(config); !sound) {
    note_refused(config, sound.error().message());
    co_return sound;
  }
  const std::optional<std::uint32_t> place = placed_here(config);
  const bool mine = place == state_.order() && phase_ != Phase::kRetired;
  const bool skipped = config.generation > current.generation + 1;
  MetaChange change = [config, mine](MetaState& meta) {
    if (meta.config->generation >= config.generation) return;
    meta.config = config;
    if (!mine && meta.state != LocalState::kEmpty) meta.state = LocalState::kRetired;
  };
  CO_TRY_VOID(co_await log_meta(std::move(change)));
  events_.set_name(*state_.meta().config, state_.order());
  if (!mine) {
    leave_group();
  } else if (skipped && !alone()) {
    skipped_ = true;
    if (phase_ == Phase::kReady) scope_.spawn(verify_guid());
  }
  co_return Result<void>();
}

void VDisk::schedule_collection() {
  if (phase_ == Phase::kReady && !collecting_ && state_.has_garbage() && !scope_.closed()) {
    scope_.spawn(collect_in_background());
  }
}

Task<void> VDisk::collect_in_background() {
  if (collecting_) co_return;
  collecting_ = true;
  while (state_.collect_some(kCollectStep) && !scope_.closed()) co_await yield(executor());
  collecting_ = false;
}

}  // namespace moraine::blob
