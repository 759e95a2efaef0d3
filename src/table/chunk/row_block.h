// Blocks of the lookup format: some rows of ascending keys.
//
// clang-format off
//   block  = version u8 = 1  flags u8 (1: keys of one size, 2: rows of one kind)  rows varint
//            prefix varint size, bytes   suffix varint size, bytes
//                                           what all keys begin and end with
//            [key size varint]  [kind u8]
//            base seconds varint  base counter varint  second bits u8  counter bits u8
//            times                          rows * (second bits + counter bits) bits, to a whole
//                                           byte: the newest timestamp of each
//            row*
//   row    = [key size varint]  the middle of the key  [kind u8]  body (row_code.h)
// clang-format on
//
// In memory a block is the same bytes after a head, one byte of each key's hash, and where each row
// begins: a key is found by comparing bytes of hashes, eight at a time, and then that row alone.
//
// Promise    open_row_block() accepts nothing that RowBlock could not read safely.
// Limits     The builder ends a block before its form in memory exceeds the size asked for, unless
//            one row does.
// Errors     kCorrupt, kUnsupported.
// Threading  RowBlock: a view of immutable bytes. Builder: one thread.
// Tests      chunk_test.cpp, chunk_block_fuzz.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "table/chunk/chunk.h"
#include "table/chunk/codec.h"
#include "table/chunk/hunk_places.h"
#include "table/chunk/row_code.h"

namespace moraine::table {

inline constexpr std::uint64_t kBlockRowsMax = 1u << 20;

class RowBlockBuilder {
 public:
  RowBlockBuilder(std::vector<ValueType> types, ColumnIndex first_column, std::size_t block_bytes,
                  std::size_t row_bytes_max = kEncodedRowBytesMax);

  // False: the block is full and the row was not added.
  Result<bool> add(const VersionedRow& row);
  std::uint32_t rows() const { return static_cast<std::uint32_t>(rows_.size()); }
  // Returns the block and begins the next. Requires: a row.
  std::string finish();

 private:
  struct Row {
    std::size_t key_end = 0;
    std::size_t body_end = 0;
    Timestamp newest = 0;
    std::uint8_t kind = 0;
  };
  std::size_t memory_bytes_with(ByteSpan new_key, std::size_t body_size) const;
  std::string_view key(std::size_t row) const;
  std::string_view body(std::size_t row) const;
  void append_head(std::string& out, std::size_t prefix, std::size_t suffix) const;
  void append_times(std::string& out) const;
  std::size_t shared_suffix(std::size_t prefix) const;

  const std::vector<ValueType> types_;
  const ColumnIndex first_column_;
  const std::size_t block_bytes_;
  const std::size_t row_bytes_max_;
  std::string keys_;
  std::string bodies_;
  std::vector<Row> rows_;
  std::string scratch_;
};

// What the meta says of a stored block.
struct StoredBlock {
  ByteSpan bytes;
  CodecKind codec = CodecKind::kNone;
  std::size_t raw_bytes = 0;
  std::uint32_t rows = 0;
};
// The block's form in memory. Hunk references are completed by `hunks`.
Result<Slice> open_row_block(const StoredBlock& stored, CellTypes types, const HunkPlaces& hunks);

struct RowBlockHead {
  std::uint32_t rows = 0;
  std::uint32_t offsets_at = 0;  // Places count from the head.
  std::uint32_t times_at = 0;
  std::uint32_t prefix_at = 0;
  std::uint32_t prefix_size = 0;
  std::uint32_t suffix_at = 0;
  std::uint32_t suffix_size = 0;
  std::uint32_t key_size = 0;  // Size of every key's middle, when it is the same.
  std::uint64_t base_seconds = 0;
  std::uint32_t base_counter = 0;
  std::uint8_t second_bits = 0;
  std::uint8_t counter_bits = 0;
  std::uint8_t kind = 0;  // Kind of every row, when it is the same.
  bool wide_offsets : 1 = false;
  bool one_key_size : 1 = false;
  bool one_kind : 1 = false;
};
static_assert(sizeof(RowBlockHead) == 48);

class RowBlock {
 public:
  // Requires: bytes of open_row_block() that live as long as this.
  explicit RowBlock(const Slice& bytes) : base_(bytes.data()) {}

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::uint32_t rows() const { return head().rows; }
  // kNone: no such key. `hash`: the key's.
  std::uint32_t find(ByteSpan key, std::uint64_t hash) const;
  // The first row that is not below the key; rows() when there is none.
  std::uint32_t lower_bound(ByteSpan key) const;
  void key(std::uint32_t row, std::string& out) const;
  // Adds what `spec` requests; false when that is nothing.
  bool read(std::uint32_t row, const ReadPlan& plan, const ReadSpec& spec, RowBuilder& out) const;

  // A row in its stored form, for callers that decode it themselves.
  struct Stored {
    ByteSpan middle;                  // Of the key.
    const std::byte* body = nullptr;  // row_code.h
    std::uint8_t kind = 0;
  };
  Stored stored(std::uint32_t row) const {
    const RowBlockHead& h = head();
    const Place at = place(row);
    if (h.one_kind) return {at.middle, at.after, h.kind};
    return {at.middle, at.after + 1, static_cast<std::uint8_t>(*at.after)};
  }
  ByteSpan prefix() const { return {base_ + head().prefix_at, head().prefix_size}; }
  ByteSpan suffix() const { return {base_ + head().suffix_at, head().suffix_size}; }
  Timestamp newest(std::uint32_t row) const;
  // Prefetches what find() reads first.
  void prefetch() const {
    for (std::size_t at = 0; at < kPrefetchBytes; at += 64) __builtin_prefetch(base_ + at);
  }
  // Prefetches the row that find() of this hash will read. Only useful after prefetch().
  void prefetch_row(std::uint64_t hash) const;

 private:
  static constexpr std::size_t kPrefetchBytes = 320;

  struct Place {
    ByteSpan middle;
    const std::byte* after = nullptr;  // Kind, unless it is the block's, and body.
  };
  const RowBlockHead& head() const { return *reinterpret_cast<const RowBlockHead*>(base_); }
  Place place(std::uint32_t row) const {
    const RowBlockHead& h = head();
    const std::byte* offsets = base_ + h.offsets_at;
    const std::byte* at = base_ + (h.wide_offsets ? load<std::uint32_t>(offsets + row * 4)
                                                  : load<std::uint16_t>(offsets + row * 2));
    const std::size_t size = h.one_key_size ? h.key_size : get_varint(at);
    return {.middle = ByteSpan(at, size), .after = at + size};
  }
  bool equals(std::uint32_t row, ByteSpan key) const;

  const std::byte* base_;
};

}  // namespace moraine::table
