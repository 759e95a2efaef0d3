#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checksum.h"
#include "base/invariant.h"
#include "queue/kafka/records.h"

namespace moraine::kafka {
namespace {

constexpr std::size_t kAttributesAt = 21;
constexpr std::int16_t kMarkerVersion = 0;
constexpr std::int16_t kAbort = 0;
constexpr std::int16_t kCommit = 1;

// Of any two numbers, modulo 2^64.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

std::size_t nullable_bytes(const NullableBytes& bytes) {
  if (!bytes) return varlong_bytes(-1);
  return varlong_bytes(static_cast<std::int64_t>(bytes->size())) + bytes->size();
}

void write_nullable(Writer& to, const NullableBytes& bytes) {
  to.varint(bytes ? static_cast<std::int32_t>(bytes->size()) : -1);
  if (bytes) to.raw(*bytes);
}

// Bytes of a record after its length.
std::size_t body_bytes(const Record& record, std::int64_t timestamp_delta,
                       std::int64_t offset_delta) {
  std::size_t total = 1 + varlong_bytes(timestamp_delta) + varlong_bytes(offset_delta) +
                      nullable_bytes(record.key) + nullable_bytes(record.value) +
                      varlong_bytes(static_cast<std::int64_t>(record.headers.size()));
  for (const RecordField& header : record.headers) {
    total += nullable_bytes(as_bytes(header.key)) + nullable_bytes(header.value);
  }
  return total;
}

std::int16_t attributes_of(const BatchOptions& options) {
  int attributes = static_cast<int>(options.codec);
  if (options.timestamp_type == TimestampType::kLogAppendTime) {
    attributes |= BatchHeader::kLogAppendTimeBit;
  }
  if (options.transactional) attributes |= BatchHeader::kTransactionalBit;
  if (options.control) attributes |= BatchHeader::kControlBit;
  return static_cast<std::int16_t>(attributes);
}

}  // namespace

Result<void> BatchBuilder::add(const Record& record) {
  const std::int64_t delta = difference(record.offset, options_.base_offset);
  if (record.offset < options_.base_offset || delta <= last_delta_ ||
      delta > std::numeric_limits<std::int32_t>::max()) {
    return fail(Errc::kInvalidArgument, fmt::format("offset {} does not follow in a batch from {}",
                                                    record.offset, options_.base_offset));
  }
  if (record.headers.size() > static_cast<std::size_t>(kRecordHeadersMax)) {
    return fail(Errc::kInvalidArgument, fmt::format("{} headers, over the maximum {}",
                                                    record.headers.size(), kRecordHeadersMax));
  }
  const std::int64_t timestamp_delta =
      count_ == 0 ? 0 : difference(record.timestamp, base_timestamp_);
  const std::size_t size = body_bytes(record, timestamp_delta, delta);
  if (size > kPlainBytesMax || records_.size() + size > kPlainBytesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("a batch would be over {} bytes", kPlainBytesMax));
  }
  if (count_ == 0) base_timestamp_ = max_timestamp_ = record.timestamp;
  max_timestamp_ = std::max(max_timestamp_, record.timestamp);
  last_delta_ = delta;
  ++count_;

  records_.varint(static_cast<std::int32_t>(size));
  records_.fixed(std::int8_t{0});
  records_.varlong(timestamp_delta);
  records_.varint(static_cast<std::int32_t>(delta));
  write_nullable(records_, record.key);
  write_nullable(records_, record.value);
  records_.varint(static_cast<std::int32_t>(record.headers.size()));
  for (const RecordField& header : record.headers) {
    write_nullable(records_, as_bytes(header.key));
    write_nullable(records_, header.value);
  }
  return {};
}

Result<void> BatchBuilder::append(const Record& record) {
  Record next = record;
  next.offset = options_.base_offset + last_delta_ + 1;
  return add(next);
}

Slice BatchBuilder::build() && {
  INVARIANT(count_ > 0, "a batch without records");
  const std::vector<Slice> plain = std::move(records_).finish();
  INVARIANT(plain.size() == 1, "records in {} slices", plain.size());
  const Slice payload =
      options_.codec == Compression::kNone ? plain[0] : compress(options_.codec, plain[0]);

  BatchHeader header;
  header.base_offset = options_.base_offset;
  header.batch_length =
      static_cast<std::int32_t>(kBatchHeaderBytes - kBatchLengthEnd + payload.size());
  header.partition_leader_epoch = options_.partition_leader_epoch;
  header.attributes = attributes_of(options_);
  header.last_offset_delta = static_cast<std::int32_t>(last_delta_);
  header.base_timestamp = base_timestamp_;
  header.max_timestamp = max_timestamp_;
  header.producer_id = options_.producer_id;
  header.producer_epoch = options_.producer_epoch;
  header.base_sequence = options_.base_sequence;
  header.record_count = count_;

  Buffer bytes(kBatchHeaderBytes + payload.size());
  header.encode(bytes.data());
  std::memcpy(bytes.data() + kBatchHeaderBytes, payload.data(), payload.size());
  header.crc = crc32c(bytes.span().subspan(kAttributesAt));
  header.encode(bytes.data());
  return std::move(bytes).freeze();
}

Slice build_marker(const TransactionMarker& marker, std::int64_t offset,
                   std::int32_t leader_epoch) {
  BatchBuilder builder({.base_offset = offset,
                        .partition_leader_epoch = leader_epoch,
                        .transactional = true,
                        .control = true,
                        .producer_id = marker.producer_id,
                        .producer_epoch = marker.producer_epoch});
  Writer key;
  key.fixed(kMarkerVersion);
  key.fixed(marker.commit ? kCommit : kAbort);
  Writer value;
  value.fixed(kMarkerVersion);
  value.fixed(marker.coordinator_epoch);
  const Slice key_bytes = std::move(key).finish().front();
  const Slice value_bytes = std::move(value).finish().front();
  Record record;
  record.timestamp = marker.timestamp;
  record.key = key_bytes.span();
  record.value = value_bytes.span();
  const auto added = builder.append(record);
  INVARIANT(added.has_value(), "{}", added.error().message());
  return std::move(builder).build();
}

Checked<TransactionMarker> parse_marker(const RecordBatch& batch) {
  const auto no_marker = [] { return refuse(ErrorCode::kInvalidRecord, "not a marker"); };
  if (!batch.header.control() || !batch.header.transactional()) return no_marker();
  auto reader = RecordReader::open(batch);
  if (!reader) return std::unexpected(std::move(reader.error()));
  Record record;
  const auto found = reader->next(record);
  if (!found) return std::unexpected(found.error());
  if (!*found || !record.key || !record.value) return no_marker();

  Reader key(*record.key);
  const auto version = key.fixed<std::int16_t>();
  const auto type = key.fixed<std::int16_t>();
  Reader value(*record.value);
  value.fixed<std::int16_t>();
  const auto coordinator_epoch = value.fixed<std::int32_t>();
  if (key.failed() || value.failed() || version < 0 || (type != kAbort && type != kCommit)) {
    return no_marker();
  }
  return TransactionMarker{type == kCommit, batch.header.producer_id, batch.header.producer_epoch,
                           coordinator_epoch, record.timestamp};
}

}  // namespace moraine::kafka
