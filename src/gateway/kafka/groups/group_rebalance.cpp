// Group: a rebalance from its first join to the stored assignment.
#include <algorithm>
#include <limits>

#include "base/invariant.h"
#include "gateway/kafka/groups/group.h"

namespace moraine::kafka {

void Group::prepare_rebalance(Instant now) {
  INVARIANT(state_ != GroupState::kPreparingRebalance && state_ != GroupState::kDead,
            "a rebalance begins in state {}", to_string(state_));
  initial_ = state_ == GroupState::kEmpty;
  if (state_ == GroupState::kCompletingRebalance) {
    for (Member& member : members_) {
      member.record.assignment = Slice();
      answer_sync(member, ErrorCode::kRebalanceInProgress, now);
    }
  }
  assignment_ticket_.reset();
  sync_until_ = Instant::never();
  state_ = GroupState::kPreparingRebalance;
  rebalance_until_ = now + longest_rebalance();
  initial_until_ = std::min(now + kInitialRebalanceDelay, rebalance_until_);
}

void Group::try_complete_join(Instant now) {
  if (state_ != GroupState::kPreparingRebalance) return;
  if (members_.empty()) return become_empty(now);
  if (initial_) {
    if (initial_until_ <= now) complete_join(now);
    return;
  }
  const bool all_joined =
      std::ranges::all_of(members_, [](const Member& member) { return member.join.has_value(); });
  if ((all_joined && pending_.empty()) || rebalance_until_ <= now) complete_join(now);
}

void Group::complete_join(Instant now) {
  std::erase_if(members_,
                [](const Member& member) { return !member.record.instance_id && !member.join; });
  if (members_.empty()) return become_empty(now);
  initial_ = false;
  if (!elect_leader()) {
    // Only static members, none of which has rejoined: they expire by their sessions.
    rebalance_until_ = now + longest_rebalance();
    return;
  }
  ProtocolLists lists;
  for (const Member& member : members_) lists.push_back(&member.record.protocols);
  protocol_ = choose_protocol(lists);
  generation_ = generation_ == std::numeric_limits<std::int32_t>::max() ? 1 : generation_ + 1;
  state_ = GroupState::kCompletingRebalance;
  sync_until_ = now + longest_rebalance();
  for (Member& member : members_) {
    member.record.assignment = Slice();
    member.synced = !member.join.has_value();
    if (!member.join) continue;
    effects_.joins.push_back({*std::exchange(member.join, std::nullopt), joined(member)});
    member.is_new = false;
    touch(member, now);
  }
}

// The leader stays if it has rejoined, else the first member that has.
bool Group::elect_leader() {
  const Member* leader = find(leader_);
  if (leader != nullptr && leader->join) return true;
  const auto first =
      std::ranges::find_if(members_, [](const Member& member) { return member.join.has_value(); });
  if (first == members_.end()) return false;
  leader_ = first->record.id;
  return true;
}

void Group::become_empty(Instant now) {
  state_ = GroupState::kEmpty;
  initial_ = false;
  empty_since_ = now;
  protocol_.clear();
  leader_.clear();
  if (generation_ == 0) return;  // It never had a member.
  generation_ = generation_ == std::numeric_limits<std::int32_t>::max() ? 1 : generation_ + 1;
  order_store(record());
}

ErrorCode Group::check_sync(const SyncGroupRequest& request) {
  const auto differs = [](const std::optional<std::string>& sent, const std::string& is) {
    return sent && *sent != is;
  };
  const ErrorCode refused = check_member(request.member_id, request.group_instance_id);
  if (refused != ErrorCode::kNone) return refused;
  if (request.generation_id != generation_) return ErrorCode::kIllegalGeneration;
  if (differs(request.protocol_type, protocol_type_) || differs(request.protocol_name, protocol_)) {
    return ErrorCode::kInconsistentGroupProtocol;
  }
  std::size_t bytes = 0;
  for (const auto& assignment : request.assignments) bytes += assignment.assignment.size();
  if (bytes > kGroupBytesMax || request.assignments.size() > kMembersMax) {
    return ErrorCode::kInvalidRequest;
  }
  return state_ == GroupState::kPreparingRebalance ? ErrorCode::kRebalanceInProgress
                                                   : ErrorCode::kNone;
}

void Group::sync(RequestId held, const SyncGroupRequest& request, Instant now) {
  const ErrorCode refused = check_sync(request);
  if (refused == ErrorCode::kRebalanceInProgress) touch(*find(request.member_id), now);
  if (refused != ErrorCode::kNone) {
    SyncGroupResponse response;
    response.error_code = refused;
    effects_.syncs.push_back({held, std::move(response)});
    return;
  }
  Member& member = *find(request.member_id);
  if (member.sync) answer_sync(member, ErrorCode::kRebalanceInProgress, now);
  member.synced = true;
  member.sync = held;
  member.deadline = Instant::never();
  if (state_ == GroupState::kStable) return answer_sync(member, ErrorCode::kNone, now);
  if (leader_ == member.record.id && !assignment_ticket_) assign(request);
}

void Group::assign(const SyncGroupRequest& request) {
  for (const SyncGroupRequest::Assignment& given : request.assignments) {
    if (Member* member = find(given.member_id)) {
      member->record.assignment = Slice::copy_of(given.assignment.span());
    }
  }
  assignment_ticket_ = order_store(record());
}

void Group::stored(StoreTicket ticket, bool kept, Instant now) {
  if (assignment_ticket_ && *assignment_ticket_ <= ticket) {
    assignment_ticket_.reset();
    kept ? become_stable(now) : lose_assignment(now);
  }
  if (kept && offsets_ticket_ != 0 && offsets_ticket_ <= ticket) offsets_kept_ = true;
  std::erase_if(replacements_, [&](Replacement& replacement) {
    if (replacement.ticket > ticket) return false;
    if (kept) {
      effects_.joins.push_back({replacement.held, std::move(replacement.response)});
    } else {
      refuse_join(replacement.held, ErrorCode::kCoordinatorNotAvailable, {});
    }
    return true;
  });
  if (kept || ticket != last_ticket_) return;
  if (state_ == GroupState::kDead) {
    state_ = GroupState::kEmpty;
    empty_since_ = now;
  }
  retry_at_ = now + kStoreRetry;
}

void Group::become_stable(Instant now) {
  state_ = GroupState::kStable;
  for (Member& member : members_) answer_sync(member, ErrorCode::kNone, now);
}

void Group::lose_assignment(Instant now) {
  for (Member& member : members_) answer_sync(member, ErrorCode::kCoordinatorNotAvailable, now);
  prepare_rebalance(now);
}

void Group::answer_sync(Member& member, ErrorCode error, Instant now) {
  const auto held = std::exchange(member.sync, std::nullopt);
  if (!held) return;
  touch(member, now);
  SyncGroupResponse response;
  response.error_code = error;
  if (error == ErrorCode::kNone) {
    response.protocol_type = protocol_type_;
    response.protocol_name = protocol_;
    response.assignment = member.record.assignment;
  }
  effects_.syncs.push_back({*held, std::move(response)});
}

void Group::expire_syncs(Instant now) {
  const bool waits = state_ == GroupState::kCompletingRebalance || state_ == GroupState::kStable;
  if (!waits || sync_until_ > now) return;
  sync_until_ = Instant::never();
  std::vector<std::string> unsynced;
  for (const Member& member : members_) {
    if (!member.synced) unsynced.push_back(member.record.id);
  }
  for (const std::string& id : unsynced) {
    if (find(id) != nullptr) remove_member(id, now);
  }
}

StoreTicket Group::order_store(std::optional<GroupRecord> record) {
  ever_stored_ = true;
  retry_at_ = Instant::never();
  ++last_ticket_;
  if (offsets_ticket_ == 0 && record && record->has_offsets) offsets_ticket_ = last_ticket_;
  effects_.store = GroupEffects::Store{last_ticket_, std::move(record)};
  return last_ticket_;
}

Duration Group::longest_rebalance() const {
  std::int32_t longest = 0;
  for (const Member& member : members_) {
    longest = std::max(longest, member.record.rebalance_timeout_ms);
  }
  return std::chrono::milliseconds(longest);
}

}  // namespace moraine::kafka
