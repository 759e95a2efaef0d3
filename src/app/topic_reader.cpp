#include "app/topic_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/kafka_error.h"

namespace moraine::app {
namespace {

using kafka::ErrorCode;

std::unexpected<Error> broken(const std::string& topic, std::int32_t partition, std::int64_t offset,
                              std::string_view why) {
  return fail(Errc::kCorrupt,
              fmt::format("{}, partition {}, offset {}: {}", topic, partition, offset, why));
}

std::unexpected<Error> broken(const std::string& topic, std::int32_t partition, std::int64_t offset,
                              const kafka::Refusal& refusal) {
  return broken(topic, partition, offset,
                fmt::format("{}: {}", to_string(refusal.code), refusal.message));
}

}  // namespace

bool TopicReader::at_end(std::int32_t partition) const {
  return ends_ && positions_.at(partition) >= ends_->at(partition);
}

bool TopicReader::done() const {
  return stopped_ ||
         std::ranges::all_of(positions_, [this](const auto& one) { return at_end(one.first); });
}

kafka::FetchRequest TopicReader::next_request(Duration wait) {
  kafka::FetchRequest request;
  request.max_wait_ms = static_cast<std::int32_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
  request.min_bytes = 1;
  request.max_bytes = kFetchAnswerBytes;
  kafka::FetchRequest::Topic& topic = request.topics.emplace_back();
  topic.name = topic_;
  for (const auto& [partition, offset] : positions_) {
    if (at_end(partition)) continue;
    kafka::FetchRequest::Partition& asked = topic.partitions.emplace_back();
    asked.partition = partition;
    asked.fetch_offset = offset;
    asked.partition_max_bytes = kFetchPartitionBytes;
  }
  // An answer may be full before all partitions had their turn.
  const std::size_t first = turn_++ % std::max<std::size_t>(topic.partitions.size(), 1);
  std::ranges::rotate(topic.partitions,
                      topic.partitions.begin() + static_cast<std::ptrdiff_t>(first));
  return request;
}

Result<bool> TopicReader::poll(Duration wait, const Take& take) {
  TRY(const kafka::FetchResponse response, client_.kafka().call(next_request(wait)));
  TRY_VOID(check_answer(response.error_code, topic_));
  bool moved = false;
  for (const auto& topic : response.topics) {
    for (const auto& partition : topic.partitions) {
      if (stopped_) return moved;
      TRY(const bool here, take_partition(partition, take));
      moved |= here;
    }
  }
  return moved;
}

Result<bool> TopicReader::take_partition(const kafka::FetchResponse::Partition& answer,
                                         const Take& take) {
  const std::int32_t partition = answer.partition_index;
  const auto position = positions_.find(partition);
  if (position == positions_.end()) return false;
  if (answer.error_code == ErrorCode::kOffsetOutOfRange) {
    TRY_VOID(find_anew(partition));
    return true;
  }
  if (is_passing(answer.error_code)) return false;
  if (answer.error_code == ErrorCode::kCorruptMessage) {
    return fail(Errc::kCorrupt,
                fmt::format("{}, partition {}: offset {} cannot be read: its blob is damaged; the "
                            "server's log says where --from can continue",
                            topic_, partition, position->second));
  }
  TRY_VOID(check_answer(answer.error_code, fmt::format("{}, partition {}", topic_, partition)));
  const std::int64_t before = position->second;
  const auto batches = kafka::split_batches(answer.records.joined(), kafka::CutBatch::kDropped);
  if (!batches) return broken(topic_, partition, before, batches.error());
  for (const kafka::RecordBatch& batch : *batches) {
    if (stopped_) break;
    TRY_VOID(take_batch(partition, batch, take));
  }
  return position->second != before;
}

Result<void> TopicReader::take_batch(std::int32_t partition, const kafka::RecordBatch& batch,
                                     const Take& take) {
  std::int64_t& position = positions_.at(partition);
  const std::int64_t base = batch.header.base_offset;
  if (!kafka::crc_holds(batch)) return broken(topic_, partition, base, "a checksum is wrong");
  if (!batch.header.control()) {
    auto reader = kafka::RecordReader::open(batch);
    if (!reader) return broken(topic_, partition, base, reader.error());
    kafka::Record record;
    while (true) {
      const auto more = reader->next(record);
      if (!more) return broken(topic_, partition, base, more.error());
      if (!*more) break;
      // A batch may begin before the position, and reach past the end.
      if (record.offset < position) continue;
      if (at_end(partition)) return {};
      position = record.offset + 1;
      if (!take(partition, record)) {
        stopped_ = true;
        return {};
      }
    }
  }
  position = std::max(position, batch.header.last_offset() + 1);
  return {};
}

Result<void> TopicReader::find_anew(std::int32_t partition) {
  std::int64_t& position = positions_.at(partition);
  TRY(const PartitionOffsets starts, client_.offsets(topic_, {partition}, kafka::kEarliestOffset));
  const std::int64_t start = starts.at(partition);
  if (position >= start) {
    return fail(Errc::kNotFound,
                fmt::format("{}, partition {} ends before offset {}", topic_, partition, position));
  }
  fmt::print(stderr, "moraine: {}, partition {}: {} to {} are removed; reading continues at {}\n",
             topic_, partition, position, start - 1, start);
  position = start;
  return {};
}

}  // namespace moraine::app
