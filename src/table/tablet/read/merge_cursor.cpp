#include "table/tablet/read/merge_cursor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/invariant.h"
#include "io/sync.h"
#include "table/model/fold_row.h"
#include "table/model/merge.h"

namespace moraine::table {
namespace {

// The first bytes of a key as a number of the same order.
std::uint64_t prefix_of(ByteSpan key) {
  std::uint64_t prefix = 0;
  if (!key.empty()) std::memcpy(&prefix, key.data(), std::min<std::size_t>(key.size(), 8));
  return std::byteswap(prefix);
}

// A binary heap of sources by their current keys. Ended sources are above all others.
class MergeCursor final : public RowCursor {
 public:
  explicit MergeCursor(std::vector<std::unique_ptr<RowCursor>> cursors) {
    heap_.reserve(cursors.size());
    for (std::unique_ptr<RowCursor>& cursor : cursors) {
      heap_.push_back(Source{.cursor = std::move(cursor)});
    }
    for (std::size_t at = heap_.size(); at-- > 0;) used_.push_back(at);
    waiting_ = used_;
  }

  Step next() override {
    if (!advance()) return Step::kNeedsData;
    for (const std::size_t at : used_) sift_down(at);
    used_.clear();
    if (heap_.empty() || heap_.front().ended) return Step::kEnd;
    used_.push_back(0);
    if (equals_first(1) || equals_first(2)) {
      merge_equals();
    } else {
      row_ = &heap_.front().cursor->row();
      prepared_ = heap_.front().cursor->prepared();
    }
    waiting_ = used_;
    return Step::kRow;
  }
  const VersionedRow& row() const override { return *row_; }
  bool prepared() const override { return prepared_; }
  void unfold() override {
    for (const std::size_t at : used_) heap_[at].cursor->unfold();
    if (used_.size() > 1) {
      merge_current();
    } else {
      row_ = &heap_[used_.front()].cursor->row();
    }
  }

  Task<Result<void>> load() override {
    if (waiting_.size() == 1) co_return co_await heap_[waiting_.front()].cursor->load();
    Result<void> outcome;
    TaskScope scope;
    for (const std::size_t at : waiting_) scope.spawn(load_one(*heap_[at].cursor, outcome));
    co_await scope.join();
    co_return outcome;
  }

 private:
  struct Source {
    std::unique_ptr<RowCursor> cursor;
    ByteSpan key{};
    std::uint64_t prefix = 0;
    bool ended = false;
  };

  static Task<void> load_one(RowCursor& cursor, Result<void>& outcome) {
    Result<void> loaded = co_await cursor.load();
    if (!loaded && outcome) outcome = std::move(loaded);
  }

  static bool below(const Source& a, const Source& b) {
    if (a.ended || b.ended) return !a.ended && b.ended;
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return compare_keys(a.key, b.key) < 0;
  }

  // Advances the sources of the last row. False: `waiting_` need data.
  bool advance() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      Source& source = heap_[waiting_[i]];
      if (source.ended) continue;
      switch (source.cursor->next()) {
        case Step::kRow:
          source.key = source.cursor->row().key;
          source.prefix = prefix_of(source.key);
          break;
        case Step::kEnd: source.ended = true; break;
        case Step::kNeedsData: waiting_[kept++] = waiting_[i]; break;
      }
    }
    waiting_.resize(kept);
    return kept == 0;
  }

  bool equals_first(std::size_t at) const {
    if (at >= heap_.size() || heap_[at].ended) return false;
    const Source& first = heap_.front();
    return first.prefix == heap_[at].prefix && compare_keys(first.key, heap_[at].key) == 0;
  }

  // Sources with equal keys are a tree at the root. Their positions are collected deepest first, so
  // that sifting them down in that order leaves a heap.
  void merge_equals() {
    rows_.clear();
    prepared_ = false;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      const std::size_t at = used_[i];
      rows_.push_back(heap_[at].cursor->row());
      prepared_ = prepared_ || heap_[at].cursor->prepared();
      if (equals_first(2 * at + 1)) used_.push_back(2 * at + 1);
      if (equals_first(2 * at + 2)) used_.push_back(2 * at + 2);
    }
    std::ranges::reverse(used_);  // Collected level by level: ascending positions.
    merge_rows(rows_, merged_);
    if (!merged_.folded.empty() && folds_overlap(merged_.row())) return unfold();
    show_merged();
  }

  // The rows of the sources in used_.
  void merge_current() {
    rows_.clear();
    for (const std::size_t at : used_) rows_.push_back(heap_[at].cursor->row());
    merge_rows(rows_, merged_);
    show_merged();
  }

  void show_merged() {
    merged_.key = heap_.front().key;
    merged_row_ = merged_.row();
    row_ = &merged_row_;
  }

  void sift_down(std::size_t at) {
    while (true) {
      std::size_t child = 2 * at + 1;
      if (child >= heap_.size()) return;
      if (child + 1 < heap_.size() && below(heap_[child + 1], heap_[child])) ++child;
      if (!below(heap_[child], heap_[at])) return;
      std::swap(heap_[at], heap_[child]);
      at = child;
    }
  }

  std::vector<Source> heap_;
  std::vector<std::size_t> used_;     // Positions that the current row came from, descending.
  std::vector<std::size_t> waiting_;  // Those of them that were not advanced yet.
  std::vector<VersionedRow> rows_;
  RowBuilder merged_;
  VersionedRow merged_row_;
  const VersionedRow* row_ = nullptr;
  bool prepared_ = false;
};

}  // namespace

std::unique_ptr<RowCursor> merge_cursors(std::vector<std::unique_ptr<RowCursor>> sources) {
  INVARIANT(sources.size() <= kMergeSourcesMax, "{} sources", sources.size());
  if (sources.size() == 1) return std::move(sources.front());
  return std::make_unique<MergeCursor>(std::move(sources));
}

}  // namespace moraine::table
