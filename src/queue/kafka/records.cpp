#include "queue/kafka/records.h"

#include <fmt/format.h>

namespace moraine::kafka {
namespace {

// Numbers of a batch are not trusted: adding them must not overflow.
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

Checked<RecordReader> RecordReader::open(const RecordBatch& batch, std::size_t plain_bytes_max) {
  auto plain = decompress(batch.header.codec(), batch.payload(), plain_bytes_max);
  if (!plain) return std::unexpected(std::move(plain.error()));
  return RecordReader(batch.header, std::move(*plain));
}

NullableBytes RecordReader::read_bytes() {
  const std::int32_t size = reader_.varint();
  if (size == -1) return std::nullopt;
  if (size < 0) reader_.wrong("a length is negative");
  return reader_.raw(size < 0 ? 0 : static_cast<std::size_t>(size));
}

void RecordReader::read_record(Record& record) {
  reader_.fixed<std::int8_t>();
  const std::int64_t timestamp_delta = reader_.varlong();
  offset_delta_ = reader_.varint();
  record.offset = wrapping_sum(header_.base_offset, offset_delta_);
  record.timestamp = header_.timestamp_type() == TimestampType::kLogAppendTime
                         ? header_.max_timestamp
                         : wrapping_sum(header_.base_timestamp, timestamp_delta);
  record.key = read_bytes();
  record.value = read_bytes();
  record.headers.clear();
  const std::int32_t headers = reader_.varint();
  if (headers < 0 || headers > kRecordHeadersMax) {
    reader_.wrong("the number of headers is out of range");
  }
  for (std::int32_t i = 0; i < headers && !reader_.failed(); ++i) {
    const NullableBytes key = read_bytes();
    if (!key) reader_.wrong("a header has no key");
    record.headers.push_back({as_text(key.value_or(ByteSpan{})), read_bytes()});
  }
}

Checked<bool> RecordReader::next(Record& record) {
  if (given_ == header_.record_count) {
    if (reader_.remaining() == 0) return false;
    reader_.wrong("there are bytes after the last record");
  } else if (!reader_.failed()) {
    const std::int32_t size = reader_.varint();
    if (size < 0) reader_.wrong("a record's length is negative");
    const std::size_t end = reader_.narrow(size < 0 ? 0 : static_cast<std::size_t>(size));
    read_record(record);
    if (!reader_.failed() && reader_.remaining() > 0) reader_.wrong("a record is too long");
    reader_.widen(end);
  }
  if (reader_.failed()) {
    return refuse(ErrorCode::kInvalidRecord, fmt::format("record {} of {}: {}", given_,
                                                         header_.record_count, reader_.problem()));
  }
  ++given_;
  return true;
}

Checked<void> check_records(const RecordBatch& batch, std::size_t plain_bytes_max) {
  auto reader = RecordReader::open(batch, plain_bytes_max);
  if (!reader) return std::unexpected(std::move(reader.error()));
  Record record;
  for (std::int32_t expected = 0;; ++expected) {
    const auto more = reader->next(record);
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    if (reader->offset_delta() != expected) {
      return refuse(ErrorCode::kInvalidRecord,
                    fmt::format("record {} has number {}", expected, reader->offset_delta()));
    }
  }
}

Checked<std::optional<TimedOffset>> first_since(const RecordBatch& batch, std::int64_t timestamp) {
  if (batch.header.max_timestamp < timestamp) return std::nullopt;
  auto reader = RecordReader::open(batch);
  if (!reader) return std::unexpected(std::move(reader.error()));
  Record record;
  while (true) {
    const auto more = reader->next(record);
    if (!more) return std::unexpected(more.error());
    if (!*more) return std::nullopt;
    if (record.timestamp >= timestamp) return TimedOffset{record.timestamp, record.offset};
  }
}

Checked<std::optional<TimedOffset>> first_latest(const RecordBatch& batch) {
  return first_since(batch, batch.header.max_timestamp);
}

}  // namespace moraine::kafka
