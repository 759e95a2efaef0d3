#include "table/tablet/read/column_merge.h"

#include <algorithm>

#include "base/invariant.h"
#include "io/sync.h"
#include "table/model/fold_row.h"

namespace moraine::table {
namespace {

// A batch that has this many rows when a group ends is returned, so that the next group may be
// returned whole.
constexpr std::size_t kBatchRowsEnough = kBatchRowsMax / 2;

Timestamp newest_of(const VersionedRow& row) {
  const Timestamp written = row.write_timestamps.empty() ? 0 : row.write_timestamps.front();
  const Timestamp deleted = row.delete_timestamps.empty() ? 0 : row.delete_timestamps.front();
  return std::max(written, deleted);
}

}  // namespace

ColumnMerge::ColumnMerge(std::vector<std::unique_ptr<GroupCursor>> groups,
                         std::unique_ptr<RowCursor> rows, Setup setup)
    : setup_(setup),
      order_(setup.schema),
      waits_(setup.request.timestamp != kAsyncLastCommitted),
      groups_(std::move(groups)),
      rows_(std::move(rows)),
      row_state_(rows_ ? RowState::kUnknown : RowState::kEnd) {
  for (std::size_t i = setup_.schema.key_count(); i < setup_.schema.columns.size(); ++i) {
    const auto column = static_cast<ColumnIndex>(i);
    if (setup_.spec.columns == nullptr || setup_.spec.columns->has(column)) ++wanted_values_;
  }
  for (const std::unique_ptr<GroupCursor>& group : groups_) await(*group);
}

// Puts a cursor that is outside a group in its place.
void ColumnMerge::await(GroupCursor& cursor) {
  if (cursor.ended()) return cursor.finish();
  const auto above = [](const GroupCursor* a, const GroupCursor* b) {
    return compare_keys(a->group_from(), b->group_from()) > 0;
  };
  pending_.insert(std::ranges::upper_bound(pending_, &cursor, above), &cursor);
}

ColumnMerge::Stop ColumnMerge::read(ColumnBatch& batch, std::size_t visit_max) {
  visited_ = 0;
  visit_max_ = visit_max;
  batch_over_ = false;
  waiting_.clear();
  rows_wait_ = false;
  Stop stop = Stop::kPause;
  while (!full(batch)) {
    if (alone_ != nullptr) {
      read_run(*alone_, alone_->end_row(), batch);
      continue;
    }
    if (!advance_rows() || !settle_groups()) {
      stop = Stop::kNeedsData;
      break;
    }
    if (alone_ != nullptr) continue;
    if (heads_.empty()) {
      stop = Stop::kEnd;
      break;
    }
    if (!step(batch)) {
      stop = Stop::kUndecided;
      break;
    }
  }
  flush(batch);
  remember_position();
  return stop;
}

// False: the rows of other stores must be loaded.
bool ColumnMerge::advance_rows() {
  if (row_state_ != RowState::kUnknown) return true;
  switch (rows_->next()) {
    case RowCursor::Step::kNeedsData: rows_wait_ = true; return false;
    case RowCursor::Step::kEnd: row_state_ = RowState::kEnd; return true;
    case RowCursor::Step::kRow: break;
  }
  row_state_ = RowState::kHead;
  heads_.push_back({.cursor = nullptr, .word = order_.of_bound(rows_->row().key)});
  return true;
}

std::uint64_t ColumnMerge::least_word() const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const Head& head : heads_) least = std::min(least, head.word);
  return least;
}

// Enters the groups that may have rows before those of all heads. False: some must be loaded.
bool ColumnMerge::settle_groups() {
  while (alone_ == nullptr && !pending_.empty() && pending_.back()->word_from() <= least_word()) {
    if (settle(*pending_.back())) continue;
    // Others that are needed with it are loaded together.
    const std::uint64_t least = least_word();
    for (std::size_t i = pending_.size(); i-- > 0 && pending_[i]->word_from() <= least;) {
      waiting_.push_back(pending_[i]);
      if (waiting_.size() > 1) pending_[i]->expect_keys();
    }
    return false;
  }
  return true;
}

// Of the cursor at the back of pending_.
bool ColumnMerge::settle(GroupCursor& cursor) {
  const bool alone =
      is_alone(cursor, pending_.size() > 1 ? pending_[pending_.size() - 2] : nullptr);
  if (alone && cursor.skippable()) {
    begin_visible(cursor);
    pending_.pop_back();
    cursor.skip();
    await(cursor);
    return true;
  }
  if (!cursor.enter(!alone)) return false;
  pending_.pop_back();
  if (!cursor.inside()) {
    await(cursor);
  } else if (alone) {
    alone_ = &cursor;
  } else {
    heads_.push_back({.cursor = &cursor, .word = cursor.word(cursor.row())});
  }
  return true;
}

// Whether no other source has a key in the cursor's next group. `next`: the next pending cursor.
bool ColumnMerge::is_alone(const GroupCursor& cursor, const GroupCursor* next) const {
  const std::string to = cursor.group_to();
  const std::uint64_t word = order_.of_bound(as_bytes(to));
  if (next != nullptr && compare_keys(next->group_from(), as_bytes(to)) < 0) return false;
  std::string key;
  return std::ranges::none_of(heads_, [&](const Head& head) {
    if (head.word > word) return false;
    if (head.cursor == nullptr) return compare_keys(rows_->row().key, as_bytes(to)) < 0;
    head.cursor->key(head.cursor->row(), key);
    return compare_keys(as_bytes(key), as_bytes(to)) < 0;
  });
}

const std::vector<Value>& ColumnMerge::cells_of(const Head& head, std::vector<Value>& memory) {
  if (head.cursor != nullptr) {
    head.cursor->key_cells(head.cursor->row(), memory);
    return memory;
  }
  memory.clear();
  const Result<void> decoded = decode_key(rows_->row().key, memory, key_memory_);
  INVARIANT(decoded, "a stored key: {}", decoded.error().message());
  memory.resize(setup_.schema.key_count());
  return memory;
}

std::strong_ordering ColumnMerge::compare_heads(const Head& a, const Head& b) {
  if (a.word != b.word) return a.word <=> b.word;
  if (order_.decides(a.word)) return std::strong_ordering::equal;
  if (a.cursor != nullptr) return a.cursor->compare(a.cursor->row(), cells_of(b, cells_b_));
  return 0 <=> b.cursor->compare(b.cursor->row(), cells_of(a, cells_a_));
}

void ColumnMerge::find_least(std::size_t& least, std::size_t& second) {
  least = 0;
  second = kNone;
  for (std::size_t i = 1; i < heads_.size(); ++i) {
    if (compare_heads(heads_[i], heads_[least]) < 0) {
      second = least;
      least = i;
    } else if (second == kNone || compare_heads(heads_[i], heads_[second]) < 0) {
      second = i;
    }
  }
}

// Reads the rows of one source up to the next key of another, or one row of several sources. False:
// the row is undecided.
bool ColumnMerge::step(ColumnBatch& batch) {
  std::size_t least = 0;
  std::size_t second = kNone;
  find_least(least, second);
  if (second != kNone && compare_heads(heads_[least], heads_[second]) == 0) {
    return read_conflict(least, batch);
  }
  if (GroupCursor* cursor = heads_[least].cursor) {
    read_run(*cursor, end_of_run(*cursor, second == kNone ? nullptr : &heads_[second]), batch);
    if (cursor->inside()) {
      heads_[least].word = cursor->word(cursor->row());
    } else {
      heads_.erase(heads_.begin() + static_cast<std::ptrdiff_t>(least));
    }
    return true;
  }
  if (waits_ && rows_->prepared()) return false;
  ++visited_;
  ++setup_.statistics.rows_read;
  ++setup_.statistics.rows_merged;
  add_row(rows_->row(), setup_.texts_stay, batch);
  leave_row(least, batch);
  return true;
}

// The first row of the cursor's group that is not before `second`, nor before the next pending
// group. Requires: its present row is.
std::uint32_t ColumnMerge::end_of_run(const GroupCursor& cursor, const Head* second) {
  const std::uint64_t pending = pending_.empty() ? ~std::uint64_t{0} : pending_.back()->word_from();
  const bool by_pending = !pending_.empty() && (second == nullptr || pending <= second->word);
  const std::uint64_t bound = by_pending ? pending : second == nullptr ? 0 : second->word;
  const std::uint64_t* words = cursor.words();
  const bool unbounded = pending_.empty() && second == nullptr;
  const std::vector<Value>* cells = nullptr;
  if (!by_pending && second != nullptr && !order_.decides(bound)) {
    cells = &cells_of(*second, cells_b_);
  }
  const auto is_before = [&](std::uint32_t row) {
    if (unbounded || words[row] < bound) return true;
    return words[row] == bound && cells != nullptr && cursor.compare(row, *cells) < 0;
  };
  std::uint32_t from = cursor.row() + 1;
  std::uint32_t step = 1;
  while (from < cursor.end_row() && is_before(std::min(from + step, cursor.end_row()) - 1)) {
    from = std::min(from + step, cursor.end_row());
    step *= 2;
  }
  std::uint32_t to = std::min(from + step, cursor.end_row());
  while (from < to) {
    const std::uint32_t middle = from + (to - from) / 2;
    if (is_before(middle)) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

void ColumnMerge::read_run(GroupCursor& cursor, std::uint32_t end, ColumnBatch& batch) {
  const std::uint32_t begin = cursor.row();
  std::uint32_t row = begin;
  while (row < end && !setup_.batcher.full(batch)) {
    const std::uint32_t irregular = cursor.next_irregular(row);
    if (irregular > row) {
      row = pick_regular(cursor, row, std::min(end, irregular), batch);
      continue;
    }
    add_versions(cursor, row, batch);
    ++setup_.statistics.rows_merged;
    ++row;
  }
  visited_ += row - begin;
  move_to(cursor, row, batch);
}

// Returns the first row that was not visited.
std::uint32_t ColumnMerge::pick_regular(GroupCursor& cursor, std::uint32_t row, std::uint32_t end,
                                        ColumnBatch& batch) {
  begin_visible(cursor);
  const std::uint8_t* mask = cursor.mask();
  std::size_t room = setup_.batcher.room(batch);
  if (mask == nullptr) {
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(end - row, room));
    pick(cursor, row, count, batch);
    return row + count;
  }
  while (row < end && room > 0) {
    if (mask[row] == 0) {
      ++row;
      continue;
    }
    const std::uint32_t from = row;
    while (row < end && mask[row] != 0 && row - from < room) ++row;
    pick(cursor, from, row - from, batch);
    room -= row - from;
  }
  return row;
}

void ColumnMerge::pick(GroupCursor& cursor, std::uint32_t row, std::uint32_t count,
                       ColumnBatch& batch) {
  auto source = static_cast<std::uint32_t>(sources_.size());
  while (source > 0 && sources_[source - 1] != &cursor) --source;
  if (source == 0) {
    sources_.push_back(&cursor);
    source = static_cast<std::uint32_t>(sources_.size());
  }
  picks_.push_back({source - 1, row, count, static_cast<std::uint32_t>(batch.rows)});
  batch.rows += count;
}

// The head's row was read. The head may be removed.
void ColumnMerge::leave_row(std::size_t at, ColumnBatch& batch) {
  Head& head = heads_[at];
  if (head.cursor != nullptr) {
    move_to(*head.cursor, head.cursor->row() + 1, batch);
    if (head.cursor->inside()) {
      head.word = head.cursor->word(head.cursor->row());
      return;
    }
  } else {
    row_state_ = RowState::kUnknown;
  }
  heads_.erase(heads_.begin() + static_cast<std::ptrdiff_t>(at));
}

void ColumnMerge::move_to(GroupCursor& cursor, std::uint32_t row, ColumnBatch& batch) {
  if (row < cursor.end_row()) return cursor.skip_to(row);
  flush(batch);
  cursor.skip_to(row);
  if (alone_ == &cursor) alone_ = nullptr;
  await(cursor);
  if (batch.rows >= kBatchRowsEnough) batch_over_ = true;
}

void ColumnMerge::add_row(const VersionedRow& row, bool texts_stay, ColumnBatch& batch) {
  const bool visible = setup_.batcher.add(row, texts_stay, batch);
  if (setup_.deleted_rows.observing()) setup_.deleted_rows.visit(row, visible);
}

void ColumnMerge::add_versions(GroupCursor& cursor, std::uint32_t row, ColumnBatch& batch) {
  if (!cursor.read(row, setup_.spec, merged_)) return;
  add_row(merged_.row(), false, batch);
}

// Regular rows follow: none of those that were visited before was visible.
void ColumnMerge::begin_visible(GroupCursor& cursor) {
  if (!setup_.deleted_rows.observing()) return;
  setup_.deleted_rows.end(std::string(as_text(cursor.group_from())));
}

// Several sources have the key of the head `least`. False: the row is undecided.
bool ColumnMerge::read_conflict(std::size_t least, ColumnBatch& batch) {
  equals_.clear();
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    if (i != least && compare_heads(heads_[i], heads_[least]) != 0) continue;
    if (heads_[i].cursor == nullptr && waits_ && rows_->prepared()) return false;
    equals_.push_back(i);
    if (heads_[i].cursor == nullptr) ++setup_.statistics.rows_read;
  }
  ++visited_;
  resolve(batch);
  for (std::size_t i = equals_.size(); i-- > 0;) leave_row(equals_[i], batch);
  return true;
}

// Does the row of another store determine all wanted values, whatever older ones there are?
bool ColumnMerge::hides(const VersionedRow& row, Timestamp older) const {
  if (!row.delete_timestamps.empty() && row.delete_timestamps.front() > older) return true;
  if (!row.folded.empty() || row.write_timestamps.empty()) return false;
  if (row.write_timestamps.front() <= older) return false;
  std::size_t decided = 0;
  const VersionedValue* before = nullptr;
  for (const VersionedValue& value : row.values) {
    if (before != nullptr && before->column == value.column) continue;
    before = &value;
    if (setup_.spec.columns != nullptr && !setup_.spec.columns->has(value.column)) continue;
    if (value.aggregate || value.timestamp <= older) return false;
    ++decided;
  }
  return decided == wanted_values_;
}

// Reads the row of the heads in equals_.
void ColumnMerge::resolve(ColumnBatch& batch) {
  GroupCursor* winner = nullptr;
  Timestamp newest = 0;
  Timestamp second = 0;
  bool ahead = false;  // The row of other stores is newer than all of groups.
  for (const std::size_t at : equals_) {
    GroupCursor* cursor = heads_[at].cursor;
    const Timestamp time =
        cursor != nullptr ? cursor->newest(cursor->row()) : newest_of(rows_->row());
    // A group's row may have older versions that are visible; the batcher decides that.
    if (time >= newest) {
      second = newest;
      newest = time;
      winner = cursor;
      ahead = cursor == nullptr;
    } else {
      second = std::max(second, time);
    }
  }
  if (ahead && second < newest && hides(rows_->row(), second)) {
    ++setup_.statistics.rows_merged;
    return add_row(rows_->row(), setup_.texts_stay, batch);
  }
  const bool whole = winner != nullptr && second < newest && newest <= setup_.request.timestamp &&
                     !winner->has_absents() && !winner->is_irregular(winner->row());
  if (!whole) return merge_versions(batch);
  begin_visible(*winner);
  const std::uint8_t* mask = winner->mask();
  if (mask == nullptr || mask[winner->row()] != 0) pick(*winner, winner->row(), 1, batch);
}

void ColumnMerge::merge_versions(ColumnBatch& batch) {
  ++setup_.statistics.rows_merged;
  while (versions_.size() < equals_.size()) versions_.push_back(std::make_unique<RowBuilder>());
  version_rows_.clear();
  std::size_t used = 0;
  bool other_stores = false;
  for (const std::size_t at : equals_) {
    GroupCursor* cursor = heads_[at].cursor;
    if (cursor == nullptr) {
      other_stores = true;
      continue;
    }
    RowBuilder& versions = *versions_[used++];
    if (cursor->read(cursor->row(), setup_.spec, versions)) {
      version_rows_.push_back(versions.row());
    }
  }
  if (other_stores) version_rows_.push_back(rows_->row());
  if (version_rows_.empty()) return;
  merge_rows(version_rows_, merged_);
  if (other_stores && !merged_.folded.empty() && folds_overlap(merged_.row())) {
    rows_->unfold();
    version_rows_.back() = rows_->row();
    merge_rows(version_rows_, merged_);
  }
  merged_.key = version_rows_.front().key;
  add_row(merged_.row(), false, batch);
}

// Copies what was picked. Required before a group is left.
void ColumnMerge::flush(ColumnBatch& batch) {
  if (picks_.empty()) return;
  if (!take_group(batch)) {
    for (std::size_t i = 0; i < batch.columns.size(); ++i) copy_column(i, batch);
  }
  const bool texts = std::ranges::any_of(
      batch.columns, [](const ColumnVector& column) { return is_text_type(column.type); });
  for (const GroupCursor* source : sources_) {
    if (texts) {
      batch.memory.insert(batch.memory.end(), source->blocks().begin(), source->blocks().end());
    }
  }
  picks_.clear();
  sources_.clear();
}

// A group that is the whole batch is not copied. False: there is more.
bool ColumnMerge::take_group(ColumnBatch& batch) {
  const Pick& pick = picks_.front();
  if (picks_.size() != 1 || pick.count != batch.rows || pick.row != 0) return false;
  GroupCursor& cursor = *sources_[pick.source];
  if (cursor.group_rows() != pick.count) return false;
  for (std::size_t i = 0; i < batch.columns.size(); ++i) cursor.take(i, batch.columns[i]);
  batch_over_ = true;
  return true;
}

void ColumnMerge::copy_column(std::size_t i, ColumnBatch& batch) {
  ColumnVector& out = batch.columns[i];
  columns_.clear();
  bool nulls = false;
  for (GroupCursor* source : sources_) {
    columns_.push_back(&source->column(i));
    nulls = nulls || !columns_.back()->nulls.empty();
  }
  if (nulls && out.nulls.empty()) out.nulls.assign(setup_.batcher.rows_max(), 0);
  const bool texts = is_text_type(out.type);
  for (const Pick& pick : picks_) {
    const ColumnVector& in = *columns_[pick.source];
    if (!texts) {
      const std::uint64_t* from = in.words.data() + pick.row;
      std::copy(from, from + pick.count, out.words.data() + pick.at);
    } else if (!in.table) {
      const std::string_view* from = in.texts.data() + pick.row;
      std::copy(from, from + pick.count, out.texts.data() + pick.at);
    } else {
      for (std::uint32_t row = 0; row < pick.count; ++row) {
        out.texts[pick.at + row] = in.text(pick.row + row);
      }
    }
    if (in.nulls.empty()) continue;
    const std::uint8_t* from = in.nulls.data() + pick.row;
    std::copy(from, from + pick.count, out.nulls.data() + pick.at);
  }
}

void ColumnMerge::remember_position() {
  if (row_state_ == RowState::kUnknown) return;
  std::string key;
  std::string least;
  const auto consider = [&least](ByteSpan found) {
    if (least.empty() || compare_keys(found, as_bytes(least)) < 0) least = as_text(found);
  };
  if (alone_ != nullptr) consider(alone_->group_from());
  if (!pending_.empty()) consider(pending_.back()->group_from());
  for (const Head& head : heads_) {
    if (head.cursor == nullptr) {
      consider(rows_->row().key);
    } else {
      head.cursor->key(head.cursor->row(), key);
      consider(as_bytes(key));
    }
  }
  if (!least.empty()) position_ = std::move(least);
}

Task<void> ColumnMerge::load_group(GroupCursor& cursor, Result<void>& outcome) {
  Result<void> loaded = co_await cursor.load();
  if (!loaded && outcome) outcome = std::move(loaded);
}

Task<Result<void>> ColumnMerge::load() {
  Result<void> outcome;
  if (rows_wait_) co_return co_await rows_->load();
  if (waiting_.size() == 1) co_return co_await waiting_.front()->load();
  TaskScope scope;
  for (GroupCursor* cursor : waiting_) scope.spawn(load_group(*cursor, outcome));
  co_await scope.join();
  co_return outcome;
}

}  // namespace moraine::table
