// How a topic is created and changed: pure decisions.
//
// Promise    Pure. A partition never moves to another tablet.
// Limits     kTopicConsumersMax; kPartitionsPerTopicMax (topics.h).
// Errors     kInvalidArgument; kNotFound: a consumer to remove that does not exist.
// Tests      topic_plan_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "scheme/topic.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kTopicConsumersMax = 3'000;
inline constexpr std::size_t kQueueTabletChannels = 3;

// A tablet of a topic: it has the partitions that follow those of the tablet before it, under the
// indexes 0, 1, ...
struct TopicTablet {
  TabletInfo info;
  std::uint32_t partitions = 0;
};

// A topic and where its partitions are. The tablets' partitions add up to those of the topic.
struct TopicRecord {
  TopicInfo info;
  std::vector<TopicTablet> tablets;
};

Result<void> check_spec(const TopicSpec& spec);
// The same for a stored topic: configs that were accepted once stay valid.
Result<void> check_stored_spec(const TopicSpec& spec);
// The topic after the change.
Result<TopicInfo> changed(TopicInfo topic, const TopicChange& change);

// How many new tablets a topic needs to have `partitions`, each filled up to
// `per_tablet`.
std::uint32_t tablets_to_add(const std::vector<TopicTablet>& tablets, std::uint32_t partitions,
                             std::uint32_t per_tablet);
// Fills the last tablet, then adds tablets `first`, `first` + 1, ... in the groups in turn.
// Requires: groups; at least the current number of partitions.
std::vector<TopicTablet> spread(std::vector<TopicTablet> tablets, std::uint32_t partitions,
                                std::uint32_t per_tablet, TabletId first,
                                std::span<const GroupId> groups);

}  // namespace moraine
