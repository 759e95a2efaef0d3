// Requests to the other disks of the group, and exchange of configs.

#include "base/log.h"
#include "blob/vdisk/vdisk.h"

namespace moraine::blob {

Task<DiskReply> VDisk::ask(std::uint32_t order, RequestBody body) {
  const GroupConfig& config = *state_.meta().config;
  const auto endpoint = resolver_->resolve(config.disks[order]);
  DiskRequest request{config.vdisk(order), std::move(body), state_.config_digest()};
  DiskReply answer =
      co_await endpoint->call(std::move(request), executor().now() + options_.ask_timeout);
  if (answer.status == Status::kRace && answer.config && !scope_.closed()) {
    co_await heal_config(order, std::move(answer.config));
  }
  co_return answer;
}

// Both sides adopt the newer of two configs.
Task<void> VDisk::heal_config(std::uint32_t order, std::optional<GroupConfig> theirs) {
  const GroupConfig ours = *state_.meta().config;
  if (theirs->id != ours.id) co_return;
  if (contradict(ours, *theirs)) note_refused(*theirs, contradiction(ours, *theirs));
  if (theirs->generation == ours.generation) co_return;
  if (theirs->generation > ours.generation) {
    (void)co_await adopt_config(std::move(*theirs));
    co_return;
  }
  const auto endpoint = resolver_->resolve(ours.disks[order]);
  DiskRequest push{ours.vdisk(order), Configure{ours}, ours.digest()};
  (void)co_await endpoint->call(std::move(push), executor().now() + options_.ask_timeout);
}

// Logged once for each generation since the disk started.
void VDisk::note_refused(const GroupConfig& theirs, const std::string& reason) {
  if (contradicted_ == theirs.generation) return;
  contradicted_ = theirs.generation;
  log_error("config refused", {{"disk", state_.meta().config->vdisk(state_.order()).to_string()},
                               {"reason", reason}});
}

// A neighbour that pulls facts after `after` has everything up to there durably.
void VDisk::note_acknowledged(std::uint32_t order, std::uint64_t log, std::uint64_t after) {
  const DiskSet neighbours = state_.geometry().all_disks() & ~disk_bit(state_.order());
  const bool ours = log == state_.meta().guid && after <= state_.sync_log().last();
  forget_rule_.acknowledged(order, ours ? after : 0, neighbours);
  if (has_bug(SeededBug::kForgetTombstone)) {
    state_.forget_tombstones(~std::uint64_t{0} - 1);
  }
}

void VDisk::note_pulled(std::uint32_t order, std::uint64_t round) {
  const std::uint64_t upto = forget_rule_.pulled(order, round);
  if (upto != 0) state_.forget_tombstones(upto);
}

}  // namespace moraine::blob
