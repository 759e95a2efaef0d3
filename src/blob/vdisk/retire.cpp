// Joining a group, leaving it, and coming back to it.
//
// A member that was moved away keeps its data until its successor is complete, then releases its
// space; so does one at whose address the group has placed another member. Data left after that, or
// of a member that was replaced meanwhile, is not used: the next member placed here starts as an
// empty disk. A group of one disk has no other copy of its data, which is never dropped.

#include <algorithm>

#include "base/log.h"
#include "blob/vdisk/guid_recovery.h"
#include "blob/vdisk/replicator.h"
#include "blob/vdisk/syncer.h"
#include "blob/vdisk/vdisk.h"

namespace moraine::blob {

std::optional<std::uint32_t> VDisk::placed_here(const GroupConfig& config) const {
  const auto found = std::ranges::find(config.disks, self_);
  if (found == config.disks.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - config.disks.begin());
}

bool VDisk::vacant() const {
  const MetaState& meta = state_.meta();
  return meta.config && meta.state == LocalState::kEmpty && !placed_here(*meta.config);
}

Result<void> VDisk::check_start(const GroupConfig& config) const {
  const MetaState& meta = state_.meta();
  const bool placed = placed_here(config).has_value();
  if (!meta.config) {
    if (placed) return {};
    return fail(Errc::kInvalidArgument, "the group has no member at this address");
  }
  if (meta.config->id != config.id) {
    if (vacant() && placed) return {};
    return fail(Errc::kConflict,
                fmt::format("slot {} of {} belongs to group {:x}, not {:x}", self_.slot,
                            device_.path(), meta.config->id.value, config.id.value));
  }
  if (meta.config->geometry.species() != config.geometry.species()) {
    return fail(Errc::kConflict,
                fmt::format("group {:x} is {} on disk and {} in the config", config.id.value,
                            to_string(meta.config->geometry.species()),
                            to_string(config.geometry.species())));
  }
  if (contradict(*meta.config, config)) {
    return fail(Errc::kConflict, contradiction(*meta.config, config));
  }
  return check_config(config);
}

Result<void> VDisk::check_config(const GroupConfig& config) const {
  const MetaState& meta = state_.meta();
  if (!meta.config || meta.config->id != config.id || meta.state == LocalState::kEmpty) return {};
  if (config.generation <= meta.config->generation) return {};
  const bool next = config.generation == meta.config->generation + 1;
  const bool stays = placed_here(*meta.config) == placed_here(config);
  if (!next && stays && meta.config->disks.size() == config.disks.size()) return {};
  // The only disk of a group is no longer moved, but one that was moved and retired may come back.
  if (alone() && meta.state == LocalState::kRetired) return {};
  return check_change(*meta.config, config);
}

// A device stores which member it is. One of another member was attached at the wrong place, or is
// a copy: it does not have the data of the member that belongs here. Retired data has no member.
std::string VDisk::foreign() const {
  const MetaState& meta = state_.meta();
  if (!meta.config || meta.state == LocalState::kRetired || meta.state == LocalState::kEmpty) {
    return {};
  }
  const DiskAddress& home = meta.config->disks[meta.order];
  if (home == self_) return {};
  return fmt::format("foreign device: {} belongs to {} on node {} device {} slot {}",
                     device_.path(), meta.config->vdisk(meta.order).to_string(), home.node.value,
                     home.device, home.slot);
}

// The disk becomes the member that the newest config places here, unless its former member still
// needs the data.
Task<Result<void>> VDisk::take_place(const GroupConfig& config) {
  const MetaState& meta = state_.meta();
  const bool known = meta.config && meta.config->id == config.id;
  const bool newer = !known || meta.config->generation < config.generation;
  const GroupConfig newest = newer ? config : *meta.config;
  const std::optional<std::uint32_t> place = placed_here(newest);
  const bool returns = known && meta.state == LocalState::kRetired && place == meta.order;
  const bool empty = !known || meta.state == LocalState::kEmpty;
  const bool bare = meta.config && empty && (!known || vacant() || place != meta.order);
  if (place && (bare || (returns && !alone()))) {
    ResetPlan plan = [&newest, place](const MetaState&) {
      MetaState fresh;
      fresh.config = newest;
      fresh.order = *place;
      return std::optional(std::move(fresh));
    };
    const auto forgotten = co_await log_reset(std::move(plan));
    if (!forgotten) co_return std::unexpected(forgotten.error());
    co_return Result<void>();
  }
  skipped_ = known && newest.generation > meta.config->generation + 1;
  if (!newer && !returns) co_return Result<void>();
  MetaChange join = [&newest, place, returns](MetaState& joined) {
    joined.config = newest;
    if (joined.state == LocalState::kEmpty) {
      joined.order = place.value_or(joined.order);
    } else if (returns) {
      joined.state = LocalState::kFinal;
    } else if (place != joined.order) {
      joined.state = LocalState::kRetired;
    }
  };
  co_return co_await log_meta(std::move(join));
}

void VDisk::leave_group() {
  const GroupConfig& config = *state_.meta().config;
  const DiskAddress& home = config.disks[state_.order()];
  if (phase_ != Phase::kRetired && home != self_) events_.retired(config, home);
  set_phase(Phase::kRetired);
  syncer_->stop();
  replicator_->stop();
  if (retiring_ || scope_.closed()) return;
  retiring_ = true;
  scope_.spawn(retire());
}

Task<bool> VDisk::successor_complete() {
  RequestBody question = GetStatus{};
  const DiskReply answer = co_await ask(state_.order(), std::move(question));
  const auto* status = std::get_if<GetStatusReply>(&answer.body);
  co_return answer.status == Status::kOk&& status && status->ready && status->replicated;
}

// Waits for the work and calls of the former membership. False when the VDisk stops or is not
// retired any more.
Task<bool> VDisk::wait_until_idle() {
  co_await work_.join();
  while (calls_ > 0 && !scope_.closed()) co_await calls_done_.wait(scope_);
  co_return !scope_.closed() && phase_ == Phase::kRetired;
}

// The data is not needed any more, or belongs to the member that has come back.
Task<bool> VDisk::may_leave(std::optional<std::uint32_t> place) {
  if (state_.meta().state == LocalState::kEmpty) co_return place.has_value();
  if (place == state_.order()) co_return true;
  if (alone()) co_return false;
  co_return co_await successor_complete();
}

Task<void> VDisk::retire() {
  while (!scope_.closed() && phase_ == Phase::kRetired) {
    const std::optional<std::uint32_t> place = placed_here(*state_.meta().config);
    if (co_await may_leave(place) && co_await wait_until_idle()) {
      co_await restart_membership(place);
      if (phase_ != Phase::kRetired) break;
    }
    co_await sleep_for(executor(), options_.replication_period, scope_);
  }
  retiring_ = false;
}

// Nothing changes when a newer config has changed the place meanwhile.
Task<Result<bool>> VDisk::forget(std::optional<std::uint32_t> place) {
  ResetPlan plan = [this, place](const MetaState& now) -> std::optional<MetaState> {
    if (placed_here(*now.config) != place) return std::nullopt;
    MetaState fresh;
    fresh.config = now.config;
    fresh.order = place.value_or(now.order);
    return fresh;
  };
  return log_reset(std::move(plan));
}

// The only disk of a group is back, with its data.
Task<Result<bool>> VDisk::rejoin() {
  MetaChange back = [this](MetaState& meta) {
    if (placed_here(*meta.config) && meta.state == LocalState::kRetired) {
      meta.state = LocalState::kFinal;
    }
  };
  CO_TRY_VOID(co_await log_meta(std::move(back)));
  co_return state_.meta().state == LocalState::kFinal;
}

// Drops the former membership, whose work has ended, and joins again when there is a place.
Task<void> VDisk::restart_membership(std::optional<std::uint32_t> place) {
  const bool keeps = alone() && state_.meta().state != LocalState::kEmpty;
  Result<bool> begun = false;
  if (keeps) {
    begun = co_await rejoin();
  } else {
    begun = co_await forget(place);
  }
  if (!begun || !*begun || scope_.closed()) co_return;
  events_.set_name(*state_.meta().config, state_.order());
  log_info(!place  ? "VDisk released its space"
           : keeps ? "VDisk rejoined its group with its data"
                   : "VDisk joined its group as an empty one",
           {{"vdisk", state_.meta().config->vdisk(state_.order()).to_string()},
            {"path", device_.path()},
            {"slot", self_.slot}});
  if (!place) co_return;
  syncer_ = std::make_unique<Syncer>(*this);
  replicator_ = std::make_unique<Replicator>(*this);
  set_phase(Phase::kRecovering);
  work_.spawn(join_group());
}

// The group may have moved this member away and back in generations that it has missed.
Task<void> VDisk::verify_guid() {
  GuidRecovery recovery(*this);
  const bool superseded = co_await recovery.superseded();
  if (superseded && phase_ == Phase::kReady) leave_group();
}

}  // namespace moraine::blob
