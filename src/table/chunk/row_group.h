// Row groups of the scan format: rows as columns.
//
// A group has one segment (column_segment.h) for each key column, its rows' timestamps, one segment
// for each value column, and the irregular rows: those with several versions, deletes, deltas,
// hunks, or a value in a column of type any that is not YSON. The value columns have null for an
// irregular row.
//
// clang-format off
//   times     = version u8 = 1  seconds words  counters words      (words.h)
//               the newest timestamp of each row
//   irregular = version u8 = 1  rows words  ends words  bytes varint size, bytes
//   bytes of one irregular row, up to its end = kind u8  body (row_code.h)
// clang-format on
//
// Promise    open_group_block() accepts nothing that RowGroup could not read safely.
// Errors     kCorrupt, kUnsupported.
// Threading  Views of immutable bytes.
// Tests      chunk_test.cpp, chunk_block_fuzz.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "moraine/schema.h"
#include "table/chunk/column_segment.h"
#include "table/chunk/hunk_places.h"
#include "table/chunk/row_block.h"

namespace moraine::table {

// The positions of a group's parts among its blocks.
class GroupLayout {
 public:
  explicit GroupLayout(const TableSchema& schema);

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(place_.size() + 2); }
  // For a column of the chunk's schema. Columns of one group are neighbours.
  std::uint32_t column(std::size_t column) const { return place_[column]; }
  std::uint32_t times() const { return times_; }
  std::uint32_t irregular() const { return blocks() - 1; }
  // The column of the segment at `place`, or kNone.
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t column_at(std::uint32_t block) const;

 private:
  std::vector<std::uint32_t> place_;
  std::uint32_t times_ = 0;
};

// The block's form in memory: unpacked, with some readable bytes after it.
Result<Slice> open_group_block(const StoredBlock& stored, std::uint32_t place,
                               const TableSchema& schema, const HunkPlaces& hunks);

inline constexpr std::uint8_t kGroupVersion = 1;
inline constexpr std::size_t kGroupPadding = kBitsPadding;

// When each row was written.
class TimesView {
 public:
  static Result<TimesView> open(ByteSpan bytes, std::uint32_t rows);
  Timestamp get(std::size_t row) const;
  void decode(std::vector<Timestamp>& out) const;

 private:
  WordsView seconds_;
  WordsView counters_;
};

class IrregularView {
 public:
  static Result<IrregularView> open(ByteSpan bytes);
  std::uint32_t size() const { return rows_.size(); }
  std::uint64_t row(std::size_t i) const { return rows_.get(i); }
  // For checking: whether row i's bytes begin at `end`, which is moved to their end.
  bool in_order(std::size_t i, std::uint64_t& end) const;
  bool ends_at(std::uint64_t end) const { return end == bytes_.size(); }
  ByteSpan bytes(std::size_t i) const;
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t find(std::uint64_t row) const;

 private:
  WordsView rows_;
  WordsView ends_;
  ByteSpan bytes_;
};

// The blocks of one group that a reader of rows needs, opened.
class RowGroup {
 public:
  RowGroup(const TableSchema& schema, const GroupLayout& layout, const ReadPlan& plan);

  // Positions of the blocks needed to read rows with these columns, ascending.
  std::vector<std::uint32_t> needed(const ColumnSet* columns) const;
  // Begins another group; blocks must live as long as they are used.
  void begin(std::uint32_t rows);
  // Requires: a block of open_group_block() for this position.
  void set(std::uint32_t place, ByteSpan block);

  std::uint32_t rows() const { return rows_; }
  // Requires: the blocks of the key columns.
  void key(std::uint32_t row, std::string& out) const;
  // The first row that is not below the key.
  std::uint32_t lower_bound(ByteSpan key) const;
  // Requires: the blocks listed by needed().
  bool read(std::uint32_t row, const ReadSpec& spec, RowBuilder& out) const;
  // Requires: the column's block.
  const ColumnSegmentView& segment(std::size_t column) const { return columns_[column]; }
  const TimesView& times() const { return times_; }
  const IrregularView& irregular() const { return irregular_; }

 private:
  const TableSchema* schema_;
  const GroupLayout* layout_;
  const ReadPlan* plan_;
  std::size_t key_count_;
  std::uint32_t rows_ = 0;
  std::vector<ColumnSegmentView> columns_;  // By column of the chunk's schema.
  TimesView times_;
  IrregularView irregular_;
  mutable std::string key_;
};

}  // namespace moraine::table
