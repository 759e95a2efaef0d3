#include "blob/device/batch.h"

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "io/disk.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kMagic = 0x424e524d;  // "MRNB"
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kChecksumFrom = 12;
constexpr std::uint64_t kAlignedCost = kSectorSize;  // Slack that a table may need.

void encode_header(std::byte* to, const BatchHeader& header) {
  store(to, kMagic);
  store(to + 4, kVersion);
  store(to + 6, header.records);
  store(to + 12, header.meta_size);
  store(to + 16, header.sectors);
  store(to + 20, header.segment);
  store(to + 24, header.sector);
  store(to + 32, header.run);
  store(to + 40, header.device);
  store(to + 48, header.epoch);
  store(to + 56, header.sequence);
  store(to + 64, header.durable);
  store(to + 72, header.run_first);
  store(to + 80, header.previous_last);
}

void encode_table(std::byte* to, const std::vector<std::uint32_t>& table) {
  if (!table.empty()) std::memcpy(to, table.data(), table.size() * sizeof(std::uint32_t));
}

// A sector-aligned, zero-padded copy.
Slice padded_copy(const ByteChain& bytes) {
  Buffer buffer = Buffer::zeroed(align_up(bytes.size(), kSectorSize));
  bytes.copy_to(buffer.data());
  return std::move(buffer).freeze();
}

// Aligned memory is written without a copy; only an incomplete last sector is copied.
void append_data(std::vector<Slice>& pieces, const ByteChain& data) {
  const Slice* const single = data.single();
  if (!single || !single->aligned(kSectorSize)) {
    pieces.push_back(padded_copy(data));
    return;
  }
  const std::uint64_t whole = align_down(data.size(), kSectorSize);
  if (whole > 0) pieces.push_back(single->sub(0, whole));
  if (whole < data.size()) {
    pieces.push_back(padded_copy(single->sub(whole, data.size() - whole)));
  }
}

// Requires: more than kChecksumBlock bytes are in one slice.
DataChecksum checksum_chain(const ByteChain& data) {
  if (data.size() > kChecksumBlock) return checksum_data(*data.single());
  DataChecksum checksum;
  checksum.crc = data.known_checksum() ? *data.known_checksum() : data.compute_checksum();
  return checksum;
}

}  // namespace

bool starts_aligned(std::size_t data_size) {
  return data_size > 0 && (data_size >= kChecksumBlock || data_size % kSectorSize == 0);
}

std::uint32_t table_bytes(std::uint32_t data_size) {
  if (data_size <= kChecksumBlock) return 0;
  return (data_size + kChecksumBlock - 1) / kChecksumBlock * sizeof(std::uint32_t);
}

DataChecksum checksum_data(ByteSpan data) {
  DataChecksum checksum;
  if (data.size() <= kChecksumBlock) {
    checksum.crc = crc32c(data);
    return checksum;
  }
  for (std::size_t offset = 0; offset < data.size(); offset += kChecksumBlock) {
    const std::size_t size = std::min<std::size_t>(kChecksumBlock, data.size() - offset);
    checksum.table.push_back(crc32c(data.subspan(offset, size)));
  }
  checksum.crc = crc32c(std::as_bytes(std::span(checksum.table)));
  return checksum;
}

std::uint64_t lone_batch_bytes(std::size_t inline_size, std::size_t data_size) {
  const std::uint64_t front = kBatchHeaderBytes + kDescriptorBytes + inline_size +
                              table_bytes(static_cast<std::uint32_t>(data_size));
  if (!starts_aligned(data_size)) return align_up(front + data_size, kSectorSize);
  return align_up(front, kSectorSize) + align_up(data_size, kSectorSize);
}

std::optional<BatchHeader> peek_header(ByteSpan sector) {
  if (sector.size() < kBatchHeaderBytes) return std::nullopt;
  const std::byte* at = sector.data();
  if (load<std::uint32_t>(at) != kMagic || load<std::uint16_t>(at + 4) != kVersion) {
    return std::nullopt;
  }
  BatchHeader header;
  header.records = load<std::uint16_t>(at + 6);
  header.meta_size = load<std::uint32_t>(at + 12);
  header.sectors = load<std::uint32_t>(at + 16);
  header.segment = load<std::uint32_t>(at + 20);
  header.sector = load<std::uint32_t>(at + 24);
  header.run = load<std::uint32_t>(at + 32);
  header.device = load<std::uint64_t>(at + 40);
  header.epoch = load<std::uint64_t>(at + 48);
  header.sequence = load<std::uint64_t>(at + 56);
  header.durable = load<std::uint64_t>(at + 64);
  header.run_first = load<std::uint64_t>(at + 72);
  header.previous_last = load<std::uint64_t>(at + 80);
  if (header.meta_size < kBatchHeaderBytes) return std::nullopt;
  if (header.meta_size > std::uint64_t{header.sectors} * kSectorSize) return std::nullopt;
  return header;
}

Result<BatchMeta> decode_meta(ByteSpan bytes) {
  const auto header = peek_header(bytes);
  if (!header) return fail(Errc::kCorrupt, "no batch header");
  if (bytes.size() < header->meta_size) return fail(Errc::kCorrupt, "batch meta is truncated");
  const ByteSpan meta = bytes.first(header->meta_size);
  const auto expected = load<std::uint32_t>(bytes.data() + 8);
  if (crc32c(meta.subspan(kChecksumFrom)) != expected) {
    return fail(Errc::kCorrupt, "batch meta checksum does not match");
  }
  BatchMeta batch{*header, {}};
  const std::uint64_t batch_bytes = std::uint64_t{header->sectors} * kSectorSize;
  Decoder decoder(meta.subspan(kBatchHeaderBytes));
  for (std::uint32_t i = 0; i < header->records; ++i) {
    RecordView record;
    record.owner = decoder.u8();
    record.kind = decoder.u8();
    const std::uint16_t inline_size = decoder.u16();
    record.data_size = decoder.u32();
    record.data_offset = decoder.u32();
    record.data_crc = decoder.u32();
    record.inline_bytes = decoder.raw(inline_size);
    if (decoder.failed()) return fail(Errc::kCorrupt, "batch descriptors are truncated");
    if (record.data_size > 0 &&
        (record.data_offset < header->meta_size ||
         std::uint64_t{record.data_offset} + record.data_size > batch_bytes)) {
      return fail(Errc::kCorrupt, "record data lies outside its batch");
    }
    batch.records.push_back(record);
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "bytes after the last descriptor");
  return batch;
}

std::uint64_t BatchBuilder::bytes() const {
  return align_up(meta_bytes_ + packed_bytes_, kSectorSize) + aligned_bytes_;
}

bool BatchBuilder::add(RecordInput record, std::uint64_t bytes_max) {
  INVARIANT(record.inline_bytes.size() <= kInlineBytesMax, "{} inline bytes",
            record.inline_bytes.size());
  const std::size_t size = record.data.size();
  const std::uint64_t meta = kDescriptorBytes + record.inline_bytes.size();
  std::uint64_t packed = 0;
  std::uint64_t aligned = 0;
  if (starts_aligned(size)) {
    const std::uint32_t table = table_bytes(static_cast<std::uint32_t>(size));
    aligned = align_up(size, kSectorSize) + (table > 0 && aligned_count_ > 0 ? kAlignedCost : 0);
    if (aligned_count_ == 0) packed = table;
  } else {
    packed = size;
  }
  const std::uint64_t total =
      align_up(meta_bytes_ + meta + packed_bytes_ + packed, kSectorSize) + aligned_bytes_ + aligned;
  if (total > bytes_max || records_.size() == kBatchRecordsMax) return false;
  if (aligned > 0 && (aligned_count_ + 1) * 3 > kBatchPiecesMax) return false;
  if (size > kChecksumBlock && !record.data.single()) record.data = record.data.joined();
  DataChecksum checksum = checksum_chain(record.data);
  meta_bytes_ += meta;
  packed_bytes_ += packed;
  aligned_bytes_ += aligned;
  if (aligned > 0) ++aligned_count_;
  records_.push_back(Placed{std::move(record), std::move(checksum)});
  return true;
}

// Packed data first, after the meta; then aligned data in the order of adding, each with its
// checksum table right before it.
std::uint64_t BatchBuilder::place(std::vector<Placed*>& aligned) {
  std::uint64_t at = meta_bytes_;
  for (Placed& placed : records_) {
    const std::size_t size = placed.input.data.size();
    if (size == 0) continue;
    if (starts_aligned(size)) {
      aligned.push_back(&placed);
      continue;
    }
    placed.offset = static_cast<std::uint32_t>(at);
    at += size;
  }
  for (Placed* placed : aligned) {
    const auto size = static_cast<std::uint32_t>(placed->input.data.size());
    at = align_up(at + table_bytes(size), kSectorSize);
    placed->offset = static_cast<std::uint32_t>(at);
    at += align_up(size, kSectorSize);
  }
  return align_up(at, kSectorSize);
}

// Everything before the first aligned data: header, descriptors, packed data, the first table.
Slice BatchBuilder::encode_front(const BatchHeader& header, std::uint64_t front_bytes,
                                 const Placed* first) {
  Buffer front = Buffer::zeroed(front_bytes);
  std::byte* at = front.data() + kBatchHeaderBytes;
  for (const Placed& placed : records_) {
    const RecordInput& input = placed.input;
    store(at, input.owner);
    store(at + 1, input.kind);
    store(at + 2, static_cast<std::uint16_t>(input.inline_bytes.size()));
    store(at + 4, static_cast<std::uint32_t>(input.data.size()));
    store(at + 8, placed.offset);
    store(at + 12, placed.checksum.crc);
    at += kDescriptorBytes;
    if (!input.inline_bytes.empty()) {
      std::memcpy(at, input.inline_bytes.data(), input.inline_bytes.size());
      at += input.inline_bytes.size();
    }
    if (!input.data.empty() && !starts_aligned(input.data.size())) {
      input.data.copy_to(front.data() + placed.offset);
    }
  }
  if (first) {
    const auto table = first->checksum.table.size() * sizeof(std::uint32_t);
    encode_table(front.data() + front_bytes - table, first->checksum.table);
  }
  encode_header(front.data(), header);
  const ByteSpan covered(front.data() + kChecksumFrom, header.meta_size - kChecksumFrom);
  store(front.data() + 8, crc32c(covered));
  return std::move(front).freeze();
}

BatchBuilder::Output BatchBuilder::finish(BatchHeader header) {
  std::vector<Placed*> aligned;
  const std::uint64_t end = place(aligned);
  header.records = static_cast<std::uint16_t>(records_.size());
  header.meta_size = static_cast<std::uint32_t>(meta_bytes_);
  header.sectors = static_cast<std::uint32_t>(end / kSectorSize);

  Output output;
  output.sectors = header.sectors;
  const Placed* first = aligned.empty() ? nullptr : aligned.front();
  std::uint64_t written = first ? first->offset : end;
  output.pieces.push_back(encode_front(header, written, first));
  for (const Placed* placed : aligned) {
    if (const std::uint64_t gap = placed->offset - written; gap > 0) {
      Buffer buffer = Buffer::zeroed(gap);
      const auto table = placed->checksum.table.size() * sizeof(std::uint32_t);
      encode_table(buffer.data() + gap - table, placed->checksum.table);
      output.pieces.push_back(std::move(buffer).freeze());
    }
    append_data(output.pieces, placed->input.data);
    written = placed->offset + align_up(placed->input.data.size(), kSectorSize);
  }
  INVARIANT(written == end, "batch pieces end at {} and not at {}", written, end);
  const std::uint64_t base = std::uint64_t{header.sector} * kSectorSize;
  for (const Placed& placed : records_) {
    output.locations.push_back(
        Location{header.segment, static_cast<std::uint32_t>(base + placed.offset),
                 static_cast<std::uint32_t>(placed.input.data.size()), placed.checksum.crc});
  }
  *this = BatchBuilder();
  return output;
}

}  // namespace moraine::blob
