// Taking a place in the group, leaving it, and coming back to it.
//
// A member that was moved away keeps its data until its successor is complete, then gives the room
// back. What is on the disk after that, or of a member that another one has replaced meanwhile, is
// of no use: whoever is placed here next begins as an empty disk.

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
  return {};
}

// A device keeps which member it is. One of another member was put in the wrong place, or is a
// copy: the member that belongs here is not on it. What retired is of no member any more.
std::string VDisk::foreign() const {
  const MetaState& meta = state_.meta();
  if (!meta.config || meta.state == LocalState::kRetired || meta.state == LocalState::kEmpty) {
    return {};
  }
  const DiskAddress& home = meta.config->disks[meta.order];
  if (home == self_) return {};
  return fmt::format("foreign device: {} is that of {} on node {} device {} slot {}",
                     device_.path(), meta.config->vdisk(meta.order).to_string(), home.node.value,
                     home.device, home.slot);
}

// What is on the disk becomes that of the member that the newest config places here.
Task<Result<void>> VDisk::take_place(const GroupConfig& config) {
  const MetaState& meta = state_.meta();
  const bool known = meta.config && meta.config->id == config.id;
  const bool newer = !known || meta.config->generation < config.generation;
  const GroupConfig newest = newer ? config : *meta.config;
  const std::optional<std::uint32_t> place = placed_here(newest);
  const bool away = meta.config && (!known || meta.state == LocalState::kRetired || vacant() ||
                                    (place && *place != meta.order));
  if (place && away) {
    MetaState fresh;
    fresh.config = newest;
    fresh.order = *place;
    co_return co_await log_reset(std::move(fresh));
  }
  skipped_ = known && newest.generation > meta.config->generation + 1;
  if (!newer) co_return Result<void>();
  MetaChange join = [&newest, place](MetaState& joined) {
    joined.config = newest;
    if (place) joined.order = *place;
    if (!place && joined.state != LocalState::kEmpty) joined.state = LocalState::kRetired;
  };
  co_return co_await log_meta(std::move(join));
}

void VDisk::leave_group() {
  const GroupConfig& config = *state_.meta().config;
  const DiskAddress& home = config.disks[state_.order()];
  if (phase_ != Phase::kRetired && home != self_) events_.retired(config, home);
  phase_ = Phase::kRetired;
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

// True when nothing of the former membership runs any more.
Task<bool> VDisk::quiet() {
  co_await work_.join();
  while (calls_ > 0 && !scope_.closed()) co_await calls_done_.wait();
  co_return !scope_.closed() && phase_ == Phase::kRetired;
}

Task<void> VDisk::retire() {
  while (!scope_.closed() && phase_ == Phase::kRetired) {
    const std::optional<std::uint32_t> place = placed_here(*state_.meta().config);
    const bool empty = state_.meta().state == LocalState::kEmpty;
    // A group of one has no other copy of its data.
    bool leave = place.has_value();
    if (!place && !empty && !alone()) leave = co_await successor_complete();
    if (leave && co_await quiet() && placed_here(*state_.meta().config) == place) {
      co_await begin_anew(place);
      if (phase_ != Phase::kRetired) break;
    }
    co_await sleep_for(executor(), options_.replication_period);
  }
  retiring_ = false;
}

// Nothing of the former membership runs. Forgets it, and joins again when there is a place.
Task<void> VDisk::begin_anew(std::optional<std::uint32_t> place) {
  MetaState fresh;
  fresh.config = state_.meta().config;
  fresh.order = place.value_or(state_.order());
  const auto forgotten = co_await log_reset(std::move(fresh));
  if (!forgotten || scope_.closed()) co_return;
  events_.named(*state_.meta().config, state_.order());
  log_info(place ? "VDisk takes its place as an empty one" : "VDisk gave its room back",
           {{"vdisk", state_.meta().config->vdisk(state_.order()).to_string()},
            {"path", device_.path()},
            {"slot", self_.slot}});
  if (!place) co_return;
  syncer_ = std::make_unique<Syncer>(*this);
  replicator_ = std::make_unique<Replicator>(*this);
  phase_ = Phase::kRecovering;
  work_.spawn(join_group());
}

// The group may have moved this member away and back by generations that it has missed.
Task<void> VDisk::verify_guid() {
  GuidRecovery recovery(*this);
  const bool superseded = co_await recovery.superseded();
  if (superseded && phase_ == Phase::kReady) leave_group();
}

}  // namespace moraine::blob
