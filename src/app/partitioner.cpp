#include "app/partitioner.h"

#include "queue/kafka/key_hash.h"

namespace moraine::app {

std::int32_t Partitioner::choose(const std::optional<ByteSpan>& key) {
  if (fixed_) return *fixed_;
  if (key) return kafka::partition_of_key(*key, count_);
  const std::int32_t chosen = next_;
  next_ = (next_ + 1) % count_;
  return chosen;
}

}  // namespace moraine::app
