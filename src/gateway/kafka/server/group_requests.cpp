#include <utility>

#include "gateway/kafka/server/handlers.h"

namespace moraine::kafka {
namespace {

Task<void> forget(std::shared_ptr<queue::Partition> partition, std::string group,
                  ErrorCode& error) {
  const Result<void> gone = co_await partition->forget_consumer(std::move(group));
  if (!gone) error = ErrorCode::kCoordinatorNotAvailable;
}

// Removes what a group has committed anywhere.
Task<ErrorCode> forget_everywhere(ServerContext& server, std::string group) {
  ErrorCode error = ErrorCode::kNone;
  for (const TopicPtr& topic : server.topics.list()) {
    TaskScope partitions;
    for (std::uint32_t i = 0; i < topic->partitions; ++i) {
      FoundPartition found = find_partition(server, topic, static_cast<std::int32_t>(i));
      if (!found.partition || !found.partition->committed(group)) continue;
      partitions.spawn(forget(std::move(found.partition), group, error));
    }
    co_await partitions.join();
  }
  co_return error;
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
  HeartbeatResponse response = server.groups.heartbeat(request);
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
                                   RequestContext) {
  co_return server.groups.describe(request);
}

Task<ListGroupsResponse> serve(ServerContext& server, ListGroupsRequest request, RequestContext) {
  co_return server.groups.list(request);
}

Task<DeleteGroupsResponse> serve(ServerContext& server, DeleteGroupsRequest request,
                                 RequestContext) {
  DeleteGroupsResponse response;
  for (const std::string& group : request.groups) {
    ErrorCode error = co_await server.groups.remove(group);
    if (error == ErrorCode::kNone) error = co_await forget_everywhere(server, group);
    response.results.push_back({group, server.metrics.counted(error)});
  }
  co_return response;
}

}  // namespace moraine::kafka
