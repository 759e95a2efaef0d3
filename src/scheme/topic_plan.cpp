#include "scheme/topic_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/invariant.h"
#include "scheme/topic_config.h"

namespace moraine {
namespace {

Result<void> check_partitions(std::uint32_t partitions) {
  if (partitions >= 1 && partitions <= kPartitionsPerTopicMax) return {};
  return fail(Errc::kInvalidArgument, fmt::format("a topic has 1 to {} partitions, not {}",
                                                  kPartitionsPerTopicMax, partitions));
}

Result<void> check_consumer(const std::string& name) {
  if (!name.empty() && name.size() <= queue::kConsumerNameBytesMax) return {};
  return fail(Errc::kInvalidArgument, fmt::format("a consumer name has 1 to {} bytes, not {}",
                                                  queue::kConsumerNameBytesMax, name.size()));
}

Result<void> check_consumer_count(std::size_t count) {
  if (count <= kTopicConsumersMax) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} consumers, more than {}", count, kTopicConsumersMax));
}

std::uint32_t held(const std::vector<TopicTablet>& tablets) {
  std::uint32_t partitions = 0;
  for (const TopicTablet& tablet : tablets) partitions += tablet.partitions;
  return partitions;
}

// How many more partitions fit into the last tablet.
std::uint32_t room_in_last(const std::vector<TopicTablet>& tablets, std::uint32_t per_tablet) {
  if (tablets.empty()) return 0;
  const std::uint32_t last = tablets.back().partitions;
  return last < per_tablet ? per_tablet - last : 0;
}

using CheckConfig = Result<void> (*)(const std::string& name, const std::string& value);

Result<void> check_spec_with(const TopicSpec& spec, CheckConfig check_config) {
  TRY_VOID(check_partitions(spec.partitions));
  for (const auto& [name, value] : spec.config) {
    TRY_VOID(check_config(name, value));
  }
  for (const auto& [name, consumer] : spec.consumers) {
    TRY_VOID(check_consumer(name));
  }
  return check_consumer_count(spec.consumers.size());
}

}  // namespace

Result<void> check_spec(const TopicSpec& spec) {
  return check_spec_with(spec, check_topic_config);
}

Result<void> check_stored_spec(const TopicSpec& spec) {
  return check_spec_with(spec, check_stored_config);
}

Result<TopicInfo> changed(TopicInfo topic, const TopicChange& change) {
  if (change.partitions) {
    TRY_VOID(check_partitions(*change.partitions));
    if (*change.partitions <= topic.partitions) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("the topic has {} partitions; {} are not more", topic.partitions,
                              *change.partitions));
    }
    topic.partitions = *change.partitions;
  }
  if (change.replace_config) topic.config.clear();
  for (const auto& [name, value] : change.config) {
    if (value) {
      TRY_VOID(check_topic_config(name, *value));
      topic.config[name] = *value;
    } else if (!find_topic_config(name)) {
      return fail(Errc::kInvalidArgument, fmt::format("no config '{}'", name));
    } else {
      topic.config.erase(name);
    }
  }
  for (const auto& [name, consumer] : change.consumers) {
    if (consumer) {
      TRY_VOID(check_consumer(name));
      topic.consumers[name] = *consumer;
    } else if (topic.consumers.erase(name) == 0) {
      return fail(Errc::kNotFound, fmt::format("no consumer '{}'", name));
    }
  }
  TRY_VOID(check_consumer_count(topic.consumers.size()));
  return topic;
}

std::uint32_t tablets_to_add(const std::vector<TopicTablet>& tablets, std::uint32_t partitions,
                             std::uint32_t per_tablet) {
  const std::uint32_t now = held(tablets) + room_in_last(tablets, per_tablet);
  if (partitions <= now) return 0;
  return (partitions - now + per_tablet - 1) / per_tablet;
}

std::vector<TopicTablet> spread(std::vector<TopicTablet> tablets, std::uint32_t partitions,
                                std::uint32_t per_tablet, TabletId first,
                                std::span<const GroupId> groups) {
  INVARIANT(!groups.empty(), "no groups for tablet {}", first.value);
  const std::uint32_t now = held(tablets);
  INVARIANT(partitions >= now, "{} partitions would become {}", now, partitions);
  std::uint32_t left = partitions - now;
  if (!tablets.empty()) {
    const std::uint32_t filled = std::min(left, room_in_last(tablets, per_tablet));
    tablets.back().partitions += filled;
    left -= filled;
  }
  for (TabletId id = first; left > 0; ++id.value) {
    TopicTablet tablet;
    tablet.info = TabletInfo::simple(id, groups[id.value % groups.size()], kQueueTabletChannels);
    tablet.partitions = std::min(left, per_tablet);
    left -= tablet.partitions;
    tablets.push_back(std::move(tablet));
  }
  return tablets;
}

}  // namespace moraine
