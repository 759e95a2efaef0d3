// Applies the configs of a topic to a batch before it is appended: size, codec, timestamps of its
// records.
//
// Promise    Pure. With the default configs a batch is returned unchanged.
// Limits     kCheckedBytesMax a batch without compression; kRecordErrorsMax records named in the
//            refusals of one request.
// Tests      produce_test.cpp.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "gateway/kafka/protocol/data_messages.h"
#include "queue/kafka/record_batch.h"
#include "scheme/topic_config.h"

namespace moraine::kafka {

// Uncompressed records of one batch; they are held in memory.
inline constexpr std::size_t kCheckedBytesMax = std::size_t{128} << 20;
inline constexpr std::size_t kRecordErrorsMax = 100;

// A batch that is refused because of some of its records names them.
struct BatchRefusal {
  Refusal refusal;
  std::vector<ProduceResponse::RecordError> records;
};

// message.timestamp.*: kInvalidTimestamp, with the first `named_max` records that are too early or
// too late. Requires: check_records() holds.
std::expected<void, BatchRefusal> check_times(const RecordBatch& batch,
                                              const TopicSettings& settings, std::int64_t now_ms,
                                              std::size_t named_max);

// compression.type: whether the batch has to be recompressed, and the recompressed batch.
// kMessageTooLarge: longer than max.message.bytes then.
bool needs_other_codec(const RecordBatch& batch, const TopicSettings& settings);
Checked<RecordBatch> in_topic_codec(const RecordBatch& batch, const TopicSettings& settings);

}  // namespace moraine::kafka
