// GroupCursor: the row groups of a chunk of the scan format, for a reader that merges several
// stores by keys and copies the columns of the rows between them.
//
//   kOutside ── enter() ──► kInside: rows first..end ── skip_to(), past the last ──► kOutside ...
//      └── skip() ──► the next group
//
// A row is regular (one write of values) or irregular (several versions, deletes, deltas, hunks),
// as in row_group.h. Columns have values of regular rows; all rows can be read as versions.
//
// Whole rows of other stores can take the places of rows with the same keys: such a row is regular.
//
// Promise    Rows within the bounds, in key order. Columns are decoded when they are first used.
//            What columns return lives until the group is left, and their texts as long as
//            blocks().
// Threading  One thread at a time; load() on the tablet's executor.
// Limits     One group in memory, and what was read ahead (block_feed.h).
// Tests      table/tablet/read/column_merge_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "table/chunk/block_feed.h"
#include "table/chunk/chunk_reader.h"
#include "table/chunk/column_filter.h"
#include "table/chunk/group_patch.h"
#include "table/chunk/key_order.h"
#include "table/chunk/row_group.h"
#include "table/chunk/scan_bounds.h"

namespace moraine::table {

class GroupCursor {
 public:
  // Nullptr: a column has another type in this chunk, or the chunk has the lookup format.
  static std::unique_ptr<GroupCursor> open(std::shared_ptr<const ChunkReader> reader,
                                           const OpenChunk& chunk, const KeyBounds& bounds,
                                           const ColumnScan& scan);

  // What its key columns may be is added to `ranges`, one for each key column of the table.
  void add_key_ranges(std::vector<KeyColumnRange>& ranges) const;
  // Before anything else: how words are made, for all cursors that are merged.
  void set_order(const KeyOrder& order) { order_ = order; }

  // Outside a group: whether there are no more.
  bool ended() const { return unit_ == bounds_.end_unit(); }
  bool inside() const { return inside_; }
  // Frees memory. Nothing else may be called but ended().
  void finish();

  // Of the next group. Rows are at or above `from` and below `to` (empty: no bound).
  ByteSpan group_from() const;
  std::string group_to() const;
  // A lower bound of the words of its rows.
  std::uint64_t word_from() const;
  // None of its rows passes, or is visible; irregular rows do not count as such.
  bool skippable() const { return skippable(unit_); }
  void skip();
  // The next enter() asks for keys, so that load() reads them before it is called.
  void expect_keys() { with_keys_ = true; }
  // False: load(), then try again. Without keys: no other store has a key among those of the group,
  // and word(), compare(), newest() and read() are not called for regular rows.
  bool enter(bool with_keys);
  Task<Result<void>> load();

  // Inside a group:
  std::uint32_t group_rows() const { return group_.rows(); }
  std::uint32_t row() const { return row_; }
  std::uint32_t end_row() const { return end_row_; }
  // Leaves the group at its end. Requires: row() <= row <= end_row().
  void skip_to(std::uint32_t row) {
    row_ = row;
    if (row_ == end_row_) leave();
  }
  // KeyOrder's word of each row.
  std::uint64_t word(std::uint32_t row) const { return words_[row]; }
  const std::uint64_t* words() const { return words_.data(); }
  // Key columns of a row; missing ones are null.
  void key_cells(std::uint32_t row, std::vector<Value>& cells) const;
  void key(std::uint32_t row, std::string& out) const;
  // Requires: equal words.
  std::strong_ordering compare(std::uint32_t row, std::span<const Value> key) const;

  // At or after the row, or end_row().
  std::uint32_t next_irregular(std::uint32_t row) const {
    return irregular_.empty() ? end_row_ : find_irregular(row);
  }
  bool has_irregular_rows() const { return !irregular_.empty(); }
  bool is_irregular(std::uint32_t row) const { return next_irregular(row) == row; }
  Timestamp newest(std::uint32_t row) const {
    const std::uint32_t entry = patch_.find(row);
    return entry == GroupPatch::kNone ? group_.times().get(row) : patch_.time(entry);
  }
  // Some regular row has no value of its own in a wanted column.
  bool has_absents() const { return has_absents_; }
  // Bytes of 1 for regular rows that are visible and pass. Null: all regular rows.
  const std::uint8_t* mask() {
    if (!mask_made_) make_mask();
    return masked_ ? mask_.data() : nullptr;
  }
  // Whole columns of the group, by their position in ColumnScan::columns.
  const ColumnVector& column(std::size_t i);
  bool is_decoded(std::size_t i) const { return decoded_[i]; }
  // Some rows of a column that is not decoded, in their order; texts without codes.
  void read_rows(std::size_t i, std::span<const std::uint32_t> rows, ColumnVector& out) const;
  // The same, moved out; not usable in this group again.
  void take(std::size_t i, ColumnVector& out);
  // The row with its versions. False: it has none at the timestamp.
  bool read(std::uint32_t row, const ReadSpec& spec, RowBuilder& out);

  // Rows that take the places of others. Keys must have been asked for.
  //
  // The first row of the group at or after this one that is not below the word, or end_row().
  std::uint32_t find_word(std::uint32_t row, std::uint64_t word) const;
  // Whether the row is newer than the present one, and than all of its versions.
  bool is_newer(Timestamp time, std::uint32_t row) const {
    const std::uint32_t entry = patch_.find(row);
    if (entry != GroupPatch::kNone) return time > patch_.time(entry);
    return time > newest_of_group_ || time > group_.times().get(row);
  }
  // Whether the row alone determines all wanted values, and is visible.
  bool is_whole(std::uint32_t row) const {
    return patch_.find(row) != GroupPatch::kNone ||
           (!has_absents_ && !is_irregular(row) && newest(row) <= timestamp_);
  }
  // A row of another store, newer and visible. False, and nothing is changed: it does not determine
  // all wanted values at once. Texts must outlive the group and what was taken of it.
  bool replace(std::uint32_t row, const VersionedRow& by);
  // Regular rows of a cursor with the same columns, by[i] for rows[i]; without absents, newer and
  // visible.
  void replace(std::span<const std::uint32_t> rows, GroupCursor& from,
               std::span<const std::uint32_t> by);

  // Appends the blocks into which texts of columns point.
  void keep_blocks(std::vector<Slice>& memory) const {
    memory.insert(memory.end(), blocks_.begin(), blocks_.end());
    memory.insert(memory.end(), patch_.blocks().begin(), patch_.blocks().end());
  }
  // Rows of the chunk.
  std::uint64_t chunk_rows() const { return chunk_->record().statistics.rows; }

 private:
  static constexpr std::size_t kAbsentColumn = ~std::size_t{0};
  struct Source {
    std::size_t column = kAbsentColumn;  // Of the chunk's schema.
    ValueType type = ValueType::kNull;   // Of the table's column.
    ColumnIndex target = 0;
  };
  struct Condition {
    std::size_t source = 0;
    ColumnTest test;
  };

  GroupCursor(std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, KeyBounds bounds,
              const ColumnScan& scan);
  bool prepare(const ColumnScan& scan);
  void add_condition(ColumnIndex column, const ValueSet& values);
  Source source_of(ColumnIndex column) const;
  bool is_key(const Source& source) const { return chunk_->schema().columns[source.target].key; }
  bool readable(const Source& source) const;
  const ChunkMeta& meta() const { return chunk_->meta(); }
  bool skippable(std::uint32_t unit) const;
  bool has_irregular() const { return meta().irregular_rows[unit_] != 0; }
  bool checks_times() const;
  bool checks_bounds() const { return bounded_ && bounds_.is_edge(unit_); }
  std::vector<std::uint32_t> needed(std::uint32_t unit, bool with_keys) const;
  void find_rows();
  std::uint32_t find_irregular(std::uint32_t row) const;
  void leave();
  void decode_keys();
  void decode_fields();
  void decode(std::size_t source, bool text_tables);
  void make_mask();
  void show_replaced(std::span<const std::uint32_t> entries);
  bool read_replaced(std::uint32_t entry, const ReadSpec& spec, RowBuilder& out);

  const std::shared_ptr<const ChunkReader> reader_;
  const OpenChunk* const chunk_;
  ScanStatistics own_statistics_;
  ScanStatistics* const statistics_;
  const bool text_tables_;
  const bool bounded_;
  const ScanBounds bounds_;
  const Timestamp timestamp_;
  KeyOrder order_;
  BlockFeed feed_;
  std::vector<Source> sources_;  // Of the result, then those of conditions only.
  std::size_t outputs_ = 0;
  // Of value columns, by target; a column may be asked for repeatedly.
  std::vector<std::uint32_t> value_sources_;
  bool has_any_ = false;  // A value column of type any, which may hold other types.
  std::vector<Condition> conditions_;
  std::uint32_t unit_ = 0;
  bool with_keys_ = false;  // As the last enter() asked.

  // The group:
  bool inside_ = false;
  RowGroup group_;
  std::vector<std::uint32_t> places_;
  std::vector<Slice> blocks_;
  std::uint32_t row_ = 0;
  std::uint32_t end_row_ = 0;
  std::vector<std::uint64_t> words_;
  ColumnVector first_key_;
  std::vector<std::uint32_t> irregular_;
  bool has_absents_ = false;
  Timestamp newest_of_group_ = 0;
  GroupPatch patch_;
  std::vector<std::uint32_t> replaced_;  // Entries.
  std::vector<ColumnVector> columns_;    // By source.
  std::vector<bool> decoded_;
  bool mask_made_ = false;
  bool masked_ = false;
  std::vector<std::uint8_t> mask_;
  std::vector<std::uint8_t> key_mask_;  // Of conditions of keys. Empty: there are none.
  std::vector<Timestamp> times_;
  mutable std::string key_;
};

}  // namespace moraine::table
