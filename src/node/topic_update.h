// TopicUpdate: what another lane has to know of the topics of a node.
//
// Threading  Immutable once it is posted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "client/lane_partition.h"
#include "client/topics.h"

namespace moraine {

// A topic is new or has changed. Its partitions are those of its tablets, in order.
struct TopicChanged {
  TopicPtr topic;
  std::vector<std::uint32_t> partitions_of_tablets;
};

struct TopicRemoved {
  TopicId topic{};
};

// A tablet of a topic has started or ended, got a partition, has failed to start, or has another
// place.
struct TopicTabletChanged {
  TopicId topic{};
  std::size_t tablet = 0;                 // Index.
  std::vector<HomePartition> partitions;  // Those that run.
  std::optional<Error> start_error;
  TabletId id;
  std::optional<NodeId> elsewhere = std::nullopt;  // The other node that runs it.
};

using TopicUpdate = std::variant<TopicChanged, TopicRemoved, TopicTabletChanged>;
using TopicUpdatePtr = std::shared_ptr<const TopicUpdate>;

}  // namespace moraine
