#include "bench/lanes/recorded_topic.h"

#include <fmt/format.h>

#include <chrono>

#include "app/kafka_error.h"
#include "bench/event_text.h"
#include "gateway/kafka/protocol/messages.h"
#include "queue/kafka/records.h"

namespace moraine::bench {
namespace {

// Offset and leader epoch, which the server sets, and the checksum are before it.
constexpr std::size_t kAttributesAt = 21;
constexpr std::int32_t kTimeoutMs = 60'000;
constexpr std::int32_t kFetchBytesMax = 50 << 20;

// The newest version: an error has a text there, and so the answer has another size.
constexpr std::int16_t kProduceVersion = 9;
// The newest version where the size of an answer without its records is always the same.
constexpr std::int16_t kFetchVersion = 11;

kafka::RequestHeader header_of(kafka::ApiKey api, std::int16_t version) {
  return {api, version, 1, "bench"};
}
kafka::RequestHeader produce_header() {
  return header_of(kafka::ApiKey::kProduce, kProduceVersion);
}
kafka::RequestHeader fetch_header() {
  return header_of(kafka::ApiKey::kFetch, kFetchVersion);
}

// Messages of now: retention must not remove them.
std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Result<Slice> make_batch(EventText& events, kafka::Compression codec, double& plain_bytes) {
  kafka::BatchOptions options;
  options.codec = codec;
  kafka::BatchBuilder builder(options);
  kafka::Record record;
  record.timestamp = now_ms();
  for (std::uint64_t i = 0; i < kMessagesPerBatch; ++i) {
    const std::string text = events.next();
    record.value = as_bytes(text);
    TRY_VOID(builder.append(record));
  }
  plain_bytes += static_cast<double>(builder.plain_bytes());
  return std::move(builder).build();
}

std::unexpected<Error> wrong(std::string why) {
  return fail(Errc::kCorrupt, std::move(why));
}

}  // namespace

Result<RecordedTopic> RecordedTopic::make(std::string name, std::uint32_t partitions,
                                          kafka::Compression codec) {
  RecordedTopic topic;
  topic.name_ = std::move(name);
  for (std::uint32_t partition = 0; partition < partitions; ++partition) {
    EventText events(partition + 1);
    std::vector<Slice>& batches = topic.batches_.emplace_back();
    for (std::uint64_t i = 0; i < kBatchesRecorded; ++i) {
      TRY(Slice batch, make_batch(events, codec, topic.plain_bytes_));
      topic.stored_bytes_ += static_cast<double>(batch.size());
      batches.push_back(std::move(batch));
    }
  }
  return topic;
}

std::vector<Slice> RecordedTopic::produce(std::uint32_t partition, std::uint64_t number) const {
  kafka::ProduceRequest request;
  request.timeout_ms = kTimeoutMs;
  kafka::ProduceRequest::Topic& topic = request.topics.emplace_back();
  topic.name = name_;
  kafka::ProduceRequest::Partition& one = topic.partitions.emplace_back();
  one.index = static_cast<std::int32_t>(partition);
  one.records.slices.push_back(batch(partition, number));
  return kafka::encode_request(produce_header(), request);
}

std::vector<Slice> RecordedTopic::fetch(std::uint32_t partition, std::uint64_t number,
                                        std::uint32_t bytes_max) const {
  kafka::FetchRequest request;
  request.min_bytes = 1;
  request.max_bytes = kFetchBytesMax;
  kafka::FetchRequest::Topic& topic = request.topics.emplace_back();
  topic.name = name_;
  kafka::FetchRequest::Partition& one = topic.partitions.emplace_back();
  one.partition = static_cast<std::int32_t>(partition);
  one.fetch_offset = static_cast<std::int64_t>(number * kMessagesPerBatch);
  one.partition_max_bytes = static_cast<std::int32_t>(bytes_max);
  return kafka::encode_request(fetch_header(), request);
}

Result<AnswerSize> RecordedTopic::check_produced(const Slice& answer, std::uint32_t partition,
                                                 std::uint64_t number) const {
  TRY(const Slice body, kafka::open_response(produce_header(), answer));
  TRY(const auto response, kafka::decode_body<kafka::ProduceResponse>(body, kProduceVersion));
  if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1) {
    return wrong("an answer of Produce that is not for one partition");
  }
  const kafka::ProduceResponse::Partition& one = response.topics[0].partitions[0];
  TRY_VOID(app::check_answer(one.error_code, name_, one.error_message));
  if (one.index != static_cast<std::int32_t>(partition)) {
    return wrong(fmt::format("an answer for partition {} instead of {}", one.index, partition));
  }
  return AnswerSize{answer.size(), kMessagesPerBatch, batch(partition, number).size()};
}

Result<std::vector<AnswerSize>> RecordedTopic::check_fetched(const Slice& answer,
                                                             std::uint32_t partition,
                                                             std::uint64_t number,
                                                             std::uint32_t bytes_max,
                                                             std::uint64_t stored) const {
  TRY(const Slice body, kafka::open_response(fetch_header(), answer));
  TRY(const auto response, kafka::decode_body<kafka::FetchResponse>(body, kFetchVersion));
  if (response.topics.size() != 1 || response.topics[0].partitions.size() != 1) {
    return wrong("an answer of Fetch that is not for one partition");
  }
  const kafka::FetchResponse::Partition& one = response.topics[0].partitions[0];
  TRY_VOID(app::check_answer(one.error_code, name_));
  const Slice records = one.records.joined();
  const auto batches = kafka::split_batches(records, kafka::CutBatch::kRefused);
  if (!batches) return wrong(batches.error().message);
  if (batches->empty()) return wrong("an answer of Fetch without records");
  for (std::size_t i = 0; i < batches->size(); ++i) {
    const kafka::RecordBatch& got = (*batches)[i];
    const ByteSpan expected = batch(partition, number + i).span();
    const bool placed =
        got.header.base_offset == static_cast<std::int64_t>((number + i) * kMessagesPerBatch);
    if (!placed ||
        !equal(got.bytes.span().subspan(kAttributesAt), expected.subspan(kAttributesAt))) {
      return wrong(fmt::format("batch {} of partition {} is not what was written there", number + i,
                               partition));
    }
  }
  const std::size_t overhead = answer.size() - records.size();
  std::vector<AnswerSize> sizes;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = number; i < stored; ++i) {
    bytes += batch(partition, i).size();
    if (bytes > bytes_max) break;
    sizes.push_back({overhead + bytes, (i - number + 1) * kMessagesPerBatch, bytes});
  }
  return sizes;
}

}  // namespace moraine::bench
