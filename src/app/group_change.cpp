// moraine group reset, delete
#include <fmt/format.h>

#include "app/exit_code.h"
#include "app/group_client.h"
#include "app/group_commands.h"
#include "app/table.h"
#include "base/json.h"

namespace moraine::app {
namespace {

using TopicOffsets = std::map<std::string, PartitionOffsets>;

void show(const GroupResetOptions& options, const TopicOffsets& offsets) {
  if (options.target.json) {
    Json json;
    json.object().field("status", "OK").field("group", options.group).key("offsets").array();
    for (const auto& [topic, partitions] : offsets) {
      for (const auto& [partition, offset] : partitions) {
        json.object().field("topic", topic).field("partition", partition);
        json.field("committed", offset).end();
      }
    }
    fmt::print("{}\n", json.end().end().take());
    return;
  }
  Table table({"TOPIC", "PARTITION", "COMMITTED"});
  for (const auto& [topic, partitions] : offsets) {
    for (const auto& [partition, offset] : partitions) {
      table.add({topic, std::to_string(partition), std::to_string(offset)});
    }
  }
  fmt::print("{}", table.text());
}

Result<void> check_no_members(const GroupState& state) {
  if (state.members.empty()) return {};
  return fail(Errc::kConflict,
              fmt::format("group {} has {}: stop its consumers first", state.group_id,
                          counted(state.members.size(), "member")));
}

// The topics to reset.
Result<std::vector<std::string>> topics_of(TopicClient& client, const GroupResetOptions& options) {
  const Result<GroupState> state = describe_group(client, options.group);
  if (state) {
    TRY_VOID(check_no_members(*state));
  }
  if (!options.topic.empty()) return std::vector{options.topic};
  if (!state) return std::unexpected(state.error());
  TRY(const TopicOffsets committed, committed_offsets(client, options.group));
  std::vector<std::string> topics;
  for (const auto& [topic, offsets] : committed) topics.push_back(topic);
  if (!topics.empty()) return topics;
  return fail(
      Errc::kNotFound,
      fmt::format("group {} has committed nothing; give the topic with --topic", options.group));
}

Result<PartitionOffsets> wanted_offsets(TopicClient& client, const GroupResetOptions& options,
                                        const std::string& topic) {
  TRY(const std::vector<std::int32_t> partitions, client.partitions(topic, options.partition));
  const std::int64_t place = options.to == "start" ? kafka::kEarliestOffset : kafka::kLatestOffset;
  TRY(PartitionOffsets offsets, client.offsets(topic, partitions, place));
  if (!options.offset) return offsets;
  const std::int64_t end = offsets.begin()->second;
  if (*options.offset > end) {
    return fail(Errc::kNotFound, fmt::format("{}, partition {} has no offset {}: it ends at {}",
                                             topic, *options.partition, *options.offset, end));
  }
  offsets.begin()->second = *options.offset;
  return offsets;
}

Result<int> reset(TopicClient& client, const GroupResetOptions& options) {
  TRY(const std::vector<std::string> topics, topics_of(client, options));
  TopicOffsets offsets;
  for (const std::string& topic : topics) {
    TRY(offsets[topic], wanted_offsets(client, options, topic));
  }
  for (const auto& [topic, partitions] : offsets) {
    TRY_VOID(client.commit(options.group, topic, partitions));
  }
  show(options, offsets);
  return kExitOk;
}

Result<int> remove(TopicClient& client, const GroupDeleteOptions& options) {
  TRY(const GroupState state, describe_group(client, options.group));
  TRY_VOID(check_no_members(state));
  if (!options.yes) {
    TRY(const TopicOffsets committed, committed_offsets(client, options.group));
    return report(
        kExitUsage,
        fmt::format("group {} ({}, {} and offsets of {}) would be deleted, and would begin "
                    "anew; give --yes to do it",
                    options.group, state.group_state, counted(state.members.size(), "member"),
                    counted(committed.size(), "topic")));
  }
  TRY_VOID(delete_group(client, options.group));
  if (options.target.json) {
    Json json;
    fmt::print("{}\n",
               json.object().field("status", "OK").field("group", options.group).end().take());
  } else {
    fmt::print("deleted group {}\n", options.group);
  }
  return kExitOk;
}

}  // namespace

int run_group_reset(const GroupResetOptions& options) {
  if (options.offset.has_value() == !options.to.empty()) {
    return report(kExitUsage,
                  "give --to start or --to end, or --offset with --topic and --partition");
  }
  if (options.partition && options.topic.empty()) {
    return report(kExitUsage, "--partition needs --topic");
  }
  if (options.offset && !options.partition) {
    return report(kExitUsage, "--offset needs --partition: offsets differ between partitions");
  }
  return run_on_server(options.target, [&](TopicClient& client) { return reset(client, options); });
}

int run_group_delete(const GroupDeleteOptions& options) {
  return run_on_server(options.target,
                       [&](TopicClient& client) { return remove(client, options); });
}

}  // namespace moraine::app
