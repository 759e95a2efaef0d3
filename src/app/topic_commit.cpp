// moraine topic commit
#include <fmt/format.h>

#include "app/exit_code.h"
#include "app/table.h"
#include "app/topic_client.h"
#include "base/json.h"

namespace moraine::app {
namespace {

void show(const TopicCommitOptions& options, const PartitionOffsets& offsets) {
  if (!options.target.json) {
    Table table({"PARTITION", "COMMITTED"});
    for (const auto& [partition, offset] : offsets) {
      table.add({std::to_string(partition), std::to_string(offset)});
    }
    fmt::print("{}", table.text());
    return;
  }
  Json json;
  json.object().field("status", "OK").field("topic", options.name).field("group", options.group);
  json.key("partitions").array();
  for (const auto& [partition, offset] : offsets) {
    json.object().field("partition", partition).field("committed", offset).end();
  }
  json.end().end();
  fmt::print("{}\n", json.take());
}

Result<int> commit(TopicClient& client, const TopicCommitOptions& options) {
  TRY(const std::vector<std::int32_t> partitions,
      client.partitions(options.name, options.partition));
  TRY(PartitionOffsets offsets,
      client.offsets(options.name, partitions,
                     options.to == "start" ? kafka::kEarliestOffset : kafka::kLatestOffset));
  if (options.offset) {
    const std::int64_t end = offsets.begin()->second;
    if (*options.offset > end) {
      return fail(Errc::kNotFound,
                  fmt::format("{}, partition {} has no offset {}: it ends at {}", options.name,
                              *options.partition, *options.offset, end));
    }
    offsets.begin()->second = *options.offset;
  }
  TRY_VOID(client.commit(options.group, options.name, offsets));
  show(options, offsets);
  return kExitOk;
}

}  // namespace

int run_topic_commit(const TopicCommitOptions& options) {
  if (options.offset.has_value() == !options.to.empty()) {
    return report(kExitUsage, "give --offset with --partition, or --to start or --to end");
  }
  if (options.offset && !options.partition) {
    return report(kExitUsage, "--offset needs --partition: offsets differ between partitions");
  }
  return run_on_server(options.target,
                       [&](TopicClient& client) { return commit(client, options); });
}

}  // namespace moraine::app
