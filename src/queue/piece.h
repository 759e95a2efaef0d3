// Piece: consecutive entries of a partition encoded as one run of bytes. A head blob is one piece,
// a body blob has one or more.
//
// Promise    open() accepts what encode() returns; anything else is kCorrupt. Payloads are adjacent
//            in the order of their offsets, so a reader gets many with one slice.
// Limits     kPieceEntriesMax, kPieceSourcesMax, 4 GiB.
//
// clang-format off
//   piece    header index payloads
//   header   magic u32, version u8 = 1, zero u8, sources u16,
//            crc u32 (of the header after it, and the index), payload crc u32,
//            first offset u64, messages u32, entries u32, index bytes u32, payload bytes u32,
//            written u64 (ms, of the first entry), max timestamp i64 (ms)
//   index    entry*, then sources * sized text
//   entry    offset - first offset u32, messages u32, payload at u32, payload bytes u32, format u8,
//            zero u8, source u16 (0: none), number u64, max timestamp i64,
//            written - the first's u32
// clang-format on
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_chain.h"
#include "base/bytes.h"
#include "base/result.h"
#include "queue/partition.h"

namespace moraine::queue {

inline constexpr std::size_t kPieceHeaderBytes = 56;
inline constexpr std::size_t kPieceEntryBytes = 40;
inline constexpr std::size_t kPieceEntriesMax = 65'536;
inline constexpr std::size_t kPieceSourcesMax = 65'535;

struct PieceHeader {
  Offset first_offset = 0;
  std::uint32_t messages = 0;
  std::uint32_t entries = 0;
  std::uint16_t sources = 0;
  std::uint32_t index_crc = 0;
  std::uint32_t payload_crc = 0;
  std::uint32_t index_bytes = 0;
  std::uint32_t payload_bytes = 0;
  std::uint64_t written_ms = 0;
  std::int64_t max_timestamp_ms = 0;

  Offset end_offset() const { return first_offset + messages; }
  std::size_t bytes() const { return kPieceHeaderBytes + std::size_t{index_bytes} + payload_bytes; }
};

// Decodes only the header at the start of `bytes`; its checksum is not checked.
Result<PieceHeader> decode_piece_header(ByteSpan bytes);

// At most how many bytes the entry takes in a piece: its source id is counted every time.
std::size_t piece_cost(const StoredEntry& entry);

// A longer piece is one slice, which a device writes from where it is. A shorter one refers to its
// payloads: the device copies it between other data anyway.
inline constexpr std::size_t kReferringPieceBytesMax = 64u << 10;

struct EncodedPiece {
  PieceHeader header;
  ByteChain bytes;
};
// Requires: at least one entry, consecutive offsets, and the limits. Kafka batches get their
// offset.
EncodedPiece encode_piece(const std::vector<StoredEntry>& entries);
// The header and index of a piece with one entry whose payload is stored separately, after it.
Slice encode_piece_front(const StoredEntry& entry, std::uint32_t payload_bytes,
                         std::uint32_t payload_crc);

// An opened piece: its bytes and where its entries are.
class Piece {
 public:
  Piece() = default;
  // Checks both checksums.
  static Result<Piece> open(Slice bytes);
  // What encode_piece() has returned, in one slice; checks nothing.
  static Piece trusted(const EncodedPiece& encoded);

  const PieceHeader& header() const { return header_; }
  std::size_t entries() const { return header_.entries; }
  StoredEntry entry(std::size_t index) const;
  // The entry that holds the offset. Requires: it is in the piece.
  std::size_t index_of(Offset offset) const;
  std::int64_t max_timestamp_ms(std::size_t index) const;
  std::size_t payload_bytes(std::size_t index) const;
  const Slice& bytes() const { return bytes_; }

 private:
  const std::byte* at(std::size_t index) const {
    return bytes_.data() + kPieceHeaderBytes + index * kPieceEntryBytes;
  }
  Result<void> check_index() const;
  std::string source(std::size_t number) const;

  PieceHeader header_;
  Slice bytes_;
};

}  // namespace moraine::queue
