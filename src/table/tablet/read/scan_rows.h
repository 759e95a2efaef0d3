// RowBatcher: builds a batch of columns from merged rows.
//
// Promise    add() adds a row that is visible at the timestamp and matches the filters. Texts are
//            copied unless the caller says that they outlive the batch. Hunks are listed; filters
//            on them are applied by resolve().
// Threading  One thread at a time.
// Limits     A batch ends at kBatchRowsMax rows or kBatchTextBytesMax of texts and hunks.
// Tests      tablet_scan_test.cpp.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "table/chunk/hunk.h"
#include "table/tablet/read/tablet_reader.h"
#include "table/tablet/read/visible_row.h"

namespace moraine::table {

inline constexpr std::size_t kBatchTextBytesMax = std::size_t{16} << 20;

// Memory for the texts of one batch.
class TextArena {
 public:
  void clear() {
    block_ = 0;
    used_ = 0;
  }
  std::string_view keep(std::string_view text) {
    if (block_ < blocks_.size() && blocks_[block_].size - used_ >= text.size()) [[likely]] {
      char* to = blocks_[block_].bytes.get() + used_;
      used_ += text.size();
      text.copy(to, text.size());
      return {to, text.size()};
    }
    return keep_in_next_block(text);
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
  struct Block {
    std::unique_ptr<char[]> bytes;
    std::size_t size = 0;
  };
  std::string_view keep_in_next_block(std::string_view text);

  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

class RowBatcher {
 public:
  // All must outlive it.
  RowBatcher(const ScanRequest& request, std::shared_ptr<const TableSchema> schema);

  // Columns of the result and of filters.
  Result<void> prepare();
  const ColumnSet* wanted() const { return columns_.wanted(); }

  // Begins a batch of at most `rows`.
  void begin(ColumnBatch& batch, std::uint64_t rows);
  // True: the row was added to the batch. Requires: !full(). `texts_stay`: the row's texts outlive
  // the batch.
  bool add(const VersionedRow& row, bool texts_stay, ColumnBatch& batch);
  bool full(const ColumnBatch& batch) const {
    return batch.rows == rows_max_ || text_bytes_ >= kBatchTextBytesMax;
  }
  std::size_t rows_max() const { return rows_max_; }
  std::size_t room(const ColumnBatch& batch) const { return rows_max_ - batch.rows; }
  // Truncates vectors to the number of rows.
  void end(ColumnBatch& batch) const;
  std::size_t text_bytes() const { return text_bytes_; }

  // Hunks of the batch, in the order in which resolve() needs their bytes.
  const std::vector<HunkRef>& hunks() const { return hunk_refs_; }
  // Fills them in, and drops rows that do not match filters after all.
  void resolve(std::span<const Slice> bytes, ColumnBatch& batch);

 private:
  // Column of the result, or past its end a filter's.
  struct HunkPlace {
    std::size_t row = 0;
    std::size_t column = 0;
    bool any = false;
    bool wrap = false;  // A string that was written before the column became `any`.
  };

  bool read_values(const VersionedRow& row);
  bool read_key(ByteSpan key);
  bool passes() const;
  bool is_hunk(std::uint32_t at) const;
  void put(ColumnVector& column, std::size_t row, const Value& value, bool texts_stay);
  void put_timestamps(const VersionedRow& row, ColumnBatch& batch);
  void put_hunks(std::size_t row);
  static void drop_rows(const std::vector<bool>& drop, ColumnBatch& batch);

  const ScanRequest& request_;
  std::shared_ptr<const TableSchema> schema_;
  bool has_any_ = false;  // There are columns of type any.
  ReadColumns columns_;
  // Filters as well, with the index of each one's column among those read.
  std::vector<ValueSet> conditions_;
  std::vector<std::uint32_t> condition_at_;
  std::vector<Value> cells_;   // Of the current row: all columns read.
  std::vector<Value> values_;  // Its values, unless they are adjacent in `cells_`.
  std::vector<Value> key_;
  std::string key_memory_;
  TextMemory folded_;
  VisibleRow visible_;
  TextArena arena_;
  std::size_t rows_max_ = kBatchRowsMax;
  std::size_t text_bytes_ = 0;
  std::vector<HunkRef> hunk_refs_;
  std::vector<HunkPlace> hunk_places_;
};

}  // namespace moraine::table
