#include "gateway/kafka/groups/lane_groups.h"

#include "io/run_on.h"

namespace moraine::kafka {

template <class Call>
Task<std::invoke_result_t<Call>> LaneGroups::there(Call call) {
  co_await hop(home_);
  auto result = call();
  co_await hop(lane_);
  co_return result;
}

Task<JoinGroupResponse> LaneGroups::join(JoinGroupRequest request, std::int16_t version,
                                         GroupClient client) {
  co_return co_await run_on(
      home_, lane_, [&] { return groups_.join(std::move(request), version, std::move(client)); });
}

Task<SyncGroupResponse> LaneGroups::sync(SyncGroupRequest request, std::int16_t version) {
  co_return co_await run_on(home_, lane_,
                            [&] { return groups_.sync(std::move(request), version); });
}

Task<HeartbeatResponse> LaneGroups::heartbeat(HeartbeatRequest request) {
  co_return co_await there([&] { return groups_.heartbeat(request); });
}

Task<LeaveGroupResponse> LaneGroups::leave(LeaveGroupRequest request, std::int16_t version) {
  co_return co_await run_on(home_, lane_,
                            [&] { return groups_.leave(std::move(request), version); });
}

Task<DescribeGroupsResponse> LaneGroups::describe(DescribeGroupsRequest request) {
  co_return co_await there([&] { return groups_.describe(request); });
}

Task<std::size_t> LaneGroups::list_bytes() {
  co_return co_await there([&] { return groups_.list_bytes(); });
}

Task<ListGroupsResponse> LaneGroups::list(ListGroupsRequest request) {
  co_return co_await there([&] { return groups_.list(request); });
}

Task<ErrorCode> LaneGroups::admit_commit(const OffsetCommitRequest& request) {
  co_return co_await run_on(home_, lane_, [&] { return groups_.admit_commit(request); });
}

Task<ErrorCode> LaneGroups::remove(std::string group) {
  co_return co_await run_on(home_, lane_, [&] { return groups_.remove(std::move(group)); });
}

Task<bool> LaneGroups::exists(std::string group) {
  co_return co_await there([&] { return groups_.exists(group); });
}

Task<bool> LaneGroups::subscribed(std::string group, std::string topic) {
  co_return co_await there([&] { return groups_.subscribed(group, topic); });
}

}  // namespace moraine::kafka
