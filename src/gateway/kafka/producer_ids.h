// ProducerIds: the ids that idempotent producers are told apart by.
//
// Promise    An id is given once, over all restarts. 0 is never given: some clients send it for
//            "none".
// Threading  The node's executor.
// Limits     An id past 2^63 - 1 would be needed after 300 years of a billion a second.
// Errors     kUnavailable: the tablet is not here now; ask again. kCorrupt.
// Tests      producer_ids_test.cpp, producer_ids_fuzz.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/sync.h"
#include "io/task.h"
#include "keyvalue/key_value.h"

namespace moraine::kafka {

inline constexpr std::int64_t kProducerIdsPerBlock = 1'000;

class ProducerIds {
 public:
  virtual ~ProducerIds() = default;
  virtual Task<Result<std::int64_t>> next() = 0;
};

// Takes ids in blocks out of a durable counter: one write for kProducerIdsPerBlock ids.
class DurableProducerIds final : public ProducerIds {
 public:
  // `tablet` gives null while the tablet is not here.
  explicit DurableProducerIds(std::function<std::shared_ptr<KeyValue>()> tablet)
      : tablet_(std::move(tablet)) {}

  Task<Result<std::int64_t>> next() override;

 private:
  Task<Result<void>> take_block();

  const std::function<std::shared_ptr<KeyValue>()> tablet_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;  // Of the block; next_ == end_: it is used up.
  bool taking_ = false;
  std::vector<std::shared_ptr<OneShot<bool>>> waiting_;  // For the block that is being taken.
};

// The counter as it is stored: the first id that was never given out.
Slice encode_producer_id_counter(std::int64_t next);
Result<std::int64_t> decode_producer_id_counter(const Slice& bytes);

}  // namespace moraine::kafka
