// Group: members between rebalances: heartbeats, leaving, commits, expiry, views.
#include "gateway/kafka/groups/group.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/invariant.h"

namespace moraine::kafka {

std::string_view to_string(GroupState state) {
  switch (state) {
    case GroupState::kEmpty: return "Empty";
    case GroupState::kPreparingRebalance: return "PreparingRebalance";
    case GroupState::kCompletingRebalance: return "CompletingRebalance";
    case GroupState::kStable: return "Stable";
    case GroupState::kDead: break;
  }
  return "Dead";
}

Group::Group(GroupRecord record, Instant now)
    : id_(std::move(record.group_id)),
      state_(record.members.empty() ? GroupState::kEmpty : GroupState::kStable),
      generation_(record.generation),
      has_offsets_(record.has_offsets),
      offsets_kept_(record.has_offsets),
      protocol_type_(std::move(record.protocol_type)),
      protocol_(std::move(record.protocol)),
      leader_(std::move(record.leader)),
      empty_since_(now),
      committed_at_(now),
      ever_stored_(true) {
  for (MemberRecord& kept : record.members) {
    Member& member = members_.emplace_back();
    member.record = std::move(kept);
    touch(member, now);
  }
}

ErrorCode Group::heartbeat(const HeartbeatRequest& request, Instant now) {
  const ErrorCode refused = check_member(request.member_id, request.group_instance_id);
  if (refused != ErrorCode::kNone) return refused;
  if (request.generation_id != generation_) return ErrorCode::kIllegalGeneration;
  touch(*find(request.member_id), now);
  return state_ == GroupState::kPreparingRebalance ? ErrorCode::kRebalanceInProgress
                                                   : ErrorCode::kNone;
}

ErrorCode Group::leave(const LeaveGroupRequest::Member& leaving, Instant now) {
  if (leaving.member_id.empty() && leaving.group_instance_id) {
    const Member* member = find_instance(leaving.group_instance_id);
    if (member == nullptr) return ErrorCode::kUnknownMemberId;
    remove_member(std::string(member->record.id), now);
    return ErrorCode::kNone;
  }
  if (pending_.erase(leaving.member_id) > 0) {
    try_complete_join(now);
    return ErrorCode::kNone;
  }
  const ErrorCode refused = check_member(leaving.member_id, leaving.group_instance_id);
  if (refused == ErrorCode::kNone) remove_member(leaving.member_id, now);
  return refused;
}

ErrorCode Group::commit(const OffsetCommitRequest& request, Instant now) {
  if (state_ == GroupState::kDead) return ErrorCode::kCoordinatorNotAvailable;
  const bool outsider = request.generation_id < 0 && request.member_id.empty() &&
                        !request.group_instance_id.has_value();
  if (request.generation_id >= 0 || state_ != GroupState::kEmpty) {
    if (outsider) return ErrorCode::kUnknownMemberId;
    const ErrorCode refused = check_member(request.member_id, request.group_instance_id);
    if (refused != ErrorCode::kNone) return refused;
    if (request.generation_id != generation_) return ErrorCode::kIllegalGeneration;
    touch(*find(request.member_id), now);
    if (state_ == GroupState::kCompletingRebalance) return ErrorCode::kRebalanceInProgress;
  }
  has_offsets_ = true;
  committed_at_ = now;
  if (!offsets_kept_) order_store(record());
  return ErrorCode::kNone;
}

ErrorCode Group::remove() {
  if (state_ == GroupState::kDead) return ErrorCode::kGroupIdNotFound;
  if (state_ != GroupState::kEmpty) return ErrorCode::kNonEmptyGroup;
  state_ = GroupState::kDead;
  pending_.clear();
  order_store(std::nullopt);
  return ErrorCode::kNone;
}

void Group::expire(Instant now) {
  std::erase_if(pending_, [&](const auto& entry) { return entry.second <= now; });
  std::vector<std::string> due;
  for (const Member& member : members_) {
    if (member.deadline <= now) due.push_back(member.record.id);
  }
  for (const std::string& id : due) {
    if (find(id) != nullptr) remove_member(id, now);
  }
  expire_syncs(now);
  try_complete_join(now);
  const bool empty = state_ == GroupState::kEmpty;
  if (empty && removable_at() <= now) {
    remove();
  } else if ((empty || state_ == GroupState::kStable) && retry_at_ <= now) {
    order_store(record());
  }
}

Instant Group::deadline() const {
  Instant first = Instant::never();
  for (const auto& [id, until] : pending_) first = std::min(first, until);
  for (const Member& member : members_) first = std::min(first, member.deadline);
  switch (state_) {
    case GroupState::kEmpty: return std::min({first, retry_at_, removable_at()});
    case GroupState::kPreparingRebalance:
      return std::min(first, initial_ ? initial_until_ : rebalance_until_);
    case GroupState::kCompletingRebalance: return std::min(first, sync_until_);
    case GroupState::kStable: return std::min({first, sync_until_, retry_at_});
    case GroupState::kDead: break;
  }
  return first;
}

Instant Group::removable_at() const {
  const bool wanted = has_offsets_ || !pending_.empty() || !ever_stored_;
  return wanted ? Instant::never() : empty_since_ + kEmptyGroupKept;
}

std::size_t Group::bytes() const {
  std::size_t total = protocol_type_.size() + pending_.size() * kMemberCostBytes;
  for (const Member& member : members_) {
    total += kMemberCostBytes + member.record.bytes() + member.record.assignment.size();
  }
  return total;
}

std::size_t Group::member_bytes(const std::string& id) const {
  if (pending_.contains(id)) return kMemberCostBytes;
  for (const Member& member : members_) {
    if (member.record.id == id) return kMemberCostBytes + member.record.bytes();
  }
  return 0;
}

std::size_t Group::replaced_bytes(const SyncGroupRequest& request) const {
  std::set<std::string_view> given;
  for (const SyncGroupRequest::Assignment& assignment : request.assignments) {
    given.insert(assignment.member_id);
  }
  std::size_t bytes = 0;
  for (const Member& member : members_) {
    if (given.contains(member.record.id)) bytes += member.record.assignment.size();
  }
  return bytes;
}

bool Group::forgettable() const {
  return state_ == GroupState::kEmpty && pending_.empty() && !ever_stored_;
}

bool Group::expendable(Instant now) const {
  if (state_ != GroupState::kEmpty || !pending_.empty() || !ever_stored_) return false;
  return !has_offsets_ || std::max(empty_since_, committed_at_) + kIdleGroupKept <= now;
}

bool Group::subscribed(const std::string& topic) const {
  if (protocol_type_ != kConsumerProtocolType) return false;
  return std::ranges::any_of(
      members_, [&](const Member& member) { return wants_topic(member.record.protocols, topic); });
}

DescribeGroupsResponse::Group Group::describe() const {
  DescribeGroupsResponse::Group view;
  view.group_id = id_;
  view.group_state = to_string(state_);
  if (state_ == GroupState::kDead) return view;
  const bool stable = state_ == GroupState::kStable;
  view.protocol_type = protocol_type_;
  if (stable) view.protocol_data = protocol_;
  for (const Member& member : members_) {
    auto& shown = view.members.emplace_back();
    shown.member_id = member.record.id;
    shown.group_instance_id = member.record.instance_id;
    shown.client_id = member.record.client_id;
    shown.client_host = member.record.client_host;
    if (!stable) continue;
    shown.member_metadata = find_protocol(member.record.protocols, protocol_)->metadata;
    shown.member_assignment = member.record.assignment;
  }
  return view;
}

GroupRecord Group::record() const {
  GroupRecord record;
  record.group_id = id_;
  record.generation = generation_;
  record.has_offsets = has_offsets_;
  record.protocol_type = protocol_type_;
  if (state_ == GroupState::kPreparingRebalance) return record;
  record.protocol = protocol_;
  record.leader = leader_;
  for (const Member& member : members_) record.members.push_back(member.record);
  return record;
}

Group::Member* Group::find(const std::string& id) {
  for (Member& member : members_) {
    if (member.record.id == id) return &member;
  }
  return nullptr;
}

Group::Member* Group::find_instance(const std::optional<std::string>& instance) {
  if (!instance) return nullptr;
  for (Member& member : members_) {
    if (member.record.instance_id == instance) return &member;
  }
  return nullptr;
}

ErrorCode Group::check_member(const std::string& id, const std::optional<std::string>& instance) {
  if (!instance) {
    return find(id) == nullptr ? ErrorCode::kUnknownMemberId : ErrorCode::kNone;
  }
  const Member* member = find_instance(instance);
  if (member == nullptr) return ErrorCode::kUnknownMemberId;
  return member->record.id == id ? ErrorCode::kNone : ErrorCode::kFencedInstanceId;
}

void Group::touch(Member& member, Instant now) {
  if (member.join || member.sync) return;
  member.deadline = now + std::chrono::milliseconds(member.record.session_timeout_ms);
}

void Group::remove_member(const std::string& id, Instant now) {
  const auto at = std::ranges::find(members_, id, [](const Member& m) { return m.record.id; });
  INVARIANT(at != members_.end(), "member {} to be removed does not exist", id);
  if (leader_ == at->record.id) leader_.clear();
  drop_requests(*at, ErrorCode::kUnknownMemberId);
  members_.erase(at);
  if (state_ != GroupState::kPreparingRebalance) prepare_rebalance(now);
  try_complete_join(now);
}

void Group::drop_requests(Member& member, ErrorCode error) {
  if (const auto held = std::exchange(member.join, std::nullopt)) {
    refuse_join(*held, error, member.record.id);
  }
  if (const auto held = std::exchange(member.sync, std::nullopt)) {
    SyncGroupResponse response;
    response.error_code = error;
    effects_.syncs.push_back({*held, std::move(response)});
  }
}

}  // namespace moraine::kafka
