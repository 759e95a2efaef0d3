#include "queue/kafka/record_batch.h"

#include <fmt/format.h>

#include <cstring>

#include "base/checksum.h"
#include "base/invariant.h"
#include "queue/kafka/reader.h"

namespace moraine::kafka {
namespace {

constexpr std::size_t kBaseOffsetAt = 0;
constexpr std::size_t kLengthAt = 8;
constexpr std::size_t kLeaderEpochAt = 12;
constexpr std::size_t kMagicAt = 16;
constexpr std::size_t kCrcAt = 17;
constexpr std::size_t kAttributesAt = 21;
constexpr std::size_t kLastOffsetDeltaAt = 23;
constexpr std::size_t kBaseTimestampAt = 27;
constexpr std::size_t kMaxTimestampAt = 35;
constexpr std::size_t kProducerIdAt = 43;
constexpr std::size_t kProducerEpochAt = 51;
constexpr std::size_t kBaseSequenceAt = 53;
constexpr std::size_t kRecordCountAt = 57;

// A message of any format is longer than this.
constexpr std::int32_t kOldestLengthMin = 14;

// A truncated batch is reported separately: at the end of a fetch it is no error.
enum class Found : std::uint8_t { kWhole, kCut, kWrong };

struct Parsed {
  Found found = Found::kWrong;
  RecordBatch batch;
  Refusal refusal;
};

Parsed wrong(ErrorCode code, std::string message) {
  return {Found::kWrong, {}, {code, std::move(message)}};
}
Parsed cut(std::size_t size) {
  return {Found::kCut,
          {},
          {ErrorCode::kCorruptMessage, fmt::format("a batch is cut off after {} bytes", size)}};
}

Parsed parse(const Slice& bytes) {
  if (bytes.size() <= kMagicAt) return cut(bytes.size());
  const auto length = load_big<std::int32_t>(bytes.data() + kLengthAt);
  if (length < kOldestLengthMin) {
    return wrong(ErrorCode::kCorruptMessage, fmt::format("a batch length of {}", length));
  }
  const std::size_t size = kBatchLengthEnd + static_cast<std::size_t>(length);
  if (size > bytes.size()) return cut(bytes.size());
  const auto magic = load_big<std::int8_t>(bytes.data() + kMagicAt);
  if (magic == 0 || magic == 1) {
    return wrong(ErrorCode::kUnsupportedForMessageFormat,
                 fmt::format("message format {} is too old; 2 is served", magic));
  }
  if (magic != kMagic) {
    return wrong(ErrorCode::kCorruptMessage, fmt::format("message format {} is unknown", magic));
  }
  if (length < static_cast<std::int32_t>(kBatchHeaderBytes - kBatchLengthEnd)) {
    return wrong(ErrorCode::kCorruptMessage, fmt::format("a batch length of {}", length));
  }
  return {Found::kWhole, {BatchHeader::decode(bytes.data()), bytes.sub(0, size)}, {}};
}

std::unexpected<Refusal> invalid(std::string message) {
  return refuse(ErrorCode::kInvalidRecord, std::move(message));
}

Checked<void> check_content(const BatchHeader& header) {
  if ((header.attributes & BatchHeader::kCodecMask) > kCompressionLast) {
    return refuse(ErrorCode::kUnsupportedCompressionType,
                  fmt::format("codec {}", header.attributes & BatchHeader::kCodecMask));
  }
  if (header.record_count < 1) return invalid(fmt::format("{} records", header.record_count));
  if (header.last_offset_delta != header.record_count - 1) {
    return invalid(fmt::format("{} records, but the last has number {}", header.record_count,
                               header.last_offset_delta));
  }
  if (header.control()) return invalid("clients cannot write control batches");
  if (header.has_producer() && header.base_sequence < 0) {
    return invalid(
        fmt::format("producer {} gives sequence {}", header.producer_id, header.base_sequence));
  }
  if (header.has_producer() && header.producer_epoch < 0) {
    return invalid(
        fmt::format("producer {} gives epoch {}", header.producer_id, header.producer_epoch));
  }
  if (header.transactional() && !header.has_producer()) {
    return invalid("a transactional batch without a producer");
  }
  return {};
}

}  // namespace

std::int64_t BatchHeader::last_offset() const {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(base_offset) +
                                   static_cast<std::uint64_t>(std::int64_t{last_offset_delta}));
}

std::int32_t BatchHeader::last_sequence() const {
  return sequence_after(base_sequence, record_count - 1);
}

std::int32_t sequence_after(std::int32_t sequence, std::int32_t count) {
  INVARIANT(sequence >= 0 && count >= 0, "{} after sequence {}", count, sequence);
  return static_cast<std::int32_t>((std::int64_t{sequence} + count) & 0x7fffffff);
}

void BatchHeader::encode(std::byte* to) const {
  store_big(to + kBaseOffsetAt, base_offset);
  store_big(to + kLengthAt, batch_length);
  store_big(to + kLeaderEpochAt, partition_leader_epoch);
  store_big(to + kMagicAt, magic);
  store_big(to + kCrcAt, crc);
  store_big(to + kAttributesAt, attributes);
  store_big(to + kLastOffsetDeltaAt, last_offset_delta);
  store_big(to + kBaseTimestampAt, base_timestamp);
  store_big(to + kMaxTimestampAt, max_timestamp);
  store_big(to + kProducerIdAt, producer_id);
  store_big(to + kProducerEpochAt, producer_epoch);
  store_big(to + kBaseSequenceAt, base_sequence);
  store_big(to + kRecordCountAt, record_count);
}

BatchHeader BatchHeader::decode(const std::byte* from) {
  BatchHeader header;
  header.base_offset = load_big<std::int64_t>(from + kBaseOffsetAt);
  header.batch_length = load_big<std::int32_t>(from + kLengthAt);
  header.partition_leader_epoch = load_big<std::int32_t>(from + kLeaderEpochAt);
  header.magic = load_big<std::int8_t>(from + kMagicAt);
  header.crc = load_big<std::uint32_t>(from + kCrcAt);
  header.attributes = load_big<std::int16_t>(from + kAttributesAt);
  header.last_offset_delta = load_big<std::int32_t>(from + kLastOffsetDeltaAt);
  header.base_timestamp = load_big<std::int64_t>(from + kBaseTimestampAt);
  header.max_timestamp = load_big<std::int64_t>(from + kMaxTimestampAt);
  header.producer_id = load_big<std::int64_t>(from + kProducerIdAt);
  header.producer_epoch = load_big<std::int16_t>(from + kProducerEpochAt);
  header.base_sequence = load_big<std::int32_t>(from + kBaseSequenceAt);
  header.record_count = load_big<std::int32_t>(from + kRecordCountAt);
  return header;
}

Checked<RecordBatch> parse_batch(const Slice& bytes) {
  Parsed parsed = parse(bytes);
  if (parsed.found != Found::kWhole) return std::unexpected(std::move(parsed.refusal));
  return std::move(parsed.batch);
}

Checked<std::vector<RecordBatch>> split_batches(const Slice& records, CutBatch cut_batch) {
  std::vector<RecordBatch> batches;
  std::size_t at = 0;
  while (at < records.size()) {
    Parsed parsed = parse(records.sub(at, records.size() - at));
    if (parsed.found == Found::kCut && cut_batch == CutBatch::kDropped) break;
    if (parsed.found != Found::kWhole) return std::unexpected(std::move(parsed.refusal));
    at += parsed.batch.bytes.size();
    batches.push_back(std::move(parsed.batch));
  }
  return batches;
}

Checked<RecordBatch> single_batch(const Slice& records) {
  if (records.empty()) return invalid("there is no batch");
  auto batch = parse_batch(records);
  if (batch && batch->bytes.size() != records.size()) {
    return invalid("there is more than one batch");
  }
  return batch;
}

bool crc_holds(const RecordBatch& batch) {
  return crc32c(batch.bytes.span().subspan(kAttributesAt)) == batch.header.crc;
}

Checked<void> check_produced(const RecordBatch& batch, const ProduceRules& rules) {
  const BatchHeader& header = batch.header;
  if (batch.bytes.size() > rules.bytes_max) {
    return refuse(ErrorCode::kMessageTooLarge,
                  fmt::format("a batch of {} bytes, over the maximum {}", batch.bytes.size(),
                              rules.bytes_max));
  }
  if (!crc_holds(batch)) {
    return refuse(ErrorCode::kCorruptMessage, "the checksum of a batch does not hold");
  }
  if (header.codec() == Compression::kZstd && !rules.zstd_allowed) {
    return refuse(ErrorCode::kUnsupportedCompressionType, "zstd needs Produce version 7");
  }
  return check_content(header);
}

Checked<RecordBatch> recompressed(const RecordBatch& batch, Compression codec,
                                  std::optional<int> level, std::size_t plain_bytes_max) {
  auto plain = decompress(batch.header.codec(), batch.payload(), plain_bytes_max);
  if (!plain) return std::unexpected(std::move(plain.error()));
  const Slice payload =
      codec == Compression::kNone ? std::move(*plain) : compress(codec, *plain, level);
  RecordBatch made;
  made.header = batch.header;
  made.header.batch_length =
      static_cast<std::int32_t>(kBatchHeaderBytes - kBatchLengthEnd + payload.size());
  made.header.attributes = static_cast<std::int16_t>(
      (batch.header.attributes & ~BatchHeader::kCodecMask) | static_cast<int>(codec));
  Buffer bytes(kBatchHeaderBytes + payload.size());
  std::memcpy(bytes.data() + kBatchHeaderBytes, payload.data(), payload.size());
  made.header.encode(bytes.data());
  made.header.crc = crc32c(bytes.span().subspan(kAttributesAt));
  made.header.encode(bytes.data());
  made.bytes = std::move(bytes).freeze();
  return made;
}

void place_header(MutableByteSpan header, std::int64_t base_offset, std::int32_t leader_epoch) {
  INVARIANT(header.size() >= kBatchHeaderBytes, "a header of {} bytes", header.size());
  store_big(header.data() + kBaseOffsetAt, base_offset);
  store_big(header.data() + kLeaderEpochAt, leader_epoch);
}

std::array<Slice, 2> place(const RecordBatch& batch, const Placement& placement) {
  Buffer header(kBatchHeaderBytes);
  std::memcpy(header.data(), batch.bytes.data(), kBatchHeaderBytes);
  place_header(header.span(), placement.base_offset, placement.leader_epoch);
  Slice payload = batch.payload();
  if (placement.log_append_time) {
    const auto attributes =
        static_cast<std::int16_t>(batch.header.attributes | BatchHeader::kLogAppendTimeBit);
    store_big(header.data() + kAttributesAt, attributes);
    store_big(header.data() + kMaxTimestampAt, *placement.log_append_time);
    const std::uint32_t crc = crc32c(payload, crc32c(header.span().subspan(kAttributesAt)));
    store_big(header.data() + kCrcAt, crc);
  }
  return {std::move(header).freeze(), std::move(payload)};
}

}  // namespace moraine::kafka
