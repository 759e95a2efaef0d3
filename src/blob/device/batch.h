// Batch: what one group commit writes. Segments hold only batches, each at a sector boundary.
//
//   batch      = header descriptor* padding data
//   header     = magic "MRNB"  version u16 = 1  records u16
//                crc u32 (of the meta bytes from offset 12)
//                meta_size u32 (header and descriptors)  sectors u32 (the whole batch)
//                segment u32  sector u32 (where it was written)  reserved u32
//                run u32  reserved u32  device u64  epoch u64  sequence u64  durable u64
//                run_first u64  previous_last u64
//   descriptor = owner u8  kind u8  inline_size u16  data_size u32  data_offset u32  data_crc u32
//                inline bytes
//   data       = bytes of each record at its data_offset (from the batch's start). Data of
//                kChecksumBlock bytes or more, and data that fills whole sectors, starts at a
//                sector boundary. Data above kChecksumBlock is preceded by its checksum table, one
//                crc32c for each kChecksumBlock bytes; its data_crc is the crc32c of that table, so
//                any block can be checked alone.
//
// Promise    Meta and data have separate checksums: facts stay readable when data is corrupted, and
//            a batch with torn data is distinguished from a whole one. Device, segment, sector and
//            epoch are in the header, so an old, foreign or misdirected batch is never mistaken for
//            a new one.
// Terms      epoch: grows with each segment opened. run: grows with each opening of the device.
//            durable: every sequence up to this one was durable when the batch was composed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_chain.h"
#include "base/bytes.h"
#include "base/result.h"
#include "blob/device/location.h"

namespace moraine::blob {

inline constexpr std::uint32_t kChecksumBlock = 64u << 10;
inline constexpr std::size_t kBatchHeaderBytes = 88;
inline constexpr std::size_t kDescriptorBytes = 16;
inline constexpr std::size_t kBatchRecordsMax = 1024;
inline constexpr std::size_t kBatchPiecesMax = 900;  // Below the kernel's limit of 1024.
inline constexpr std::size_t kInlineBytesMax = 48u << 10;
inline constexpr std::uint64_t kBatchBytesMax = 4u << 20;  // A larger record is a batch alone.

struct BatchHeader {
  std::uint16_t records = 0;
  std::uint32_t meta_size = 0;
  std::uint32_t sectors = 0;
  std::uint32_t segment = 0;
  std::uint32_t sector = 0;
  std::uint32_t run = 0;
  std::uint64_t device = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t durable = 0;
  // The first sequence of this run, and the last sequence of the log that the run found: nothing in
  // between belongs to the log.
  std::uint64_t run_first = 0;
  std::uint64_t previous_last = 0;
};

struct RecordView {
  OwnerSlot owner = 0;
  std::uint8_t kind = 0;
  ByteSpan inline_bytes;
  std::uint32_t data_size = 0;
  std::uint32_t data_offset = 0;  // From the batch's start.
  std::uint32_t data_crc = 0;
};

struct BatchMeta {
  BatchHeader header;
  std::vector<RecordView> records;  // Views of the decoded bytes.
};

// The header alone, from the batch's first sector; the meta may be longer than that. nullopt when
// these bytes do not begin a batch.
std::optional<BatchHeader> peek_header(ByteSpan sector);
// Checks the meta's checksum and grammar. Requires: bytes.size() >= header.meta_size.
Result<BatchMeta> decode_meta(ByteSpan bytes);

// One record to be added to a batch.
struct RecordInput {
  OwnerSlot owner = 0;
  std::uint8_t kind = 0;
  ByteSpan inline_bytes;
  ByteChain data;
};

// data_crc, and the checksum table (empty for data up to kChecksumBlock bytes).
struct DataChecksum {
  std::uint32_t crc = 0;
  std::vector<std::uint32_t> table;
};
DataChecksum checksum_data(ByteSpan data);

// Lays records out and turns them into the pieces of one disk write.
class BatchBuilder {
 public:
  // False, and nothing changes, when the record does not fit into `bytes_max` more bytes (never for
  // a first record that a segment can hold at all). Checksums are computed here, if the data does
  // not come with its own.
  bool add(RecordInput record, std::uint64_t bytes_max);
  bool empty() const { return records_.size() == 0; }
  std::size_t records() const { return records_.size(); }
  std::uint64_t bytes() const;  // A multiple of the sector size.

  struct Output {
    std::vector<Slice> pieces;        // Sector-aligned memory and sizes.
    std::vector<Location> locations;  // By record; size 0 for records without data.
    std::uint32_t sectors = 0;
  };
  // Lays out and encodes; the builder is empty afterwards. `header` needs everything but records,
  // meta_size and sectors.
  Output finish(BatchHeader header);

 private:
  struct Placed {
    RecordInput input;
    DataChecksum checksum;
    std::uint32_t offset = 0;
  };
  // Assigns every record its offset; returns where the batch ends and lists the aligned records.
  std::uint64_t place(std::vector<Placed*>& aligned);
  Slice encode_front(const BatchHeader& header, std::uint64_t front_bytes, const Placed* first);

  std::vector<Placed> records_;
  std::uint64_t meta_bytes_ = kBatchHeaderBytes;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t aligned_bytes_ = 0;
  std::size_t aligned_count_ = 0;
};

// Bytes of a batch that holds this one record: what a segment must have room for.
std::uint64_t lone_batch_bytes(std::size_t inline_size, std::size_t data_size);

// True when data of this size starts at a sector boundary.
bool starts_aligned(std::size_t data_size);
// Bytes of the checksum table before data of this size; 0 when it has none.
std::uint32_t table_bytes(std::uint32_t data_size);

}  // namespace moraine::blob
