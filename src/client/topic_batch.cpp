#include "client/topic_batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/unpacking.h"
#include "queue/kafka/key_hash.h"

namespace moraine::client {
namespace {

using kafka::Compression;

// Producers of programs in this process, apart from those of Kafka ("kafka:").
constexpr std::string_view kSourcePrefix = "embed:";
// A slice that keeps more than this times its size alive is copied.
constexpr std::size_t kHeldFactor = 4;

std::unexpected<Error> invalid(std::string text) {
  return fail(Errc::kInvalidArgument, std::move(text));
}

kafka::NullableBytes bytes_of(const std::optional<std::string_view>& text) {
  if (!text) return std::nullopt;
  return as_bytes(*text);
}
std::optional<std::string_view> text_of(const kafka::NullableBytes& bytes) {
  if (!bytes) return std::nullopt;
  return as_text(*bytes);
}

queue::PartitionIndex hashed(std::string_view key, const TopicInfo& topic) {
  const auto partitions = static_cast<std::int32_t>(topic.partitions);
  return static_cast<queue::PartitionIndex>(kafka::partition_of_key(as_bytes(key), partitions));
}

Result<queue::PartitionIndex> choose_partition(const TopicInfo& topic,
                                               std::span<const Message> messages,
                                               const MessageWriteOptions& options,
                                               std::uint32_t turn) {
  if (options.partition) {
    if (*options.partition < topic.partitions) return *options.partition;
    return invalid(fmt::format("partition {}; topic {} has {}", *options.partition, topic.name,
                               topic.partitions));
  }
  std::optional<queue::PartitionIndex> chosen;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].key) continue;
    const queue::PartitionIndex own = hashed(*messages[i].key, topic);
    if (chosen && *chosen != own) {
      return invalid(
          fmt::format("the key of message {} belongs to partition {}, an earlier one to "
                      "{}; write them separately, or name a partition",
                      i, own, *chosen));
    }
    chosen = own;
  }
  if (chosen) return *chosen;
  return options.producer.empty() ? turn % topic.partitions : hashed(options.producer, topic);
}

Result<void> check_time(std::int64_t time_ms, std::int64_t now_ms, const TopicSettings& settings) {
  if (time_ms < 0) return invalid(fmt::format("timestamp {}", time_ms));
  if (time_ms > now_ms ? time_ms - now_ms <= settings.after_max_ms
                       : now_ms - time_ms <= settings.before_max_ms) {
    return {};
  }
  return invalid(
      fmt::format("timestamp {} is too far from now, {} (message.timestamp.before.max.ms and "
                  "message.timestamp.after.max.ms of the topic)",
                  time_ms, now_ms));
}

Result<kafka::Record> record_of(const Message& message, const TopicSettings& settings,
                                std::int64_t now_ms) {
  kafka::Record record;
  record.timestamp = now_ms;
  if (message.timestamp && !settings.log_append_time) {
    record.timestamp = message.timestamp->count();
    TRY_VOID(check_time(record.timestamp, now_ms, settings));
  }
  record.key = bytes_of(message.key);
  record.value = bytes_of(message.value);
  for (const MessageHeader& header : message.headers) {
    record.headers.push_back({header.key, bytes_of(header.value)});
  }
  return record;
}

// In the codec of the topic.
Result<kafka::RecordBatch> build(kafka::BatchBuilder builder, const TopicSettings& settings) {
  auto batch = kafka::parse_batch(std::move(builder).build());
  const Compression codec = codec_of(settings.compression, Compression::kNone);
  if (batch && codec != Compression::kNone) {
    batch = kafka::recompressed(*batch, codec, settings.compression_level, kafka::kPlainBytesMax);
  }
  if (!batch) return fail(Errc::kInvalidArgument, batch.error().message);
  const std::size_t bytes_max =
      std::min<std::uint64_t>(settings.max_message_bytes, queue::kPayloadBytesMax);
  if (batch->bytes.size() <= bytes_max) return std::move(*batch);
  return invalid(fmt::format("a write of {} bytes, more than {} (max.message.bytes of the topic)",
                             batch->bytes.size(), bytes_max));
}

Result<queue::Producer> producer_of(const MessageWriteOptions& options) {
  if (options.producer.empty()) {
    if (options.number != 0) return invalid("a number without a producer");
    return queue::Producer{};
  }
  queue::Producer producer;
  producer.source_id = std::string(kSourcePrefix) + std::string(options.producer);
  if (producer.source_id.size() > queue::kSourceIdBytesMax) {
    return invalid(fmt::format("a producer's name of {} bytes, more than {}",
                               options.producer.size(),
                               queue::kSourceIdBytesMax - kSourcePrefix.size()));
  }
  producer.numbering = queue::Numbering::kSeqNo;
  producer.number = options.number;
  return producer;
}

std::unexpected<Error> corrupt(const queue::StoredEntry& entry, const kafka::Refusal& refusal) {
  return fail(Errc::kCorrupt, fmt::format("the batch at {}: {}", entry.offset, refusal.message));
}

}  // namespace

Compression codec_of(TopicCompression compression, Compression producers) {
  switch (compression) {
    case TopicCompression::kProducer: return producers;
    case TopicCompression::kNone: return Compression::kNone;
    case TopicCompression::kGzip: return Compression::kGzip;
    case TopicCompression::kSnappy: return Compression::kSnappy;
    case TopicCompression::kLz4: return Compression::kLz4;
    case TopicCompression::kZstd: return Compression::kZstd;
  }
  return producers;
}

Result<NewBatch> encode_batch(const TopicInfo& topic, std::span<const Message> messages,
                              const MessageWriteOptions& options, std::chrono::milliseconds now,
                              std::uint32_t turn) {
  if (messages.empty()) return invalid("a write without messages");
  NewBatch made;
  TRY(made.partition, choose_partition(topic, messages, options, turn));
  TRY(made.request.producer, producer_of(options));
  const TopicSettings settings = topic_settings(topic);
  kafka::BatchOptions header;
  if (settings.log_append_time) header.timestamp_type = kafka::TimestampType::kLogAppendTime;
  kafka::BatchBuilder builder(header);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    auto record = record_of(messages[i], settings, now.count());
    const Result<void> added =
        record ? builder.append(*record) : std::unexpected(std::move(record).error());
    if (!added) return std::unexpected(Error(added.error()).within(fmt::format("message {}", i)));
  }
  TRY(kafka::RecordBatch batch, build(std::move(builder), settings));
  made.request.payload = std::move(batch.bytes);
  made.request.format = queue::EntryFormat::kKafkaBatch;
  made.request.count = static_cast<std::uint32_t>(batch.header.record_count);
  made.request.max_timestamp_ms = batch.header.max_timestamp;
  return made;
}

Slice BatchReader::hold(const Slice& bytes) {
  const bool wasteful = bytes.held_bytes() / kHeldFactor > bytes.size();
  return memory_.emplace_back(wasteful ? Slice::copy_of(bytes.span()) : bytes);
}

bool BatchReader::add_message(Message message) {
  std::size_t bytes = message.key.value_or("").size() + message.value.value_or("").size();
  for (const MessageHeader& header : message.headers) {
    bytes += header.key.size() + header.value.value_or("").size();
  }
  if (!batch_.messages.empty() &&
      (batch_.messages.size() >= options_.messages_max ||
       bytes > options_.bytes_max - std::min(bytes_, options_.bytes_max))) {
    return false;
  }
  bytes_ += bytes;
  batch_.next_offset = message.offset + 1;
  batch_.messages.push_back(std::move(message));
  return true;
}

Result<bool> BatchReader::add(const queue::StoredEntry& entry) {
  TRY(const std::optional<bool> added, add(entry, UnpackLimits{}));
  return *added;
}

Result<std::optional<bool>> BatchReader::add_if_short(const queue::StoredEntry& entry) {
  return add(entry, UnpackLimits{kUnpackedInlineMax, kPlainInlineMax});
}

Result<std::optional<bool>> BatchReader::add(const queue::StoredEntry& entry, UnpackLimits limits) {
  if (entry.format == queue::EntryFormat::kKafkaBatch) return add_batch(entry, limits);
  plain_bytes_ += entry.payload.size();
  Message message;
  message.offset = entry.offset;
  message.timestamp = std::chrono::milliseconds(entry.max_timestamp_ms);
  message.value = hold(entry.payload).text();
  return add_message(std::move(message));
}

Result<std::optional<bool>> BatchReader::add_batch(const queue::StoredEntry& entry,
                                                   UnpackLimits limits) {
  auto batch = kafka::parse_batch(entry.payload);
  if (!batch) return corrupt(entry, batch.error());
  if (batch->header.control()) {
    batch_.next_offset = entry.offset + entry.count;
    return true;
  }
  const bool packed = batch->header.codec() != Compression::kNone;
  if (packed && batch->bytes.size() > limits.packed) return std::nullopt;
  if (!packed) batch->bytes = hold(batch->bytes);
  auto records = kafka::RecordReader::open(*batch, packed ? limits.plain : kafka::kPlainBytesMax);
  if (!records) {
    const bool longer = records.error().code == kafka::ErrorCode::kMessageTooLarge;
    if (longer && packed && limits.plain < kafka::kPlainBytesMax) return std::nullopt;
    return corrupt(entry, records.error());
  }
  if (packed) memory_.push_back(records->plain());
  plain_bytes_ += records->plain().size();
  kafka::Record record;
  for (;;) {
    const auto more = records->next(record);
    if (!more) return corrupt(entry, more.error());
    if (!*more) return true;
    Message message;
    message.offset = entry.offset + static_cast<std::uint64_t>(records->offset_delta());
    if (message.offset < options_.offset) continue;
    message.timestamp = std::chrono::milliseconds(record.timestamp);
    message.key = text_of(record.key);
    message.value = text_of(record.value);
    for (const kafka::RecordField& header : record.headers) {
      message.headers.push_back({header.key, text_of(header.value)});
    }
    if (!add_message(std::move(message))) return false;
  }
}

MessageBatch BatchReader::finish() && {
  batch_.next_offset = std::max(batch_.next_offset, options_.offset);
  batch_.memory = std::make_shared<const std::vector<Slice>>(std::move(memory_));
  return std::move(batch_);
}

}  // namespace moraine::client
