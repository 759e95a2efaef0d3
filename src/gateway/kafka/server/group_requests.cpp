#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "gateway/kafka/groups/group.h"
#include "gateway/kafka/server/committers.h"
#include "gateway/kafka/server/handlers.h"
#include "gateway/kafka/server/repeats.h"

namespace moraine::kafka {
namespace {

// Ignoring case.
bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

Task<void> forget(std::shared_ptr<queue::Partition> partition, std::string group,
                  ErrorCode& error) {
  const Result<void> removed = co_await partition->forget_consumer(std::move(group));
  if (!removed) error = ErrorCode::kCoordinatorNotAvailable;
}

// kNone: without members. kGroupIdNotFound: there may still be committed offsets.
Task<ErrorCode> check_removable(ServerContext& server, std::string group) {
  DescribeGroupsRequest request;
  request.groups = {std::move(group)};
  const DescribeGroupsResponse described = co_await server.groups.describe(std::move(request));
  const DescribeGroupsResponse::Group& found = described.groups.at(0);
  if (found.error_code != ErrorCode::kNone) co_return found.error_code;
  if (found.group_state == to_string(GroupState::kDead)) co_return ErrorCode::kGroupIdNotFound;
  co_return found.group_state == to_string(GroupState::kEmpty) ? ErrorCode::kNone
                                                               : ErrorCode::kNonEmptyGroup;
}

std::size_t bytes_of(const DescribeGroupsResponse::Group& group) {
  std::size_t bytes = sizeof(group) + group.protocol_type.size() + group.protocol_data.size();
  for (const DescribeGroupsResponse::Member& member : group.members) {
    bytes += sizeof(member) + member.member_id.size() + member.client_id.size() +
             member.client_host.size() + member.group_instance_id.value_or("").size() +
             member.member_metadata.size() + member.member_assignment.size();
  }
  return bytes;
}

struct Forgotten {
  bool any = false;
  ErrorCode error = ErrorCode::kNone;  // Else offsets may be left.
};

// Removes all committed offsets of a group, as long as it has no members.
Task<Forgotten> forget_everywhere(ServerContext& server, std::string group) {
  Forgotten forgotten;
  for (const TopicPtr& topic : server.topics.list()) {
    if (co_await check_removable(server, group) == ErrorCode::kNonEmptyGroup) {
      forgotten.error = ErrorCode::kNonEmptyGroup;
      break;
    }
    TaskScope partitions;
    for (std::uint32_t i = 0; i < topic->partitions; ++i) {
      FoundPartition found = find_partition(server, topic, static_cast<std::int32_t>(i));
      // Its offsets there are unknown.
      if (!found.partition) forgotten.error = ErrorCode::kCoordinatorLoadInProgress;
      if (!found.partition || !found.partition->committed(group)) continue;
      forgotten.any = true;
      partitions.spawn(forget(std::move(found.partition), group, forgotten.error));
    }
    co_await partitions.join();
    co_await yield(server.executor);
  }
  co_return forgotten;
}

// The record is removed last: a failed request can be repeated.
Task<ErrorCode> delete_group(ServerContext& server, std::string group) {
  const ErrorCode state = co_await check_removable(server, group);
  if (state != ErrorCode::kNone && state != ErrorCode::kGroupIdNotFound) co_return state;
  const Forgotten forgotten = co_await forget_everywhere(server, group);
  if (forgotten.error != ErrorCode::kNone) co_return forgotten.error;
  const ErrorCode removed = co_await server.groups.remove(std::move(group));
  const bool only_offsets = removed == ErrorCode::kGroupIdNotFound && forgotten.any;
  co_return only_offsets ? ErrorCode::kNone : removed;
}

}  // namespace

Task<JoinGroupResponse> serve(ServerContext& server, JoinGroupRequest request,
                              RequestContext about) {
  GroupClient client{about.client_id, about.client->host()};
  JoinGroupResponse response =
      co_await server.groups.join(std::move(request), about.version, std::move(client));
  server.metrics.counted(response.error_code);
  co_return response;
}

Task<SyncGroupResponse> serve(ServerContext& server, SyncGroupRequest request,
                              RequestContext about) {
  SyncGroupResponse response = co_await server.groups.sync(std::move(request), about.version);
  server.metrics.counted(response.error_code);
  co_return response;
}

Task<HeartbeatResponse> serve(ServerContext& server, HeartbeatRequest request, RequestContext) {
  HeartbeatResponse response = co_await server.groups.heartbeat(std::move(request));
  server.metrics.counted(response.error_code);
  co_return response;
}

Task<LeaveGroupResponse> serve(ServerContext& server, LeaveGroupRequest request,
                               RequestContext about) {
  LeaveGroupResponse response = co_await server.groups.leave(std::move(request), about.version);
  server.metrics.counted(response.error_code);
  co_return response;
}

Task<DescribeGroupsResponse> serve(ServerContext& server, DescribeGroupsRequest request,
                                   RequestContext about) {
  DescribeGroupsResponse response;
  Repeats named;
  for (const std::string& id : request.groups) {
    if (!named.first(id)) continue;
    DescribeGroupsRequest one;
    one.groups.push_back(id);
    DescribeGroupsResponse described = co_await server.groups.describe(std::move(one));
    DescribeGroupsResponse::Group group = std::move(described.groups.at(0));
    if (!co_await about.room->take(bytes_of(group))) {
      group = {};
      group.group_id = id;
      group.error_code = ErrorCode::kInvalidRequest;
    }
    server.metrics.counted(group.error_code);
    response.groups.push_back(std::move(group));
  }
  co_return response;
}

Task<ListGroupsResponse> serve(ServerContext& server, ListGroupsRequest request,
                               RequestContext about) {
  ListGroupsResponse response;
  if (!co_await about.room->take(co_await server.groups.list_bytes())) {
    response.error_code = server.metrics.counted(ErrorCode::kInvalidRequest);
    co_return response;
  }
  response = co_await server.groups.list(request);
  // All groups are of one type.
  const auto& types = request.types_filter;
  const auto classic = [](const std::string& type) { return same_word(type, kClassicGroup); };
  if (!types.empty() && std::ranges::none_of(types, classic)) response.groups.clear();
  co_return response;
}

Task<DeleteGroupsResponse> serve(ServerContext& server, DeleteGroupsRequest request,
                                 RequestContext about) {
  const std::set<std::string_view> asked(request.groups.begin(), request.groups.end());
  const Committers committers = co_await find_committers(server, asked);
  DeleteGroupsResponse response;
  Repeats named;
  for (const std::string& group : request.groups) {
    if (about.client->disconnected()) break;
    if (!named.first(group)) continue;
    ErrorCode error = co_await check_removable(server, group);
    const bool unknown = error == ErrorCode::kGroupIdNotFound;
    if (error == ErrorCode::kNone || (unknown && committers.groups.contains(group))) {
      error = co_await delete_group(server, group);
    } else if (unknown && !committers.complete) {
      error = ErrorCode::kCoordinatorLoadInProgress;
    }
    response.results.push_back({group, server.metrics.counted(error)});
  }
  co_return response;
}

}  // namespace moraine::kafka
