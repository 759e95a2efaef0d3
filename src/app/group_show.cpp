// moraine group list, describe
#include <fmt/format.h>

#include "app/exit_code.h"
#include "app/group_client.h"
#include "app/group_commands.h"
#include "app/table.h"
#include "base/json.h"
#include "gateway/kafka/protocol/consumer_protocol.h"

namespace moraine::app {
namespace {

Result<int> list(TopicClient& client, bool as_json) {
  TRY(const auto groups, list_groups(client));
  if (as_json) {
    Json json;
    json.object().field("status", "OK").key("groups").array();
    for (const auto& group : groups) {
      json.object().field("group", group.group_id).field("state", group.group_state);
      json.field("protocol_type", group.protocol_type).end();
    }
    fmt::print("{}\n", json.end().end().take());
    return kExitOk;
  }
  Table table({"GROUP", "STATE"});
  for (const auto& group : groups) table.add({group.group_id, group.group_state});
  if (!groups.empty()) fmt::print("{}", table.text());
  fmt::print("{}\n", counted(groups.size(), "group"));
  return kExitOk;
}

// "t[0,2] u[1]" of a member of a consumer group; empty for what is none.
std::string assignment_of(const kafka::DescribeGroupsResponse::Member& member) {
  const auto assignment = kafka::decode_assignment(member.member_assignment);
  if (!assignment) return "";
  std::string text;
  for (const auto& topic : assignment->topics) {
    text += fmt::format("{}{}[{}]", text.empty() ? "" : " ", topic.name,
                        fmt::join(topic.partitions, ","));
  }
  return text;
}

struct Described {
  GroupState state;
  std::map<std::string, PartitionOffsets> committed;
  std::map<std::string, PartitionOffsets> ends;

  // nullopt: the partition is not available, or its topic was removed.
  std::optional<std::int64_t> lag(const std::string& topic, std::int32_t partition,
                                  std::int64_t offset) const {
    const auto found = ends.find(topic);
    if (found == ends.end() || !found->second.contains(partition)) return std::nullopt;
    return std::max<std::int64_t>(0, found->second.at(partition) - offset);
  }
};

Result<Described> read_description(TopicClient& client, const std::string& group) {
  Described found;
  TRY(found.state, describe_group(client, group));
  TRY(found.committed, committed_offsets(client, group));
  TRY(auto counts, client.partition_counts());
  std::erase_if(counts, [&](const auto& one) { return !found.committed.contains(one.first); });
  if (!counts.empty()) {
    TRY(found.ends, client.offsets(counts, kafka::kLatestOffset));
  }
  return found;
}

void describe_json(const Described& group) {
  Json json;
  json.object().field("status", "OK").field("group", group.state.group_id);
  json.field("state", group.state.group_state).key("members").array();
  for (const auto& member : group.state.members) {
    json.object().field("member", member.member_id).field("client", member.client_id);
    json.field("host", member.client_host).field("partitions", assignment_of(member)).end();
  }
  json.end().key("offsets").array();
  for (const auto& [topic, offsets] : group.committed) {
    for (const auto& [partition, offset] : offsets) {
      json.object().field("topic", topic).field("partition", partition);
      json.field("committed", offset).key("lag");
      const auto lag = group.lag(topic, partition, offset);
      lag ? json.value(*lag) : json.null();
      json.end();
    }
  }
  fmt::print("{}\n", json.end().end().take());
}

void describe_text(const Described& group) {
  fmt::print("group {}, {}\n", group.state.group_id, group.state.group_state);
  if (!group.state.members.empty()) {
    Table members({"MEMBER", "CLIENT", "HOST", "PARTITIONS"});
    for (const auto& member : group.state.members) {
      members.add({member.member_id, member.client_id, member.client_host, assignment_of(member)});
    }
    fmt::print("\n{}", members.text());
  }
  if (group.committed.empty()) return;
  Table table({"TOPIC", "PARTITION", "COMMITTED", "LAG"});
  for (const auto& [topic, offsets] : group.committed) {
    for (const auto& [partition, offset] : offsets) {
      const auto lag = group.lag(topic, partition, offset);
      table.add({topic, std::to_string(partition), std::to_string(offset),
                 lag ? std::to_string(*lag) : "not available"});
    }
  }
  fmt::print("\n{}", table.text());
}

}  // namespace

int run_group_list(const GroupListOptions& options) {
  return run_on_server(options.target,
                       [&](TopicClient& client) { return list(client, options.target.json); });
}

int run_group_describe(const GroupDescribeOptions& options) {
  return run_on_server(options.target, [&](TopicClient& client) -> Result<int> {
    TRY(const Described group, read_description(client, options.group));
    options.target.json ? describe_json(group) : describe_text(group);
    return kExitOk;
  });
}

}  // namespace moraine::app
