// ColumnMerge: rows of chunks of the scan format and of other stores, merged by key, as columns.
//
// A row group that no other source has a key in is returned as it is, without reading its keys, or
// is skipped by the ranges of its values. Whole rows of other stores that are newer take the places
// of a larger chunk's rows with the same keys (GroupPatch). Between other keys where sources
// overlap, runs of rows of one chunk are copied column by column. What remains, such as rows of
// several stores that must be combined (partial writes, deltas, deletes), goes through the
// RowBatcher row by row.
//
// Promise    The same rows as merge_cursors() and RowBatcher return, in key order.
// Threading  One thread at a time; load() on the tablet's executor.
// Limits     A group of each chunk that has rows at the present key (group_cursor.h).
// Tests      column_merge_test.cpp, tablet_scan_test.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "table/chunk/group_cursor.h"
#include "table/tablet/read/deleted_rows_scan.h"
#include "table/tablet/read/run_copy.h"
#include "table/tablet/read/scan_rows.h"

namespace moraine::table {

class ColumnMerge {
 public:
  struct Setup {
    const ScanRequest& request;
    const TableSchema& schema;
    RowBatcher& batcher;
    DeletedRowsScan& deleted_rows;
    ScanStatistics& statistics;
    ReadSpec spec;
    bool texts_stay = false;  // Texts of `rows` outlive the batch.
  };
  // `rows`: those of all other stores; may be null. What `setup` refers to outlives the merge.
  ColumnMerge(std::vector<std::unique_ptr<GroupCursor>> groups, std::unique_ptr<RowCursor> rows,
              Setup setup);

  enum class Stop : std::uint8_t { kPause, kEnd, kNeedsData, kUndecided };
  // Appends to the batch, which the batcher has begun, until it is full or `visit_max` rows were
  // visited. The batch has valid rows whatever is returned.
  Stop read(ColumnBatch& batch, std::size_t visit_max);
  // Rows that the last read() visited.
  std::size_t visited() const { return visited_; }
  Task<Result<void>> load();
  // After kUndecided: the key of the row.
  ByteSpan undecided_key() const { return rows_->row().key; }
  // All rows below this key were visited. Empty: not known.
  const std::string& position() const { return position_; }

 private:
  enum class RowState : std::uint8_t { kUnknown, kHead, kEnd };
  // A source with a current row.
  struct Head {
    std::uint64_t word = 0;
    std::uint32_t source = 0;  // Index among groups_; their number: rows_.
  };
  // Heads by key, the least at the back. Two vectors: a head that is read as a whole just after its
  // parts were written would wait for them.
  class Heads {
   public:
    bool empty() const { return words_.empty(); }
    std::size_t size() const { return words_.size(); }
    Head operator[](std::size_t i) const { return {.word = words_[i], .source = sources_[i]}; }
    Head back() const { return (*this)[size() - 1]; }
    void pop(std::size_t count) {
      words_.resize(words_.size() - count);
      sources_.resize(words_.size());
    }
    // The number of heads above the word: counting all costs less than searching by branches.
    std::size_t count_above(std::uint64_t word) const {
      std::size_t count = 0;
      for (const std::uint64_t other : words_) count += other > word ? 1 : 0;
      return count;
    }
    void remove(std::size_t at) {
      words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(at));
      sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    void insert(std::size_t at, Head head) {
      words_.push_back(head.word);
      sources_.push_back(head.source);
      for (std::size_t i = size() - 1; i > at; --i) {
        words_[i] = words_[i - 1];
        sources_[i] = sources_[i - 1];
      }
      words_[at] = head.word;
      sources_[at] = head.source;
    }

   private:
    std::vector<std::uint64_t> words_;
    std::vector<std::uint32_t> sources_;
  };
  static Task<void> load_group(GroupCursor& cursor, Result<void>& outcome);
  bool is_rows(const Head& head) const { return head.source == groups_.size(); }
  GroupCursor& cursor_of(const Head& head) { return *groups_[head.source]; }
  void await(std::uint32_t source);
  void pop_pending();
  bool advance_rows();
  bool settle_groups();
  bool settle(std::uint32_t source);
  bool is_alone(const GroupCursor& cursor);
  void insert(std::uint32_t source, std::uint64_t word);
  const std::vector<Value>& cells_of(const Head& head);
  std::strong_ordering compare_equal_words(const Head& a, const Head& b);
  std::strong_ordering compare_heads(const Head& a, const Head& b) {
    if (a.word != b.word) return a.word <=> b.word;
    if (order_.decides(a.word)) return std::strong_ordering::equal;
    return compare_equal_words(a, b);
  }
  static KeyOrder order_of(const TableSchema& schema,
                           std::span<const std::unique_ptr<GroupCursor>> groups);
  bool replace_rows(ColumnBatch& batch);
  bool is_larger(const Head& a, const Head& b);
  std::uint32_t first_not_below(GroupCursor& group, std::uint32_t row, const Head& head);
  bool find_row(GroupCursor& group, std::uint32_t& row, const Head& head);
  std::uint32_t replace_from_group(GroupCursor& group, const Head& head);
  bool replace_from_rows(GroupCursor& group, const Head& head);
  bool step(ColumnBatch& batch);
  bool is_plain(const Head& head);
  bool merge_two(ColumnBatch& batch);
  std::uint32_t end_of_run(GroupCursor& cursor, const Head* second);
  bool read_plain_run(std::uint32_t source, std::uint32_t end, ColumnBatch& batch);
  void read_run(std::uint32_t source, std::uint32_t end, ColumnBatch& batch);
  std::uint32_t pick_regular(std::uint32_t source, std::uint32_t row, std::uint32_t end,
                             ColumnBatch& batch);
  void leave_row(const Head& head, ColumnBatch& batch);
  void move_to(std::uint32_t source, std::uint32_t row, ColumnBatch& batch);
  void add_row(const VersionedRow& row, bool texts_stay, ColumnBatch& batch);
  void add_versions(GroupCursor& cursor, std::uint32_t row, ColumnBatch& batch);
  bool read_conflict(ColumnBatch& batch);
  void resolve(ColumnBatch& batch);
  bool hides(const VersionedRow& row, Timestamp older) const;
  void merge_versions(ColumnBatch& batch);
  void begin_visible(GroupCursor& cursor);
  void remember_position();
  bool full(const ColumnBatch& batch) const {
    return copy_.taken() || batch_over_ || setup_.batcher.full(batch) || visited_ >= visit_max_;
  }

  const Setup setup_;
  const bool waits_;
  std::size_t wanted_values_ = 0;
  std::vector<std::unique_ptr<GroupCursor>> groups_;
  const KeyOrder order_;
  RunCopy copy_;
  std::vector<std::uint32_t> pending_;  // Outside a group; by group_from(), the least at the back.
  std::uint64_t pending_word_ = 0;      // word_from() of that one.
  Heads heads_;
  std::optional<std::uint32_t> alone_;  // Whose group no other source has keys in.
  std::unique_ptr<RowCursor> rows_;
  RowState row_state_ = RowState::kUnknown;
  std::vector<GroupCursor*> waiting_;  // Those that load() loads.
  bool rows_wait_ = false;
  std::size_t visited_ = 0;
  std::size_t visit_max_ = 0;
  bool batch_over_ = false;
  std::string position_;
  // Of the current step:
  std::vector<std::uint32_t> replaced_;    // Rows of a group, and those of another
  std::vector<std::uint32_t> replacing_;   // that take their places.
  std::vector<Head> equals_;               // Those with the least key.
  std::vector<std::vector<Value>> cells_;  // Key columns of heads, by source; empty: not decoded.
  std::string key_memory_;
  // Of rows that are read as versions:
  std::vector<std::unique_ptr<RowBuilder>> versions_;
  std::vector<VersionedRow> version_rows_;
  RowBuilder merged_;
};

}  // namespace moraine::table
