// moraine topic list, describe
#include <fmt/format.h>

#include "app/exit_code.h"
#include "app/table.h"
#include "app/topic_client.h"
#include "base/json.h"

namespace moraine::app {
namespace {

using TopicOffsets = std::map<std::string, PartitionOffsets>;

struct ListedTopic {
  std::string name;
  std::int32_t partitions = 0;
  std::int64_t messages = 0;
  std::uint64_t unavailable = 0;  // Partitions whose number of messages is not known.
};

ListedTopic summed(const std::string& name, std::int32_t partitions, const TopicOffsets& starts,
                   const TopicOffsets& ends) {
  ListedTopic topic{name, partitions, 0, 0};
  const auto start = starts.find(name);
  const auto end = ends.find(name);
  for (std::int32_t i = 0; i < partitions; ++i) {
    if (start == starts.end() || end == ends.end() || !start->second.contains(i) ||
        !end->second.contains(i)) {
      ++topic.unavailable;
      continue;
    }
    topic.messages += end->second.at(i) - start->second.at(i);
  }
  return topic;
}

void say_unavailable() {
  fmt::print(
      stderr,
      "moraine: partitions that are not available are being started or cannot start: see the "
      "server's log for the reason\n");
}

void show_list_json(const std::vector<ListedTopic>& topics) {
  Json json;
  json.object().field("status", "OK").key("topics").array();
  for (const ListedTopic& topic : topics) {
    json.object().field("name", topic.name).field("partitions", topic.partitions);
    json.field("messages", topic.messages).field("complete", topic.unavailable == 0).end();
  }
  json.end().end();
  fmt::print("{}\n", json.take());
}

void show_list(const std::vector<ListedTopic>& topics) {
  Table table({"TOPIC", "PARTITIONS", "MESSAGES"});
  bool complete = true;
  for (const ListedTopic& topic : topics) {
    std::string messages = std::to_string(topic.messages);
    if (topic.unavailable > 0) {
      complete = false;
      messages += fmt::format(", {} not available", counted(topic.unavailable, "partition"));
    }
    table.add({topic.name, std::to_string(topic.partitions), messages});
  }
  if (!topics.empty()) fmt::print("{}", table.text());
  fmt::print("{}\n", counted(topics.size(), "topic"));
  if (!complete) say_unavailable();
}

Result<int> list(TopicClient& client, bool as_json) {
  TRY(const auto counts, client.partition_counts());
  TRY(const TopicOffsets starts, client.offsets(counts, kafka::kEarliestOffset));
  TRY(const TopicOffsets ends, client.offsets(counts, kafka::kLatestOffset));
  std::vector<ListedTopic> topics;
  for (const auto& [name, count] : counts) topics.push_back(summed(name, count, starts, ends));
  as_json ? show_list_json(topics) : show_list(topics);
  return kExitOk;
}

struct Described {
  std::string name;
  std::vector<std::int32_t> partitions;
  PartitionOffsets starts;  // Here and in `ends`: of partitions that are available.
  PartitionOffsets ends;
  std::map<std::string, std::string> configs;
  std::map<std::string, PartitionOffsets> groups;  // Committed offsets.

  bool available(std::int32_t partition) const {
    return starts.contains(partition) && ends.contains(partition);
  }
};

std::int64_t lag_of(const Described& topic, std::int32_t partition, std::int64_t committed) {
  return std::max<std::int64_t>(0, topic.ends.at(partition) - committed);
}

Result<Described> read_description(TopicClient& client, const std::string& name) {
  Described topic;
  topic.name = name;
  TRY(topic.partitions, client.partitions(name, std::nullopt));
  const std::map<std::string, std::int32_t> counts{
      {name, static_cast<std::int32_t>(topic.partitions.size())}};
  TRY(TopicOffsets starts, client.offsets(counts, kafka::kEarliestOffset));
  TRY(TopicOffsets ends, client.offsets(counts, kafka::kLatestOffset));
  topic.starts = std::move(starts[name]);
  topic.ends = std::move(ends[name]);
  std::vector<std::int32_t> available;
  for (const std::int32_t partition : topic.partitions) {
    if (topic.available(partition)) available.push_back(partition);
  }
  TRY(topic.configs, client.configs(name));
  TRY(const std::vector<std::string> groups, client.groups());
  for (const std::string& group : groups) {
    if (available.empty()) break;
    TRY(PartitionOffsets committed, client.committed(group, name, available));
    std::erase_if(committed, [&](const auto& one) { return !topic.available(one.first); });
    if (!committed.empty()) topic.groups[group] = std::move(committed);
  }
  return topic;
}

void describe_json(const Described& topic) {
  Json json;
  json.object().field("status", "OK").field("name", topic.name).key("partitions").array();
  for (const std::int32_t partition : topic.partitions) {
    json.object().field("partition", partition);
    if (!topic.available(partition)) {
      json.field("available", false).end();
      continue;
    }
    const std::int64_t start = topic.starts.at(partition);
    const std::int64_t end = topic.ends.at(partition);
    json.field("start", start).field("end", end).field("messages", end - start).end();
  }
  json.end().key("configs").object();
  for (const auto& [name, value] : topic.configs) json.field(name, value);
  json.end().key("groups").array();
  for (const auto& [group, offsets] : topic.groups) {
    json.object().field("group", group).key("partitions").array();
    for (const auto& [partition, committed] : offsets) {
      json.object().field("partition", partition).field("committed", committed);
      json.field("lag", lag_of(topic, partition, committed)).end();
    }
    json.end().end();
  }
  json.end().end();
  fmt::print("{}\n", json.take());
}

void describe_text(const Described& topic) {
  fmt::print("topic {}\n\n", topic.name);
  Table partitions({"PARTITION", "START", "END", "MESSAGES"});
  bool complete = true;
  for (const std::int32_t partition : topic.partitions) {
    if (!topic.available(partition)) {
      complete = false;
      partitions.add({std::to_string(partition), "-", "-", "not available"});
      continue;
    }
    const std::int64_t start = topic.starts.at(partition);
    const std::int64_t end = topic.ends.at(partition);
    partitions.add({std::to_string(partition), std::to_string(start), std::to_string(end),
                    std::to_string(end - start)});
  }
  fmt::print("{}", partitions.text());
  if (!complete) say_unavailable();
  if (!topic.configs.empty()) {
    Table configs({"CONFIG", "VALUE"});
    for (const auto& [name, value] : topic.configs) configs.add({name, value});
    fmt::print("\n{}", configs.text());
  }
  if (topic.groups.empty()) return;
  Table groups({"GROUP", "PARTITION", "COMMITTED", "LAG"});
  for (const auto& [group, offsets] : topic.groups) {
    for (const auto& [partition, committed] : offsets) {
      groups.add({group, std::to_string(partition), std::to_string(committed),
                  std::to_string(lag_of(topic, partition, committed))});
    }
  }
  fmt::print("\n{}", groups.text());
}

}  // namespace

int run_topic_list(const TopicListOptions& options) {
  return run_on_server(options.target,
                       [&](TopicClient& client) { return list(client, options.target.json); });
}

int run_topic_describe(const TopicDescribeOptions& options) {
  return run_on_server(options.target, [&](TopicClient& client) -> Result<int> {
    TRY(const Described topic, read_description(client, options.name));
    options.target.json ? describe_json(topic) : describe_text(topic);
    return kExitOk;
  });
}

}  // namespace moraine::app
