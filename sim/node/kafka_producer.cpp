#include "sim/node/kafka_producer.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {

using kafka::ErrorCode;

namespace {

constexpr std::uint32_t kIncarnationsMax = 1'000;  // Of a producer.
constexpr std::size_t kPayloadBytesMin = 24;       // Enough for the name.
constexpr std::int32_t kTimeoutMs = 8'000;
constexpr std::uint64_t kCloses = 40;    // Turns between two lost connections, on average.
constexpr std::uint64_t kRestarts = 60;  // Turns between two new beginnings, on average.

}  // namespace

KafkaProducer::KafkaProducer(KafkaStage& stage, PartitionName partition, std::uint32_t number)
    : stage_(stage),
      partition_(partition),
      number_(number),
      random_(stage.world.stream("kafka producer", number)),
      link_(stage.world, stage.machines, stage.history, fmt::format("producer{}", number)) {}

bool KafkaProducer::there() const {
  const auto known = stage_.partitions.find(partition_.tablet);
  return known != stage_.partitions.end() && known->second > partition_.index;
}

Task<void> KafkaProducer::run() {
  while (stage_.keep_running()) {
    co_await stage_.think(random_);
    if (!there() || !link_.open(random_)) continue;
    if (!id_ && !co_await init()) continue;
    fill_window();
    co_await send_window();
    if (random_.one_in(kCloses)) link_.close();
    if (random_.one_in(kRestarts)) begin_again();
  }
  link_.close();
}

Task<bool> KafkaProducer::init() {
  const auto response = co_await link_.ask(kafka::InitProducerIdRequest{});
  if (!response || response->error_code != ErrorCode::kNone) co_return false;
  stage_.group.producer_id(response->producer_id);
  id_ = response->producer_id;
  epoch_ = response->producer_epoch;
  co_return true;
}

void KafkaProducer::begin_again() {
  if (++incarnation_ == kIncarnationsMax) --incarnation_;
  id_.reset();
  next_sequence_ = 0;
  window_.clear();
}

void KafkaProducer::fill_window() {
  const std::size_t wanted = 1 + random_.below(stage_.plan.window_max);
  while (window_.size() < wanted) {
    Entry entry;
    entry.name = {number_ * kIncarnationsMax + incarnation_, next_index_++};
    entry.message.size = kPayloadBytesMin + random_.below(stage_.plan.message_bytes_max);
    entry.message.count = 1 + static_cast<std::uint32_t>(random_.below(3));
    entry.message.number = next_sequence_;
    next_sequence_ += entry.message.count;
    stage_.topics.sent(partition_, entry.name, entry.message);
    window_.push_back(std::move(entry));
  }
}

kafka::ProduceRequest KafkaProducer::request_of(const Entry& entry) const {
  kafka::ProduceRequest request;
  request.timeout_ms = kTimeoutMs;
  kafka::ProduceRequest::Partition partition;
  partition.index = static_cast<std::int32_t>(partition_.index);
  partition.records.slices.push_back(batch_of(entry.name, entry.message, *id_, epoch_));
  request.topics.push_back({KafkaStage::topic_name(partition_.tablet), {}});
  request.topics[0].partitions.push_back(std::move(partition));
  return request;
}

Task<void> KafkaProducer::send_window() {
  std::vector<std::pair<std::size_t, kafka::RequestHeader>> sent;
  for (std::size_t i = 0; i < window_.size(); ++i) {
    if (window_[i].done) continue;
    const auto header = co_await link_.send(request_of(window_[i]));
    if (!header) break;
    sent.emplace_back(i, *header);
  }
  bool first = true;  // All earlier ones are acknowledged.
  for (const auto& [index, header] : sent) {
    const auto response = co_await link_.receive<kafka::ProduceResponse>(header);
    if (!response) {
      stage_.count(TopicCommand::kWriteSequence, false, false);
      break;
    }
    take_answer(window_[index], first, *response);
    first = first && window_[index].done;
  }
  while (!window_.empty() && window_.front().done) window_.pop_front();
}

void KafkaProducer::take_answer(Entry& entry, bool first, const kafka::ProduceResponse& response) {
  if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1) {
    return stage_.history.fail("a Produce answer has another number of partitions");
  }
  const kafka::ProduceResponse::Partition& answer = response.topics[0].partitions[0];
  const ErrorCode error = answer.error_code;
  const bool stored = error == ErrorCode::kNone || error == ErrorCode::kDuplicateSequenceNumber;
  stage_.count(TopicCommand::kWriteSequence, true, stored);
  if (stage_.history.verbose()) {
    stage_.history.say(fmt::format("producer {} of {}/{} entry {} sequence {}: {} {}",
                                   entry.name.producer, partition_.tablet, partition_.index,
                                   entry.name.index, entry.message.number, kafka::to_string(error),
                                   answer.base_offset));
  }
  if (stored) {
    entry.done = true;
    std::optional<queue::Offset> offset;
    if (error == ErrorCode::kNone) offset = static_cast<queue::Offset>(answer.base_offset);
    return stage_.topics.acknowledged(partition_, entry.name, offset);
  }
  const bool order = error == ErrorCode::kOutOfOrderSequenceNumber ||
                     error == ErrorCode::kUnknownProducerId ||
                     error == ErrorCode::kInvalidProducerEpoch;
  const bool invalid = error == ErrorCode::kInvalidRecord || error == ErrorCode::kCorruptMessage ||
                       error == ErrorCode::kMessageTooLarge;
  // A server that was replaced may not know the newest batches.
  if (invalid || (order && first && link_.to_newest())) {
    stage_.history.fail(
        fmt::format("producer {} of topic {} partition {}, which sends in order, "
                    "got {} for sequence {}",
                    entry.name.producer, partition_.tablet, partition_.index,
                    kafka::to_string(error), entry.message.number));
  }
}

}  // namespace moraine::sim
