// The records inside a batch: reading, checking, looking up by time, and building.
//
// Promise    RecordReader returns the records of any well-formed batch, decompressing it once, and
//            an error for every other; it never reads past its input.
// Limits     A batch has at most kPlainBytesMax uncompressed bytes, a record at most
//            kRecordHeadersMax headers.
// Threading  None: values.
//
//   record  length varint, attributes i8, timestamp_delta varlong, offset_delta varint,
//           key bytes?, value bytes?, header count varint, headers
//   header  key bytes, value bytes?
//   bytes?  length varint (-1: null), the bytes
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "queue/kafka/reader.h"
#include "queue/kafka/record_batch.h"
#include "queue/kafka/writer.h"

namespace moraine::kafka {

inline constexpr std::size_t kPlainBytesMax = std::size_t{128} << 20;
inline constexpr std::int32_t kRecordHeadersMax = 65'536;

// Null and empty are different: a null value is a tombstone.
using NullableBytes = std::optional<ByteSpan>;

struct RecordField {
  std::string_view key;
  NullableBytes value;
};

// A view of memory that the RecordReader, or the caller of a builder, owns.
struct Record {
  std::int64_t offset = 0;
  std::int64_t timestamp = 0;
  NullableBytes key;
  NullableBytes value;
  std::vector<RecordField> headers;  // In their order; a key may occur several times.
};

class RecordReader {
 public:
  static Checked<RecordReader> open(const RecordBatch& batch,
                                    std::size_t plain_bytes_max = kPlainBytesMax);

  // False when all were read. Errors: kInvalidRecord, after which the reader is at its end.
  Checked<bool> next(Record& record);
  // The number of the last record of next(), within its batch.
  std::int32_t offset_delta() const { return offset_delta_; }
  // The memory of all records.
  const Slice& plain() const { return plain_; }

 private:
  RecordReader(const BatchHeader& header, Slice plain)
      : header_(header), plain_(std::move(plain)), reader_(plain_) {}

  void read_record(Record& record);
  NullableBytes read_bytes();

  BatchHeader header_;
  Slice plain_;
  Reader reader_;
  std::int32_t given_ = 0;
  std::int32_t offset_delta_ = -1;
};

// The rest of a broker's checks: as many records as the header says, numbered from 0 without gaps.
Checked<void> check_records(const RecordBatch& batch, std::size_t plain_bytes_max = kPlainBytesMax);

struct TimedOffset {
  std::int64_t timestamp = -1;
  std::int64_t offset = -1;

  bool operator==(const TimedOffset&) const = default;
};
// The first record at or after `timestamp`; nullopt when there is none in this batch.
Checked<std::optional<TimedOffset>> first_since(const RecordBatch& batch, std::int64_t timestamp);
// The first record with the greatest timestamp of the batch.
Checked<std::optional<TimedOffset>> first_latest(const RecordBatch& batch);

// The header fields of a new batch that do not follow from its records.
struct BatchOptions {
  Compression codec = Compression::kNone;
  std::int64_t base_offset = 0;
  std::int32_t partition_leader_epoch = -1;
  TimestampType timestamp_type = TimestampType::kCreateTime;
  bool transactional = false;
  bool control = false;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
};

class BatchBuilder {
 public:
  explicit BatchBuilder(const BatchOptions& options) : options_(options) {}

  // Appends a record. Record::offset is absolute, at least base_offset and above the one before.
  // kInvalidArgument: it is not, or a limit would be passed.
  Result<void> add(const Record& record);
  // The same with the next offset; Record::offset is ignored.
  Result<void> append(const Record& record);

  std::int32_t record_count() const { return count_; }
  // Without compression.
  std::size_t plain_bytes() const { return kBatchHeaderBytes + records_.size(); }
  // The batch, with its checksum. Requires: it has a record.
  Slice build() &&;

 private:
  BatchOptions options_;
  Writer records_;
  std::int32_t count_ = 0;
  std::int64_t last_delta_ = -1;
  std::int64_t base_timestamp_ = 0;
  std::int64_t max_timestamp_ = 0;
};

// The batch that ends a transaction in a partition: one control record.
struct TransactionMarker {
  bool commit = false;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t coordinator_epoch = 0;
  std::int64_t timestamp = 0;
};
Slice build_marker(const TransactionMarker& marker, std::int64_t offset, std::int32_t leader_epoch);
// Errors: kInvalidRecord: not a batch of build_marker().
Checked<TransactionMarker> parse_marker(const RecordBatch& batch);

}  // namespace moraine::kafka
