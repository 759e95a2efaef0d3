// Partitioner: which partition a message goes to.
//
// Promise    Messages with the same key go to the same partition, the one that Kafka's own clients
//            choose. Messages without a key are distributed in turn.
// Threading  A value.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace moraine::app {

class Partitioner {
 public:
  // `fixed`: where everything goes. `first`: where the first message without a key goes.
  // Requires: count > 0, first < count.
  Partitioner(std::int32_t count, std::optional<std::int32_t> fixed, std::int32_t first)
      : count_(count), fixed_(fixed), next_(first) {}

  std::int32_t choose(const std::optional<ByteSpan>& key);

 private:
  std::int32_t count_;
  std::optional<std::int32_t> fixed_;
  std::int32_t next_;
};

}  // namespace moraine::app
