#include "app/topic_producer.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "app/kafka_error.h"

namespace moraine::app {
namespace {

using kafka::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr std::int16_t kAllAcks = -1;
constexpr Duration kRetryPause = 100ms;
// Lengths, deltas and the like of one record, at most.
constexpr std::size_t kRecordOverhead = 64;

std::size_t bytes_of(const kafka::Record& record) {
  return kRecordOverhead + (record.key ? record.key->size() : 0) +
         (record.value ? record.value->size() : 0);
}

// Whether it was written is unknown; a batch with a sequence may be sent again.
bool is_unknown(ErrorCode code) {
  return code == ErrorCode::kRequestTimedOut || code == ErrorCode::kNotEnoughReplicasAfterAppend;
}

}  // namespace

Result<void> TopicProducer::start() {
  if (!options_.idempotent) return {};
  kafka::InitProducerIdRequest request;
  request.transaction_timeout_ms = client_.timeout_ms();
  const auto deadline = Clock::now() + client_.kafka().timeout();
  while (true) {
    TRY(const kafka::InitProducerIdResponse response, client_.kafka().call(request));
    if (response.error_code == ErrorCode::kNone) {
      producer_id_ = response.producer_id;
      producer_epoch_ = response.producer_epoch;
      return {};
    }
    if (!is_passing(response.error_code) || Clock::now() >= deadline) {
      return std::unexpected(kafka_error(response.error_code, "producer id"));
    }
    std::this_thread::sleep_for(kRetryPause);
  }
}

kafka::BatchOptions TopicProducer::options_of(std::int32_t partition) const {
  kafka::BatchOptions options;
  options.codec = options_.codec;
  options.producer_id = producer_id_;
  options.producer_epoch = producer_epoch_;
  if (options_.idempotent) {
    const auto sequence = sequences_.find(partition);
    options.base_sequence = sequence == sequences_.end() ? 0 : sequence->second;
  }
  return options;
}

Result<void> TopicProducer::add(std::int32_t partition, const kafka::Record& record) {
  const std::size_t size = bytes_of(record);
  const auto waiting = pending_.find(partition);
  const bool batch_full =
      waiting != pending_.end() && waiting->second.plain_bytes() + size > options_.batch_bytes;
  if (batch_full || (!pending_.empty() && pending_bytes_ + size > kPendingBytesMax)) {
    TRY_VOID(flush());
  }
  auto [found, fresh] = pending_.try_emplace(partition, options_of(partition));
  TRY_VOID(found->second.append(record));
  pending_bytes_ += size;
  return {};
}

Result<void> TopicProducer::flush() {
  std::vector<Batch> batches;
  for (auto& [partition, builder] : pending_) {
    Batch batch;
    batch.partition = partition;
    batch.count = builder.record_count();
    batch.plain_bytes = builder.plain_bytes();
    batch.bytes = std::move(builder).build();
    if (options_.idempotent) {
      std::int32_t& sequence = sequences_[partition];
      sequence = kafka::sequence_after(sequence, batch.count);
    }
    batches.push_back(std::move(batch));
  }
  pending_.clear();
  pending_bytes_ = 0;
  if (batches.empty()) return {};
  return send(std::move(batches));
}

Result<void> TopicProducer::send(std::vector<Batch> batches) {
  const auto deadline = Clock::now() + client_.kafka().timeout();
  while (true) {
    const Result<void> sent = attempt(batches);
    if (sent) return {};
    const bool lost = sent.error().code == Errc::kUnavailable;
    const bool again = sent.error().code == Errc::kOverloaded || (lost && options_.idempotent);
    if (!again || Clock::now() >= deadline) return sent;
    std::this_thread::sleep_for(kRetryPause);
    // If this fails too, the next attempt fails.
    if (lost) (void)client_.reconnect();
  }
}

Result<void> TopicProducer::attempt(std::vector<Batch>& batches) {
  kafka::ProduceRequest request;
  request.acks = kAllAcks;
  request.timeout_ms = client_.timeout_ms();
  kafka::ProduceRequest::Topic& topic = request.topics.emplace_back();
  topic.name = topic_;
  for (const Batch& batch : batches) {
    topic.partitions.push_back({batch.partition, kafka::Records{{batch.bytes}}});
  }
  TRY(const kafka::ProduceResponse response, client_.kafka().call(request));
  Result<void> first_error;
  for (const auto& answered : response.topics) {
    for (const auto& partition : answered.partitions) {
      auto taken = take_answer(partition, batches);
      const bool worse = !taken && taken.error().code != Errc::kOverloaded;
      if (!taken && (first_error || worse)) first_error = std::move(taken);
    }
  }
  if (!first_error || batches.empty()) return first_error;
  return fail(Errc::kTimeout, topic_ + ": the server did not answer for every partition");
}

Result<void> TopicProducer::take_answer(const kafka::ProduceResponse::Partition& answer,
                                        std::vector<Batch>& batches) {
  const auto batch = std::ranges::find(batches, answer.index, &Batch::partition);
  if (batch == batches.end()) return {};
  if (answer.error_code == ErrorCode::kNone ||
      answer.error_code == ErrorCode::kDuplicateSequenceNumber) {
    note(*batch, answer.error_code == ErrorCode::kNone ? answer.base_offset : -1);
    batches.erase(batch);
    return {};
  }
  Error error =
      kafka_error(answer.error_code, fmt::format("{}, partition {}", topic_, answer.index),
                  answer.error_message);
  if (options_.idempotent && is_unknown(answer.error_code)) error.code = Errc::kOverloaded;
  return std::unexpected(std::move(error));
}

void TopicProducer::note(const Batch& batch, std::int64_t base_offset) {
  WrittenRange& range = written_[batch.partition];
  if (base_offset >= 0) {
    if (range.first < 0) range.first = base_offset;
    range.last = base_offset + batch.count - 1;
  }
  range.messages += static_cast<std::uint64_t>(batch.count);
  messages_ += static_cast<std::uint64_t>(batch.count);
  bytes_ += batch.plain_bytes;
}

}  // namespace moraine::app
