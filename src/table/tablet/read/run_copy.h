// RunCopy: runs of rows of groups, copied into a batch column by column.
//
// A group that is the whole batch is moved there instead. Of a group of which few rows pass only
// these are decoded. Codes of texts stay codes, of a table made from those of the groups.
//
// Promise    Rows of the batch that were not picked are left as they are.
// Threading  One thread at a time.
// Tests      column_merge_test.cpp.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "table/chunk/group_cursor.h"
#include "table/tablet/read/scan_rows.h"

namespace moraine::table {

class RunCopy {
 public:
  // All must outlive it.
  RunCopy(std::span<const std::unique_ptr<GroupCursor>> groups, const ScanRequest& request,
          const RowBatcher& batcher);

  // The batcher has begun the batch.
  void begin(ColumnBatch& batch);
  // The next rows of the batch are those of a group. Requires: they are regular.
  void pick(std::uint32_t source, std::uint32_t row, std::uint32_t count, ColumnBatch& batch);
  // Copies what was picked. Required before a group is left.
  void flush(ColumnBatch& batch);
  // The batch is a group as it is: no rows may follow.
  bool taken() const { return taken_; }
  // After the last flush().
  void finish(ColumnBatch& batch);

 private:
  // Regular rows to be copied to the batch.
  struct Pick {
    std::uint32_t source = 0;  // Index among groups_.
    std::uint32_t row = 0;
    std::uint32_t count = 0;
    std::uint32_t at = 0;  // In the batch.
  };
  // A source's column in a flush.
  struct Copied {
    const ColumnVector* column = nullptr;
    bool some = false;       // It has only the rows picked, one after another.
    std::uint32_t next = 0;  // Then: the next of them.
  };

  bool take_group(ColumnBatch& batch);
  void prepare_copy(std::size_t i, std::uint32_t source);
  void copy_column(std::size_t i, ColumnBatch& batch);
  std::uint32_t first_of(const Pick& pick) {
    if (!any_some_) [[likely]]
      return pick.row;
    Copied& copied = copied_[pick.source];
    return copied.some ? std::exchange(copied.next, copied.next + pick.count) : pick.row;
  }
  void copy_nulls(ColumnVector& out);
  void copy_texts(std::size_t i, ColumnVector& out);
  void copy_codes(std::size_t i, ColumnVector& out);
  void look_up_codes(std::size_t i, ColumnVector& column);

  const std::span<const std::unique_ptr<GroupCursor>> groups_;
  const ScanRequest& request_;
  const RowBatcher& batcher_;
  std::vector<Pick> picks_;
  bool taken_ = false;
  // By column: the table to which codes of the rows so far refer. Null: texts have no codes.
  std::vector<std::shared_ptr<TextTable>> tables_;
  std::vector<std::uint32_t> code_from_;  // By source: where its table begins in that one.
  std::vector<std::uint32_t> sources_;    // Of the picks.
  std::vector<std::uint8_t> used_;        // By source: it is one of them.
  std::vector<std::uint32_t> picked_;     // By source: rows of the picks.
  std::vector<Copied> copied_;            // By source.
  bool any_some_ = false;                 // Of them has only the rows picked.
  std::vector<std::uint32_t> some_rows_;
  std::vector<ColumnVector> some_;  // By source.
};

}  // namespace moraine::table
