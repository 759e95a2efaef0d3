#include "app/group_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/kafka_error.h"
#include "gateway/kafka/protocol/offset_messages.h"

namespace moraine::app {
namespace {

constexpr std::string_view kDead = "Dead";

Error no_such_group(const std::string& group) {
  return {Errc::kNotFound,
          fmt::format("there is no group {}; moraine group list names all", group)};
}

}  // namespace

Result<std::vector<kafka::ListGroupsResponse::Group>> list_groups(TopicClient& client) {
  TRY(kafka::ListGroupsResponse response, client.kafka().call(kafka::ListGroupsRequest{}));
  TRY_VOID(check_answer(response.error_code, "groups"));
  std::ranges::sort(response.groups, {}, &kafka::ListGroupsResponse::Group::group_id);
  return std::move(response.groups);
}

Result<GroupState> describe_group(TopicClient& client, const std::string& group) {
  kafka::DescribeGroupsRequest request;
  request.groups.push_back(group);
  TRY(kafka::DescribeGroupsResponse response, client.kafka().call(request));
  if (response.groups.empty()) return std::unexpected(no_such_group(group));
  GroupState& found = response.groups.front();
  if (found.error_code == kafka::ErrorCode::kGroupIdNotFound || found.group_state == kDead) {
    return std::unexpected(no_such_group(group));
  }
  TRY_VOID(check_answer(found.error_code, "group " + group));
  return std::move(found);
}

Result<std::map<std::string, PartitionOffsets>> committed_offsets(TopicClient& client,
                                                                  const std::string& group) {
  kafka::OffsetFetchRequest request;
  request.groups.push_back({group, std::nullopt});
  TRY(const kafka::OffsetFetchResponse response, client.kafka().call(request));
  std::map<std::string, PartitionOffsets> offsets;
  for (const auto& answer : response.groups) {
    TRY_VOID(check_answer(answer.error_code, "group " + group));
    for (const auto& topic : answer.topics) {
      for (const auto& partition : topic.partitions) {
        TRY_VOID(check_answer(partition.error_code, "group " + group));
        if (partition.committed_offset < 0) continue;
        offsets[topic.name][partition.partition_index] = partition.committed_offset;
      }
    }
  }
  return offsets;
}

Result<void> delete_group(TopicClient& client, const std::string& group) {
  kafka::DeleteGroupsRequest request;
  request.groups.push_back(group);
  TRY(const kafka::DeleteGroupsResponse response, client.kafka().call(request));
  for (const auto& result : response.results) {
    if (result.error_code == kafka::ErrorCode::kGroupIdNotFound) {
      return std::unexpected(no_such_group(group));
    }
    TRY_VOID(check_answer(result.error_code, "group " + group));
  }
  return {};
}

}  // namespace moraine::app
