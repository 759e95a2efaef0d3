// Group: admission of members, and the effects of a join.
#include <algorithm>

#include "base/invariant.h"
#include "gateway/kafka/groups/group.h"

namespace moraine::kafka {
namespace {

// As MemberRecord::bytes() will count it.
std::size_t bytes_of(const JoinCall& call) {
  const JoinGroupRequest& request = call.request;
  std::size_t total = request.member_id.size() + call.client.id.size() + call.client.host.size();
  if (request.group_instance_id) total += request.group_instance_id->size();
  for (const MemberProtocol& protocol : request.protocols) {
    total += protocol.name.size() + protocol.metadata.size();
  }
  return total;
}

}  // namespace

void Group::join(JoinCall call, Instant now) {
  const ErrorCode refused = check_join(call);
  if (refused != ErrorCode::kNone) {
    refuse_join(call.held, refused, std::move(call.request.member_id));
  } else if (call.request.member_id.empty()) {
    join_without_id(std::move(call), now);
  } else {
    join_with_id(std::move(call), now);
  }
}

ErrorCode Group::check_join(const JoinCall& call) const {
  const JoinGroupRequest& request = call.request;
  INVARIANT(request.session_timeout_ms > 0, "session timeout {}", request.session_timeout_ms);
  if (state_ == GroupState::kDead) return ErrorCode::kCoordinatorNotAvailable;
  if (request.protocols.empty() || request.protocol_type.empty()) {
    return ErrorCode::kInconsistentGroupProtocol;
  }
  std::size_t bytes = bytes_of(call);
  if (request.protocols.size() > kProtocolsMax ||
      bytes + request.protocol_type.size() > kMemberBytesMax) {
    return ErrorCode::kInvalidRequest;
  }
  ProtocolLists others;
  for (const Member& member : members_) {
    const bool same_instance =
        request.group_instance_id && member.record.instance_id == request.group_instance_id;
    if (member.record.id == request.member_id || same_instance) continue;
    others.push_back(&member.record.protocols);
    bytes += member.record.bytes();
  }
  const bool same_type = members_.empty() || request.protocol_type == protocol_type_;
  if (!same_type || !has_common_protocol(request.protocols, others)) {
    return ErrorCode::kInconsistentGroupProtocol;
  }
  return bytes > kGroupBytesMax ? ErrorCode::kGroupMaxSizeReached : ErrorCode::kNone;
}

void Group::join_without_id(JoinCall call, Instant now) {
  if (Member* known = find_instance(call.request.group_instance_id)) {
    return replace_static(*known, std::move(call), now);
  }
  if (members_.size() + pending_.size() >= kMembersMax) {
    return refuse_join(call.held, ErrorCode::kGroupMaxSizeReached, {});
  }
  std::string id = std::move(call.fresh_id);
  if (call.version >= kMemberIdRequiredFrom && !call.request.group_instance_id) {
    pending_[id] = now + std::chrono::milliseconds(call.request.session_timeout_ms);
    return refuse_join(call.held, ErrorCode::kMemberIdRequired, std::move(id));
  }
  add_member(std::move(call), std::move(id), now);
}

void Group::join_with_id(JoinCall call, Instant now) {
  std::string id = call.request.member_id;
  if (!call.request.group_instance_id && pending_.erase(id) > 0) {
    return add_member(std::move(call), std::move(id), now);
  }
  const ErrorCode refused = check_member(id, call.request.group_instance_id);
  if (refused != ErrorCode::kNone) return refuse_join(call.held, refused, std::move(id));
  rejoin(*find(id), call, now);
}

void Group::add_member(JoinCall call, std::string id, Instant now) {
  Member member;
  member.record.id = std::move(id);
  member.record.instance_id = call.request.group_instance_id;
  member.is_new = true;
  update(member, call);
  if (members_.empty()) protocol_type_ = call.request.protocol_type;
  hold_join(member, call.held, now);
  members_.push_back(std::move(member));
  if (state_ != GroupState::kPreparingRebalance) {
    prepare_rebalance(now);
  } else if (initial_) {
    initial_until_ = std::min(now + kInitialRebalanceDelay, rebalance_until_);
  }
  try_complete_join(now);
}

void Group::replace_static(Member& member, JoinCall call, Instant now) {
  const std::string leader_before = leader_;
  const bool same = same_wishes(protocol_type_, member.record.protocols, call.request.protocols);
  drop_requests(member, ErrorCode::kFencedInstanceId);
  if (leader_ == member.record.id) leader_ = call.fresh_id;
  member.record.id = call.fresh_id;
  update(member, call);
  if (state_ == GroupState::kStable && same) {
    touch(member, now);
    member.synced = true;
    // Returns the leader's old id, so that the new member does not act as leader and assign again.
    JoinGroupResponse response = joined(member);
    response.leader = leader_before;
    response.members.clear();
    replacements_.push_back({order_store(record()), call.held, std::move(response)});
    return;
  }
  hold_join(member, call.held, now);
  if (state_ != GroupState::kPreparingRebalance) prepare_rebalance(now);
  try_complete_join(now);
}

void Group::rejoin(Member& member, const JoinCall& call, Instant now) {
  const bool changed = !same_protocols(member.record.protocols, call.request.protocols);
  const bool follower_in_stable = state_ == GroupState::kStable && leader_ != member.record.id;
  if (!changed && (follower_in_stable || state_ == GroupState::kCompletingRebalance)) {
    touch(member, now);
    effects_.joins.push_back({call.held, joined(member)});
    return;
  }
  update(member, call);
  hold_join(member, call.held, now);
  if (state_ != GroupState::kPreparingRebalance) prepare_rebalance(now);
  try_complete_join(now);
}

// Copies what it stores: the request's bytes are slices of a whole frame.
void Group::update(Member& member, const JoinCall& call) {
  const JoinGroupRequest& request = call.request;
  MemberRecord& record = member.record;
  record.client_id = call.client.id;
  record.client_host = call.client.host;
  record.session_timeout_ms = request.session_timeout_ms;
  record.rebalance_timeout_ms =
      request.rebalance_timeout_ms > 0 ? request.rebalance_timeout_ms : request.session_timeout_ms;
  record.protocols.clear();
  for (const MemberProtocol& protocol : request.protocols) {
    record.protocols.push_back({protocol.name, Slice::copy_of(protocol.metadata.span())});
  }
}

void Group::hold_join(Member& member, RequestId held, Instant now) {
  if (member.join) refuse_join(*member.join, ErrorCode::kRebalanceInProgress, member.record.id);
  member.join = held;
  member.deadline = member.is_new ? now + kNewMemberTimeout : Instant::never();
}

void Group::refuse_join(RequestId held, ErrorCode error, std::string member_id) {
  JoinGroupResponse response;
  response.error_code = error;
  response.member_id = std::move(member_id);
  effects_.joins.push_back({held, std::move(response)});
}

JoinGroupResponse Group::joined(const Member& member) const {
  JoinGroupResponse response;
  response.generation_id = generation_;
  response.protocol_type = protocol_type_;
  response.protocol_name = protocol_;
  response.leader = leader_;
  response.member_id = member.record.id;
  if (leader_ != member.record.id) return response;
  for (const Member& each : members_) {
    const MemberProtocol* chosen = find_protocol(each.record.protocols, protocol_);
    INVARIANT(chosen != nullptr, "member {} does not know {}", each.record.id, protocol_);
    response.members.push_back({each.record.id, each.record.instance_id, chosen->metadata});
  }
  return response;
}

}  // namespace moraine::kafka
