// StoredGroups: requests and answers.
#include "gateway/kafka/groups/stored_groups.h"

#include <algorithm>
#include <set>

#include "base/node_bug.h"

namespace moraine::kafka {
namespace {

constexpr std::size_t kMemberIdPrefixMax = 255;
constexpr std::int16_t kLeaveListFrom = 3;

constexpr std::size_t kStateBytes = 32;  // The longest name of a state.

// The memory that a group would need for a request.
std::size_t bytes_of(const JoinGroupRequest& request) {
  std::size_t bytes = kMemberCostBytes + request.member_id.size() + request.protocol_type.size();
  for (const MemberProtocol& protocol : request.protocols) {
    bytes += protocol.name.size() + protocol.metadata.size();
  }
  return bytes;
}
std::size_t bytes_of(const SyncGroupRequest& request) {
  std::size_t bytes = 0;
  for (const SyncGroupRequest::Assignment& given : request.assignments) {
    bytes += given.assignment.size();
  }
  return bytes;
}

// At most `most` bytes, not ending inside a character.
std::string cut(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

ErrorCode check_group_id(const std::string& group) {
  return group.empty() || group.size() > kGroupIdBytesMax ? ErrorCode::kInvalidGroupId
                                                          : ErrorCode::kNone;
}

}  // namespace

StoredGroups::StoredGroups(World world, Tablet tablet, std::size_t bytes_max)
    : world_(world), tablet_(std::move(tablet)), bytes_max_(bytes_max) {}

ErrorCode StoredGroups::status() const {
  if (*stopped_) return ErrorCode::kCoordinatorNotAvailable;
  if (!loaded_) return ErrorCode::kCoordinatorLoadInProgress;
  return tablet_() == nullptr ? ErrorCode::kCoordinatorNotAvailable : ErrorCode::kNone;
}

ErrorCode StoredGroups::check_join(const JoinGroupRequest& request) const {
  ErrorCode error = status();
  if (error == ErrorCode::kNone) error = check_group_id(request.group_id);
  if (error != ErrorCode::kNone) return error;
  const bool in_bounds = request.session_timeout_ms >= kSessionTimeoutMinMs &&
                         request.session_timeout_ms <= kSessionTimeoutMaxMs;
  if (!in_bounds) return ErrorCode::kInvalidSessionTimeout;
  const bool unknown = !request.member_id.empty() && !entries_.contains(request.group_id);
  return unknown ? ErrorCode::kUnknownMemberId : ErrorCode::kNone;
}

Task<JoinGroupResponse> StoredGroups::join(JoinGroupRequest request, std::int16_t version,
                                           GroupClient client) {
  JoinGroupResponse refused;
  refused.member_id = request.member_id;
  refused.error_code = check_join(request);
  if (refused.error_code != ErrorCode::kNone) co_return refused;
  Entry* entry = find(request.group_id);
  const std::size_t before = entry == nullptr ? 0 : entry->group.member_bytes(request.member_id);
  const bool room = bytes_ - before + bytes_of(request) <= bytes_max_;
  if (entry == nullptr && room) entry = add(request.group_id);
  if (entry == nullptr || !room) {
    refused.error_code = ErrorCode::kGroupMaxSizeReached;
    co_return refused;
  }
  JoinCall call;
  call.held = ++last_request_;
  call.version = version;
  call.fresh_id = fresh_member_id(request.group_instance_id.value_or(client.id));
  call.request = std::move(request);
  call.client = std::move(client);
  const HeldJoin held = std::make_shared<OneShot<JoinGroupResponse>>();
  joins_.emplace(call.held, held);
  entry->group.join(std::move(call), now());
  settle(*entry);
  co_return co_await *held;
}

Task<SyncGroupResponse> StoredGroups::sync(SyncGroupRequest request, std::int16_t) {
  SyncGroupResponse refused;
  refused.error_code = status();
  if (refused.error_code == ErrorCode::kNone) refused.error_code = check_group_id(request.group_id);
  Entry* entry = find(request.group_id);
  if (refused.error_code == ErrorCode::kNone && entry == nullptr) {
    refused.error_code = ErrorCode::kUnknownMemberId;
  }
  const std::size_t given = bytes_of(request);
  if (refused.error_code == ErrorCode::kNone && given > 0 &&
      bytes_ - entry->group.replaced_bytes(request) + given > bytes_max_) {
    refused.error_code = ErrorCode::kCoordinatorNotAvailable;
  }
  if (refused.error_code != ErrorCode::kNone) co_return refused;
  const RequestId id = ++last_request_;
  const HeldSync held = std::make_shared<OneShot<SyncGroupResponse>>();
  syncs_.emplace(id, held);
  entry->group.sync(id, request, now());
  if (has_bug(NodeBug::kAnswerSyncEarly)) {
    entry->group.stored(entry->group.last_ticket(), true, now());
  }
  settle(*entry);
  co_return co_await *held;
}

HeartbeatResponse StoredGroups::heartbeat(const HeartbeatRequest& request) {
  HeartbeatResponse response;
  if (*stopped_) {
    response.error_code = ErrorCode::kCoordinatorNotAvailable;
    return response;
  }
  response.error_code = check_group_id(request.group_id);
  if (response.error_code != ErrorCode::kNone || !loaded_) return response;
  Entry* entry = find(request.group_id);
  // It only postpones deadlines, so the timer may stay.
  response.error_code =
      entry == nullptr ? ErrorCode::kUnknownMemberId : entry->group.heartbeat(request, now());
  return response;
}

Task<LeaveGroupResponse> StoredGroups::leave(LeaveGroupRequest request, std::int16_t version) {
  LeaveGroupResponse response;
  response.error_code = status();
  if (response.error_code == ErrorCode::kNone) {
    response.error_code = check_group_id(request.group_id);
  }
  if (request.members.size() > kMembersMax) response.error_code = ErrorCode::kInvalidRequest;
  if (response.error_code != ErrorCode::kNone) co_return response;
  Entry* entry = find(request.group_id);
  const StoreTicket before = entry == nullptr ? 0 : entry->group.last_ticket();
  for (const LeaveGroupRequest::Member& member : request.members) {
    const ErrorCode error =
        entry == nullptr ? ErrorCode::kUnknownMemberId : entry->group.leave(member, now());
    response.members.push_back({member.member_id, member.group_instance_id, error});
  }
  if (version < kLeaveListFrom && !response.members.empty()) {
    response.error_code = response.members.front().error_code;
    response.members.clear();
  }
  if (entry == nullptr) co_return response;
  const Kept kept = entry->group.last_ticket() == before ? nullptr : when_stored(*entry);
  settle(*entry);
  if (kept && !co_await *kept) response.error_code = ErrorCode::kCoordinatorNotAvailable;
  co_return response;
}

DescribeGroupsResponse StoredGroups::describe(const DescribeGroupsRequest& request) const {
  DescribeGroupsResponse response;
  for (const std::string& id : request.groups) {
    if (const Group* group = find_group(id); group != nullptr && loaded_) {
      response.groups.push_back(group->describe());
      continue;
    }
    auto& unknown = response.groups.emplace_back();
    unknown.group_id = id;
    unknown.group_state = to_string(GroupState::kDead);
    if (*stopped_) unknown.error_code = ErrorCode::kCoordinatorNotAvailable;
    if (!loaded_) unknown.error_code = ErrorCode::kCoordinatorLoadInProgress;
  }
  return response;
}

std::size_t StoredGroups::list_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [id, entry] : entries_) {
    bytes += 2 * sizeof(ListGroupsResponse::Group) + id.size() + kStateBytes;
    bytes += entry.group.protocol_type().size();
  }
  return bytes;
}

ListGroupsResponse StoredGroups::list(const ListGroupsRequest& request) const {
  ListGroupsResponse response;
  if (*stopped_) response.error_code = ErrorCode::kCoordinatorNotAvailable;
  if (!loaded_) response.error_code = ErrorCode::kCoordinatorLoadInProgress;
  if (response.error_code != ErrorCode::kNone) return response;
  const std::set<std::string_view> states(request.states_filter.begin(),
                                          request.states_filter.end());
  for (const auto& [id, entry] : entries_) {
    const std::string state(to_string(entry.group.state()));
    const bool asked = states.empty() || states.contains(state);
    if (!asked || entry.group.state() == GroupState::kDead) continue;
    response.groups.push_back({id, entry.group.protocol_type(), state});
  }
  return response;
}

Task<ErrorCode> StoredGroups::admit_commit(const OffsetCommitRequest& request) {
  ErrorCode refused = status();
  if (refused == ErrorCode::kNone) refused = check_group_id(request.group_id);
  if (refused != ErrorCode::kNone) co_return refused;
  Entry* entry = find(request.group_id);
  if (has_bug(NodeBug::kAcceptOldGeneration)) co_return ErrorCode::kNone;
  if (entry == nullptr && request.generation_id >= 0) co_return ErrorCode::kIllegalGeneration;
  if (entry == nullptr) entry = add(request.group_id);
  if (entry == nullptr) co_return ErrorCode::kGroupMaxSizeReached;
  const StoreTicket before = entry->group.last_ticket();
  const ErrorCode error = entry->group.commit(request, now());
  const Kept kept = entry->group.last_ticket() == before ? nullptr : when_stored(*entry);
  settle(*entry);
  if (kept && !co_await *kept) co_return ErrorCode::kCoordinatorNotAvailable;
  co_return error;
}

Task<ErrorCode> StoredGroups::remove(std::string group) {
  const ErrorCode unready = status();
  if (unready != ErrorCode::kNone) co_return unready;
  Entry* entry = find(group);
  if (entry == nullptr) co_return ErrorCode::kGroupIdNotFound;
  const ErrorCode error = entry->group.remove();
  if (error != ErrorCode::kNone) co_return error;
  const Kept kept = when_stored(*entry);
  settle(*entry);
  co_return co_await *kept ? ErrorCode::kNone : ErrorCode::kCoordinatorNotAvailable;
}

bool StoredGroups::exists(const std::string& group) const {
  const Group* found = find_group(group);
  return found != nullptr && found->state() != GroupState::kDead;
}

bool StoredGroups::subscribed(const std::string& group, const std::string& topic) const {
  const Group* found = find_group(group);
  return found != nullptr && found->subscribed(topic);
}

StoredGroups::Entry* StoredGroups::find(const std::string& group) {
  const auto found = entries_.find(group);
  return found == entries_.end() ? nullptr : &found->second;
}

const Group* StoredGroups::find_group(const std::string& group) const {
  const auto found = entries_.find(group);
  return found == entries_.end() ? nullptr : &found->second.group;
}

StoredGroups::Entry* StoredGroups::add(const std::string& group) {
  if (entries_.size() >= kGroupsMax) {
    const auto spare = std::ranges::find_if(
        entries_, [this](const auto& item) { return item.second.group.expendable(now()); });
    if (spare == entries_.end()) return nullptr;
    const ErrorCode removed = spare->second.group.remove();
    INVARIANT(removed == ErrorCode::kNone, "group {} is not empty", spare->first);
    settle(spare->second);
  }
  return &entries_.emplace(group, Entry(Group(group, now()))).first->second;
}

std::string StoredGroups::fresh_member_id(const std::string& prefix) {
  Uuid uuid;
  for (std::byte& byte : uuid.bytes) byte = static_cast<std::byte>(world_.random.below(256));
  return cut(prefix, kMemberIdPrefixMax) + "-" + uuid.to_string();
}

}  // namespace moraine::kafka
