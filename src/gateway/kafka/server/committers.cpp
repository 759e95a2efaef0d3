#include "gateway/kafka/server/committers.h"

namespace moraine::kafka {

Task<Committers> find_committers(ServerContext& server, const std::set<std::string_view>& asked) {
  Committers found;
  for (const TopicPtr& topic : server.topics.list()) {
    for (std::uint32_t i = 0; i < topic->partitions; ++i) {
      const FoundPartition at = find_partition(server, topic, static_cast<std::int32_t>(i));
      if (!at.partition) {
        found.complete = false;
        continue;
      }
      for (const queue::ConsumerOffset& offset : at.partition->all_committed()) {
        if (asked.contains(offset.consumer)) found.groups.insert(offset.consumer);
      }
    }
    co_await yield(server.executor);
  }
  co_return found;
}

}  // namespace moraine::kafka
