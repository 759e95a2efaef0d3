// ProducerIds: allocates the ids of idempotent producers.
//
// Promise    An id is allocated once, over all restarts. 0 is never allocated: some clients send it
//            for "none".
// Threading  DurableProducerIds: the control lane. LaneProducerIds: its lane.
// Limits     An id past 2^63 - 1 would be needed after 300 years of a billion a second.
// Errors     kNotHere: the tablet is not running here; retry. kCorrupt.
// Tests      producer_ids_test.cpp, producer_ids_fuzz.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "io/event.h"
#include "io/task.h"
#include "keyvalue/key_value.h"

namespace moraine::kafka {

inline constexpr std::int64_t kProducerIdsPerRange = 1'000;

class ProducerIds {
 public:
  virtual ~ProducerIds() = default;
  virtual Task<Result<std::int64_t>> next() = 0;
};

// Allocates ids in ranges from a durable counter: one write for kProducerIdsPerRange ids.
class DurableProducerIds final : public ProducerIds {
 public:
  // `tablet` returns null while the tablet is not running.
  DurableProducerIds(Executor& executor, std::function<std::shared_ptr<KeyValue>()> tablet)
      : tablet_(std::move(tablet)), range_ended_(executor) {}

  Task<Result<std::int64_t>> next() override;

 private:
  Task<Result<void>> allocate_range();

  const std::function<std::shared_ptr<KeyValue>()> tablet_;
  std::int64_t next_ = 0;
  std::int64_t end_ = 0;  // Of the range; next_ == end_: it is used up.
  bool taking_ = false;
  Event range_ended_;  // The range is allocated, or that failed.
};

// The ids for the connections of another lane.
class LaneProducerIds final : public ProducerIds {
 public:
  // `ids` is used on `home`; all three outlive every call.
  LaneProducerIds(ProducerIds& ids, Executor& home, Executor& lane)
      : ids_(ids), home_(home), lane_(lane) {}
  Task<Result<std::int64_t>> next() override;

 private:
  ProducerIds& ids_;
  Executor& home_;
  Executor& lane_;
  std::int64_t own_next_ = 0;  // By a seeded bug.
};

// The stored counter: the first id that was never allocated.
Slice encode_producer_id_counter(std::int64_t next);
Result<std::int64_t> decode_producer_id_counter(const Slice& bytes);

}  // namespace moraine::kafka
