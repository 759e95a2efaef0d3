#include "gateway/kafka/server/topic_batches.h"

#include <fmt/format.h>

#include <limits>

#include "client/topic_batch.h"
#include "queue/kafka/records.h"

namespace moraine::kafka {
namespace {

constexpr std::int64_t kNoTimestamp = -1;
constexpr std::int64_t kTimeMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kTimeMax = std::numeric_limits<std::int64_t>::max();

std::unexpected<BatchRefusal> refused(Refusal refusal) {
  return std::unexpected(BatchRefusal{std::move(refusal), {}});
}

// Both are at least 0.
std::int64_t later(std::int64_t now_ms, std::int64_t by) {
  return by > kTimeMax - now_ms ? kTimeMax : now_ms + by;
}
std::int64_t earlier(std::int64_t now_ms, std::int64_t by) {
  return by == kTimeMax ? kTimeMin : now_ms - by;
}

}  // namespace

std::expected<void, BatchRefusal> check_times(const RecordBatch& batch,
                                              const TopicSettings& settings, std::int64_t now_ms,
                                              std::size_t named_max) {
  if (settings.log_append_time || !settings.bounds_time()) return {};
  const std::int64_t from = earlier(now_ms, settings.before_max_ms);
  const std::int64_t to = later(now_ms, settings.after_max_ms);
  auto reader = RecordReader::open(batch, kCheckedBytesMax);
  if (!reader) return refused(std::move(reader.error()));
  BatchRefusal refusal;
  bool in_bounds = true;
  Record record;
  while (true) {
    const auto more = reader->next(record);
    if (!more) return refused(more.error());
    if (!*more) break;
    if (record.timestamp == kNoTimestamp) continue;
    if (record.timestamp >= from && record.timestamp <= to) continue;
    std::string why = fmt::format("time {} is not from {} to {}", record.timestamp, from, to);
    if (in_bounds) {
      in_bounds = false;
      refusal.refusal = {ErrorCode::kInvalidTimestamp,
                         fmt::format("record {}: {} (message.timestamp.before.max.ms and "
                                     "message.timestamp.after.max.ms of the topic)",
                                     reader->offset_delta(), why)};
    }
    if (refusal.records.size() >= named_max) break;
    refusal.records.push_back({reader->offset_delta(), std::move(why)});
  }
  if (in_bounds) return {};
  return std::unexpected(std::move(refusal));
}

bool needs_other_codec(const RecordBatch& batch, const TopicSettings& settings) {
  return client::codec_of(settings.compression, batch.header.codec()) != batch.header.codec();
}

Checked<RecordBatch> in_topic_codec(const RecordBatch& batch, const TopicSettings& settings) {
  if (!needs_other_codec(batch, settings)) return batch;
  auto made = recompressed(batch, client::codec_of(settings.compression, batch.header.codec()),
                           settings.compression_level, kCheckedBytesMax);
  if (made && made->bytes.size() > settings.max_message_bytes) {
    return refuse(ErrorCode::kMessageTooLarge,
                  fmt::format("a batch of {} bytes in the topic's codec {}, over the maximum {}",
                              made->bytes.size(), to_string(made->header.codec()),
                              settings.max_message_bytes));
  }
  return made;
}

}  // namespace moraine::kafka
