// Requests about consumer groups, over the connection of a TopicClient.
//
// Threading  Blocks; one thread.
// Errors     Those of KafkaClient, and refusals by name (kafka_error.h). kNotFound: no such group.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/topic_client.h"
#include "gateway/kafka/protocol/group_messages.h"

namespace moraine::app {

using GroupState = kafka::DescribeGroupsResponse::Group;

// By name.
Result<std::vector<kafka::ListGroupsResponse::Group>> list_groups(TopicClient& client);
Result<GroupState> describe_group(TopicClient& client, const std::string& group);
// Of all topics that it has committed to.
Result<std::map<std::string, PartitionOffsets>> committed_offsets(TopicClient& client,
                                                                  const std::string& group);
Result<void> delete_group(TopicClient& client, const std::string& group);

}  // namespace moraine::app
