#include "sim/node/kafka_stage.h"

#include <fmt/format.h>

#include "base/invariant.h"
#include "queue/kafka/records.h"

namespace moraine::sim {

using queue::Offset;

namespace {

constexpr std::int32_t kFetchBytes = 1 << 20;
constexpr std::int64_t kRecordTime = 1'767'225'600'000;

// The value that all records of the batch have; nullopt: they differ, or cannot be read.
std::optional<Slice> common_value(const kafka::RecordBatch& batch) {
  auto reader = kafka::RecordReader::open(batch);
  if (!reader) return std::nullopt;
  std::optional<Slice> value;
  kafka::Record record;
  for (;;) {
    const auto more = reader->next(record);
    if (!more || (*more && !record.value)) return std::nullopt;
    if (!*more) return value;
    if (value && !equal(value->span(), *record.value)) return std::nullopt;
    if (!value) value = Slice::copy_of(*record.value);
  }
}

}  // namespace

Slice batch_of(const MessageName& name, const SentMessage& message, std::int64_t producer_id,
               std::int16_t epoch) {
  kafka::BatchOptions options;
  options.producer_id = producer_id;
  options.producer_epoch = epoch;
  if (producer_id >= 0) options.base_sequence = static_cast<std::int32_t>(message.number);
  kafka::BatchBuilder builder(options);
  const std::string payload = payload_of(name, message.size);
  for (std::uint32_t i = 0; i < message.count; ++i) {
    kafka::Record record;
    record.timestamp = kRecordTime;
    record.value = as_bytes(payload);
    const auto added = builder.append(record);
    INVARIANT(added, "{}", added.error().message());
  }
  return std::move(builder).build();
}

Offset take_records(KafkaStage& stage, const PartitionName& partition,
                    const kafka::Records& records, Offset from) {
  const auto broken = [&](const std::string& what) {
    stage.history.fail(fmt::format("topic {} partition {} from {}: {}", partition.tablet,
                                   partition.index, from, what));
    return from;
  };
  if (records.size() == 0) return from;
  const auto batches = kafka::split_batches(records.joined(), kafka::CutBatch::kDropped);
  if (!batches) return broken(batches.error().message);
  Offset at = from;
  for (const kafka::RecordBatch& batch : *batches) {
    const auto base = static_cast<Offset>(batch.header.base_offset);
    const Offset end = base + static_cast<Offset>(batch.header.record_count);
    if (!kafka::crc_holds(batch)) return broken(fmt::format("the batch at {} is corrupt", base));
    if (end <= at) continue;
    if (base > at) return broken(fmt::format("{} follows {}", base, at));
    const auto value = common_value(batch);
    if (!value) return broken(fmt::format("the batch at {} has other records", base));
    queue::StoredEntry entry;
    entry.offset = base;
    entry.count = static_cast<std::uint32_t>(batch.header.record_count);
    entry.number = static_cast<std::uint64_t>(batch.header.base_sequence);
    entry.payload = *value;
    stage.topics.seen(partition, entry);
    at = end;
  }
  return at;
}

kafka::FetchRequest fetch_request(const std::map<PartitionName, Offset>& positions,
                                  std::int32_t wait_ms) {
  kafka::FetchRequest request;
  request.max_wait_ms = wait_ms;
  request.min_bytes = 1;
  request.max_bytes = kFetchBytes;
  for (const auto& [name, offset] : positions) {
    const std::string topic = KafkaStage::topic_name(name.tablet);
    if (request.topics.empty() || request.topics.back().name != topic) {
      request.topics.push_back({topic, {}, {}});
    }
    kafka::FetchRequest::Partition partition;
    partition.partition = static_cast<std::int32_t>(name.index);
    partition.fetch_offset = static_cast<std::int64_t>(offset);
    partition.partition_max_bytes = kFetchBytes;
    request.topics.back().partitions.push_back(partition);
  }
  return request;
}

}  // namespace moraine::sim
