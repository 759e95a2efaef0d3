// Requests of proxies and neighbours: admission, dispatch, and the small commands.

#include <algorithm>

#include "base/log.h"
#include "blob/vdisk/guid_decision.h"
#include "blob/vdisk/syncer.h"
#include "blob/vdisk/vdisk.h"

namespace moraine::blob {

DiskReply VDisk::reply(Status status, std::string reason) const {
  DiskReply answer;
  answer.status = status;
  answer.reason = std::move(reason);
  answer.incarnation = state_.meta().guid;
  answer.colour = device_.colour();
  return answer;
}

Task<DiskReply> VDisk::handle(DiskRequest request) {
  if (stopping_ || phase_ == Phase::kIdle) {
    co_return reply(Status::kError, "not running");
  }
  if (auto refused = refuse(request)) co_return std::move(*refused);
  ++calls_;
  DiskReply answer = co_await serve(std::move(request));
  if (--calls_ == 0) calls_done_.notify_all();
  co_return answer;
}

// Admission of every request: is it for this disk, and may it be answered now?
std::optional<DiskReply> VDisk::refuse(const DiskRequest& request) {
  const GroupConfig& config = *state_.meta().config;
  if (request.target.group != config.id) {
    return reply(Status::kNoGroup, "this disk belongs to another group");
  }
  const bool configure = std::holds_alternative<Configure>(request.body);
  if (!configure && request.target.generation != config.generation) {
    DiskReply race =
        reply(Status::kRace, fmt::format("the group generation is {}", config.generation));
    race.config = config;
    return race;
  }
  if (!configure && request.digest != 0 && request.digest != state_.config_digest()) {
    DiskReply race = reply(Status::kRace, fmt::format("group {:x} has two configs of generation {}",
                                                      config.id.value, config.generation));
    race.config = config;  // So that the sender can report the difference.
    if (contradicted_ != config.generation) {
      contradicted_ = config.generation;
      log_error("request refused: its sender has another config of this generation",
                {{"disk", config.vdisk(state_.order()).to_string()}});
    }
    return race;
  }
  if (phase_ == Phase::kRetired && !configure) {
    DiskReply race = reply(Status::kRace, "the group has moved this member elsewhere");
    race.config = config;
    return race;
  }
  const bool asks_state = std::holds_alternative<GetStatus>(request.body);
  if (phase_ == Phase::kBroken) {
    if (asks_state) return std::nullopt;
    return reply(Status::kError, broken_reason_);
  }
  if (!configure && request.target.at != config.geometry.coordinates(state_.order())) {
    return reply(Status::kError, "the target is another member of the group");
  }
  const bool neighbourly = configure || asks_state ||
                           std::holds_alternative<ExchangeGuid>(request.body) ||
                           std::holds_alternative<PullFacts>(request.body);
  if (phase_ == Phase::kRecovering && !neighbourly) {
    return reply(Status::kNotReady, "recovering");
  }
  return std::nullopt;
}

// Not a coroutine itself: the handlers own their arguments.
Task<DiskReply> VDisk::serve(DiskRequest request) {
  return std::visit([this](auto& body) { return on(std::move(body)); }, request.body);
}

Task<DiskReply> VDisk::on(GetBlock request) {
  // A pending block counts once it is durable.
  const auto fenced_by_pending = pending_blocks_.find(request.tablet);
  if (fenced_by_pending != pending_blocks_.end()) {
    const auto waited = co_await fenced(request.tablet, fenced_by_pending->second.rbegin()->first);
    if (!waited) co_return reply(Status::kError, waited.error().message());
  }
  DiskReply answer = reply(Status::kOk);
  answer.body = GetBlockReply{state_.blocked(request.tablet)};
  co_return answer;
}

Task<DiskReply> VDisk::on(RangeIndex request) {
  if (auto refused = co_await force_block(request.force_block)) co_return std::move(*refused);
  RangeIndexReply found;
  found.blocked = state_.blocked(request.from.tablet());
  const bool descending = request.to < request.from;
  const BlobId low = descending ? request.to : request.from;
  const BlobId high = descending ? request.from : request.to;
  const std::size_t limit = std::min<std::size_t>(request.limit, kRangeItemsMax);
  const auto& entries = state_.index().entries();
  auto take = [&](const BlobId& id, const BlobEntry& entry) {
    if (!state_.kept(id, entry)) return true;
    if (found.items.size() == limit) {
      found.more = true;
      return false;
    }
    RangeItem item;
    item.id = id;
    item.ingress = entry.ingress;
    item.local_parts = state_.sound_parts(id, entry);
    item.not_yet = entry.corrupted || state_.missing_parts(id, entry).claimed != 0;
    found.items.push_back(item);
    return true;
  };
  if (descending) {
    auto at = entries.upper_bound(high);
    while (at != entries.begin()) {
      --at;
      if (at->first < low || !take(at->first, at->second)) break;
    }
  } else {
    for (auto at = entries.lower_bound(low); at != entries.end() && at->first <= high; ++at) {
      if (!take(at->first, at->second)) break;
    }
  }
  DiskReply answer = reply(Status::kOk);
  answer.body = std::move(found);
  co_return answer;
}

Task<DiskReply> VDisk::on(GetStatus) {
  GetStatusReply status;
  status.ready = phase_ == Phase::kReady;
  status.replicated = replicated_;
  status.blobs = state_.index().size();
  status.missing = state_.missing().size();
  status.live_bytes = device_.segments().live_bytes();
  status.capacity_bytes = device_.segments().capacity_bytes();
  status.broken = phase_ == Phase::kBroken;
  status.reason = broken_reason_;
  if (phase_ == Phase::kRecovering && (lost_ || state_.meta().state == LocalState::kLost)) {
    status.reason =
        "it has lost its data (the device was replaced or wiped) and waits for a quorum of disks "
        "that have theirs; if more disks than the group survives have lost theirs, put back one of "
        "the old devices";
  }
  status.replicating = events_.replicating();
  status.restored = events_.restored_now();
  status.damaged_found = events_.damaged_found();
  status.damaged_repaired = events_.damaged_repaired();
  DiskReply answer = reply(Status::kOk);
  answer.body = status;
  co_return answer;
}

Task<DiskReply> VDisk::on(Configure request) {
  const auto adopted = co_await adopt_config(std::move(request.config));
  if (!adopted) co_return reply(Status::kError, adopted.error().message());
  DiskReply answer = reply(Status::kOk);
  answer.body = ConfigureReply{};
  co_return answer;
}

Task<DiskReply> VDisk::on(ExchangeGuid request) {
  if (request.order >= state_.geometry().disks()) co_return reply(Status::kError, "no such disk");
  if (request.state != GuidState::kEmpty) {
    MetaChange remember = [request](MetaState& meta) {
      NeighbourGuid& known = meta.neighbours[request.order];
      const NeighbourGuid offered{request.state, request.guid};
      if (supersedes(known, offered)) known = offered;
    };
    const auto logged = co_await log_meta(std::move(remember));
    if (!logged) co_return reply(Status::kError, logged.error().message());
  }
  const auto& known = state_.meta().neighbours;
  const auto found = known.find(request.order);
  ExchangeGuidReply remembered;
  if (found != known.end()) {
    remembered.state = found->second.state;
    remembered.guid = found->second.guid;
  }
  const SyncPosition read = syncer_->read_so_far(request.order);
  remembered.log = read.log;
  remembered.position = read.position;
  DiskReply answer = reply(Status::kOk);
  answer.body = remembered;
  co_return answer;
}

Task<DiskReply> VDisk::on(PullFacts request) {
  // Only a disk with a complete index may serve facts from it.
  if (state_.meta().state != LocalState::kFinal || lost_) {
    co_return reply(Status::kNotReady, "recovering");
  }
  if (request.order >= state_.geometry().disks() || request.order == state_.order()) {
    co_return reply(Status::kError, "no such neighbour");
  }
  if (request.cursor.empty()) note_acknowledged(request.order, request.log, request.after);
  auto pulled = serve_pull(state_, request);
  if (!pulled) co_return reply(Status::kError, pulled.error().message());
  DiskReply answer = reply(Status::kOk);
  answer.body = std::move(*pulled);
  co_return answer;
}

}  // namespace moraine::blob
