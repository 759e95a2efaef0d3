// RecordBatch: the unit that producers send, the log stores and consumers get, byte for byte.
//
// Promise    A batch that parse accepts has a complete header and as many bytes as its length says.
//            Only recompressed() decompresses.
// Invariants Base offset and leader epoch are not under the checksum, so a broker places a batch
//            without copying or checking its records.
//
//   offset  size  field                     offset  size  field
//        0     8  base_offset                   27     8  base_timestamp
//        8     4  batch_length (after it)       35     8  max_timestamp
//       12     4  partition_leader_epoch        43     8  producer_id
//       16     1  magic = 2                     51     2  producer_epoch
//       17     4  crc32c of bytes 21..end       53     4  base_sequence
//       21     2  attributes                    57     4  record_count
//       23     4  last_offset_delta             61     -  records, compressed as a whole
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "queue/kafka/compression.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

inline constexpr std::size_t kBatchHeaderBytes = 61;
// Bytes that batch_length does not count.
inline constexpr std::size_t kBatchLengthEnd = 12;
inline constexpr std::int8_t kMagic = 2;
// The default of max.message.bytes.
inline constexpr std::size_t kBatchBytesMaxDefault = 1'048'588;

enum class TimestampType : std::uint8_t { kCreateTime = 0, kLogAppendTime = 1 };

struct BatchHeader {
  static constexpr std::int16_t kCodecMask = 0x07;
  static constexpr std::int16_t kLogAppendTimeBit = 0x08;
  static constexpr std::int16_t kTransactionalBit = 0x10;
  static constexpr std::int16_t kControlBit = 0x20;

  std::int64_t base_offset = 0;
  std::int32_t batch_length = 0;
  std::int32_t partition_leader_epoch = -1;
  std::int8_t magic = kMagic;
  std::uint32_t crc = 0;
  std::int16_t attributes = 0;
  std::int32_t last_offset_delta = 0;
  std::int64_t base_timestamp = -1;
  std::int64_t max_timestamp = -1;
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  std::int32_t base_sequence = -1;
  std::int32_t record_count = 0;

  bool operator==(const BatchHeader&) const = default;

  // May be an unknown codec: check_produced() refuses those.
  Compression codec() const { return static_cast<Compression>(attributes & kCodecMask); }
  TimestampType timestamp_type() const {
    return (attributes & kLogAppendTimeBit) != 0 ? TimestampType::kLogAppendTime
                                                 : TimestampType::kCreateTime;
  }
  bool transactional() const { return (attributes & kTransactionalBit) != 0; }
  bool control() const { return (attributes & kControlBit) != 0; }
  // Sequences are valid only then: some clients set the other fields without an id.
  bool has_producer() const { return producer_id >= 0; }
  std::int64_t last_offset() const;
  // Of the last record: base_sequence + record_count - 1, modulo 2^31.
  std::int32_t last_sequence() const;
  // The whole batch.
  std::size_t bytes() const { return kBatchLengthEnd + static_cast<std::size_t>(batch_length); }

  // Requires: kBatchHeaderBytes bytes.
  void encode(std::byte* to) const;
  static BatchHeader decode(const std::byte* from);
};

// The sequence `count` after `sequence`, modulo 2^31. Requires: both >= 0.
std::int32_t sequence_after(std::int32_t sequence, std::int32_t count);

struct RecordBatch {
  BatchHeader header;
  Slice bytes;  // Header and records; shares the memory that it was parsed from.

  Slice payload() const { return bytes.sub(kBatchHeaderBytes, bytes.size() - kBatchHeaderBytes); }
};

// The batch at the start of `bytes`; later bytes are ignored. Errors: kCorruptMessage: short, or
// an invalid length. kUnsupportedForMessageFormat: magic 0 or 1. kInvalidRecord: another magic.
Checked<RecordBatch> parse_batch(const Slice& bytes);

// Whether a truncated batch at the end is an error, or skipped as consumers do.
enum class CutBatch : std::uint8_t { kRefused, kDropped };
Checked<std::vector<RecordBatch>> split_batches(const Slice& records, CutBatch cut);

// The batch of a Produce request from version 3 on: there is exactly one. Errors: kInvalidRecord
// for none and for several, and those of parse_batch().
Checked<RecordBatch> single_batch(const Slice& records);

bool crc_holds(const RecordBatch& batch);

struct ProduceRules {
  std::size_t bytes_max = kBatchBytesMaxDefault;
  bool zstd_allowed = true;  // Produce from version 7 on.
};
// A broker's checks of a batch before it is appended, without parsing its records; check_records()
// of records.h does that.
Checked<void> check_produced(const RecordBatch& batch, const ProduceRules& rules);

// The same records in another codec, with a new checksum. Errors: those of decompress().
Checked<RecordBatch> recompressed(const RecordBatch& batch, Compression codec,
                                  std::optional<int> level, std::size_t plain_bytes_max);

struct Placement {
  std::int64_t base_offset = 0;
  std::int32_t leader_epoch = 0;
  // Sets this time on every record and computes the checksum again.
  std::optional<std::int64_t> log_append_time = std::nullopt;
};
// The batch as stored in the log: a new header, and the rest shared.
std::array<Slice, 2> place(const RecordBatch& batch, const Placement& placement);
// The same in place, for offset and epoch only. Requires: kBatchHeaderBytes bytes.
void place_header(MutableByteSpan header, std::int64_t base_offset, std::int32_t leader_epoch);

}  // namespace moraine::kafka
