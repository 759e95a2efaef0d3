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
      waits_(setup.request.timestamp != kAsyncLastCommitted),
      groups_(std::move(groups)),
      order_(order_of(setup.schema, groups_)),
      copy_(groups_, setup.request, setup.batcher),
      rows_(std::move(rows)),
      row_state_(rows_ ? RowState::kUnknown : RowState::kEnd),
      cells_(groups_.size() + 1) {
  for (std::size_t i = setup_.schema.key_count(); i < setup_.schema.columns.size(); ++i) {
    const auto column = static_cast<ColumnIndex>(i);
    if (setup_.spec.columns == nullptr || setup_.spec.columns->has(column)) ++wanted_values_;
  }
  for (const std::unique_ptr<GroupCursor>& group : groups_) group->set_order(order_);
  for (std::uint32_t i = 0; i < groups_.size(); ++i) await(i);
}

KeyOrder ColumnMerge::order_of(const TableSchema& schema,
                               std::span<const std::unique_ptr<GroupCursor>> groups) {
  std::vector<KeyColumnRange> ranges(schema.key_count());
  for (const std::unique_ptr<GroupCursor>& group : groups) group->add_key_ranges(ranges);
  return KeyOrder(schema, ranges);
}

// Puts a cursor that is outside a group in its place.
void ColumnMerge::await(std::uint32_t source) {
  if (groups_[source]->ended()) return groups_[source]->finish();
  const auto above = [this](std::uint32_t a, std::uint32_t b) {
    return compare_keys(groups_[a]->group_from(), groups_[b]->group_from()) > 0;
  };
  pending_.insert(std::ranges::upper_bound(pending_, source, above), source);
  pending_word_ = groups_[pending_.back()]->word_from();
}

void ColumnMerge::pop_pending() {
  pending_.pop_back();
  if (!pending_.empty()) pending_word_ = groups_[pending_.back()]->word_from();
}

ColumnMerge::Stop ColumnMerge::read(ColumnBatch& batch, std::size_t visit_max) {
  visited_ = 0;
  visit_max_ = visit_max;
  batch_over_ = false;
  copy_.begin(batch);
  waiting_.clear();
  rows_wait_ = false;
  Stop stop = Stop::kPause;
  while (!full(batch)) {
    if (alone_) {
      read_run(*alone_, groups_[*alone_]->end_row(), batch);
      continue;
    }
    if (!advance_rows() || !settle_groups()) {
      stop = Stop::kNeedsData;
      break;
    }
    if (alone_) continue;
    if (heads_.empty()) {
      stop = Stop::kEnd;
      break;
    }
    if (!step(batch)) {
      stop = Stop::kUndecided;
      break;
    }
  }
  copy_.flush(batch);
  copy_.finish(batch);
  remember_position();
  return stop;
}

// False: the rows of other stores must be loaded.
bool ColumnMerge::advance_rows() {
  if (row_state_ != RowState::kUnknown) [[likely]]
    return true;
  switch (rows_->next()) {
    case RowCursor::Step::kNeedsData: rows_wait_ = true; return false;
    case RowCursor::Step::kEnd: row_state_ = RowState::kEnd; return true;
    case RowCursor::Step::kRow: break;
  }
  row_state_ = RowState::kHead;
  insert(static_cast<std::uint32_t>(groups_.size()), order_.of_bound(rows_->row().key));
  return true;
}

// The source's row has changed; it is not among the heads.
void ColumnMerge::insert(std::uint32_t source, std::uint64_t word) {
  cells_[source].clear();
  const Head added{.word = word, .source = source};
  std::size_t at = heads_.count_above(word);
  while (at < heads_.size() && heads_[at].word == word && compare_heads(heads_[at], added) > 0) {
    ++at;
  }
  heads_.insert(at, added);
}

// Enters the groups that may have rows before those of all heads. False: some must be loaded.
bool ColumnMerge::settle_groups() {
  while (!pending_.empty() && !alone_ && (heads_.empty() || pending_word_ <= heads_.back().word)) {
    if (settle(pending_.back())) continue;
    // Others that are needed with it are loaded together.
    for (std::size_t i = pending_.size(); i-- > 0;) {
      GroupCursor& cursor = *groups_[pending_[i]];
      if (!heads_.empty() && cursor.word_from() > heads_.back().word) break;
      if (heads_.empty() && i + 1 < pending_.size()) break;
      waiting_.push_back(&cursor);
      if (waiting_.size() > 1) cursor.expect_keys();
    }
    return false;
  }
  return true;
}

// Of the cursor at the back of pending_.
bool ColumnMerge::settle(std::uint32_t source) {
  GroupCursor& cursor = *groups_[source];
  const bool alone = is_alone(cursor);
  if (alone && cursor.skippable()) {
    begin_visible(cursor);
    pop_pending();
    cursor.skip();
    await(source);
    return true;
  }
  if (!cursor.enter(!alone)) return false;
  pop_pending();
  if (!cursor.inside()) {
    await(source);
  } else if (alone) {
    alone_ = source;
  } else {
    insert(source, cursor.word(cursor.row()));
  }
  return true;
}

// Whether no other source has a key in the next group of the cursor at the back of pending_.
bool ColumnMerge::is_alone(const GroupCursor& cursor) {
  const std::string to = cursor.group_to();
  if (pending_.size() > 1) {
    const GroupCursor& next = *groups_[pending_[pending_.size() - 2]];
    if (compare_keys(next.group_from(), as_bytes(to)) < 0) return false;
  }
  if (heads_.empty() || heads_.back().word > order_.of_bound(as_bytes(to))) return true;
  if (is_rows(heads_.back())) return compare_keys(rows_->row().key, as_bytes(to)) >= 0;
  const GroupCursor& least = cursor_of(heads_.back());
  std::string key;
  least.key(least.row(), key);
  return compare_keys(as_bytes(key), as_bytes(to)) >= 0;
}

const std::vector<Value>& ColumnMerge::cells_of(const Head& head) {
  std::vector<Value>& cells = cells_[head.source];
  if (!cells.empty()) return cells;
  if (!is_rows(head)) {
    cursor_of(head).key_cells(cursor_of(head).row(), cells);
    return cells;
  }
  const Result<void> decoded = decode_key(rows_->row().key, cells, key_memory_);
  INVARIANT(decoded, "a stored key: {}", decoded.error().message());
  cells.resize(setup_.schema.key_count());
  return cells;
}

std::strong_ordering ColumnMerge::compare_equal_words(const Head& a, const Head& b) {
  if (!is_rows(a)) return cursor_of(a).compare(cursor_of(a).row(), cells_of(b));
  return 0 <=> cursor_of(b).compare(cursor_of(b).row(), cells_of(a));
}

bool ColumnMerge::is_larger(const Head& a, const Head& b) {
  if (is_rows(a)) return false;
  return is_rows(b) || cursor_of(a).chunk_rows() > cursor_of(b).chunk_rows();
}

// The first row of the group at or after `row` that is not below the head's key.
std::uint32_t ColumnMerge::first_not_below(GroupCursor& group, std::uint32_t row,
                                           const Head& head) {
  row = group.find_word(row, head.word);
  const std::uint32_t end = group.end_row();
  if (row == end || group.word(row) > head.word || order_.decides(head.word)) return row;
  const std::vector<Value>& cells = cells_of(head);
  const auto is_below = [&](std::uint32_t at) {
    return group.word(at) == head.word && group.compare(at, cells) < 0;
  };
  std::uint32_t step = 1;
  while (row < end && is_below(std::min(row + step, end) - 1)) {
    row = std::min(row + step, end);
    step *= 2;
  }
  // The last row of the step is not below it.
  std::uint32_t to = std::min(row + step - 1, end);
  while (row < to) {
    const std::uint32_t middle = row + (to - row) / 2;
    if (is_below(middle)) {
      row = middle + 1;
    } else {
      to = middle;
    }
  }
  return row;
}

// Moves `row` to the row of the group with the head's key. False: to the first one above it.
bool ColumnMerge::find_row(GroupCursor& group, std::uint32_t& row, const Head& head) {
  row = first_not_below(group, row, head);
  if (row == group.end_row() || group.word(row) != head.word) return false;
  return order_.decides(head.word) || group.compare(row, cells_of(head)) == 0;
}

// Rows of one of the two least heads take the places of rows of the other one, which is of a larger
// chunk, as far as they can. False: none can.
bool ColumnMerge::replace_rows(ColumnBatch& batch) {
  if (setup_.deleted_rows.observing()) return false;
  std::size_t at = heads_.size() - 2;
  const bool least_is_larger = is_larger(heads_.back(), heads_[at]);
  if (!least_is_larger && !is_larger(heads_[at], heads_.back())) return false;
  const Head larger = least_is_larger ? heads_.back() : heads_[at];
  if (!least_is_larger) ++at;
  const Head head = heads_[at];
  if (is_rows(head)) {
    if (!replace_from_rows(cursor_of(larger), head)) return false;
    heads_.remove(at);
    if (row_state_ == RowState::kHead) insert(head.source, order_.of_bound(rows_->row().key));
    return true;
  }
  GroupCursor& cursor = cursor_of(head);
  const std::uint32_t before = cursor.row();
  const std::uint32_t row = replace_from_group(cursor_of(larger), head);
  if (row == before) return false;
  visited_ += row - before;
  heads_.remove(at);
  move_to(head.source, row, batch);
  if (cursor.inside()) insert(head.source, cursor.word(row));
  return true;
}

// Returns the first row of the head's group that remains there.
std::uint32_t ColumnMerge::replace_from_group(GroupCursor& group, const Head& head) {
  GroupCursor& from = cursor_of(head);
  std::uint32_t next = from.row();
  if (from.has_absents()) return next;
  const std::uint32_t end = from.next_irregular(next);
  std::uint32_t row = group.row();
  replaced_.clear();
  replacing_.clear();
  for (; next < end; ++next) {
    cells_[head.source].clear();
    if (next != from.row() && !order_.decides(from.word(next))) {
      from.key_cells(next, cells_[head.source]);
    }
    if (!find_row(group, row, {.word = from.word(next), .source = head.source})) break;
    const Timestamp time = from.newest(next);
    if (time > setup_.request.timestamp) break;
    if (group.is_newer(time, row)) {
      replaced_.push_back(row);
      replacing_.push_back(next);
    } else if (time == group.newest(row) || !group.is_whole(row)) {
      break;
    }
  }
  cells_[head.source].clear();
  if (!replaced_.empty()) group.replace(replaced_, from, replacing_);
  return next;
}

// Afterwards the rows' head is another one. False: nothing was done.
bool ColumnMerge::replace_from_rows(GroupCursor& group, const Head& head) {
  std::uint32_t row = group.row();
  Head next = head;
  bool any = false;
  while (row_state_ == RowState::kHead) {
    if ((waits_ && rows_->prepared()) || !find_row(group, row, next)) break;
    const VersionedRow& by = rows_->row();
    const Timestamp time = newest_of(by);
    if (group.is_newer(time, row)) {
      if (!setup_.texts_stay || !group.replace(row, by)) break;
    } else if (time == group.newest(row) || !group.is_whole(row)) {
      break;
    }
    any = true;
    ++visited_;
    ++setup_.statistics.rows_read;
    ++setup_.statistics.rows_merged;
    cells_[head.source].clear();
    row_state_ = RowState::kUnknown;
    const RowCursor::Step step = rows_->next();
    if (step == RowCursor::Step::kNeedsData) break;
    row_state_ = step == RowCursor::Step::kRow ? RowState::kHead : RowState::kEnd;
    if (step == RowCursor::Step::kRow) next.word = order_.of_bound(rows_->row().key);
  }
  return any;
}

// Reads the rows of one source up to the next key of another, or one row of several sources. False:
// the row is undecided.
bool ColumnMerge::step(ColumnBatch& batch) {
  if (heads_.size() > 1 && replace_rows(batch)) return true;
  const Head least = heads_.back();
  const bool others = heads_.size() > 1;
  const Head second = others ? heads_[heads_.size() - 2] : Head{};
  if (others && is_plain(least) && is_plain(second) && merge_two(batch)) return true;
  if (others && compare_heads(least, second) == 0) return read_conflict(batch);
  if (!is_rows(least)) {
    const std::uint32_t end = end_of_run(cursor_of(least), others ? &second : nullptr);
    heads_.pop(1);
    if (!read_plain_run(least.source, end, batch)) read_run(least.source, end, batch);
    const GroupCursor& cursor = cursor_of(least);
    if (cursor.inside()) insert(least.source, cursor.word(cursor.row()));
    return true;
  }
  if (waits_ && rows_->prepared()) return false;
  ++visited_;
  ++setup_.statistics.rows_read;
  ++setup_.statistics.rows_merged;
  add_row(rows_->row(), setup_.texts_stay, batch);
  heads_.pop(1);
  row_state_ = RowState::kUnknown;
  return true;
}

// Whether all rows of the head's group are regular, whole and visible, and pass.
bool ColumnMerge::is_plain(const Head& head) {
  if (is_rows(head) || setup_.deleted_rows.observing()) return false;
  GroupCursor& cursor = cursor_of(head);
  return !cursor.has_absents() && !cursor.has_irregular_rows() && cursor.mask() == nullptr;
}

// What step() does for the two least heads, both plain, again and again until one of their groups
// ends or another source comes first. False: nothing was read.
bool ColumnMerge::merge_two(ColumnBatch& batch) {
  struct Side {
    std::uint32_t source = 0;
    GroupCursor* cursor = nullptr;
    const std::uint64_t* words = nullptr;
    std::uint32_t row = 0;
    std::uint32_t end = 0;
  };
  const auto side_of = [this](const Head& head) {
    GroupCursor& cursor = cursor_of(head);
    return Side{head.source, &cursor, cursor.words(), cursor.row(), cursor.end_row()};
  };
  std::uint64_t bound = heads_.size() > 2 ? heads_[heads_.size() - 3].word : ~std::uint64_t{0};
  if (!pending_.empty()) bound = std::min(bound, pending_word_);
  Side a = side_of(heads_.back());
  Side b = side_of(heads_[heads_.size() - 2]);
  // A run of the side up to a word. It begins below it.
  const auto read_below = [&](Side& side, std::uint64_t word) {
    const auto room = static_cast<std::uint32_t>(setup_.batcher.room(batch));
    const std::uint32_t from = side.row;
    const std::uint32_t last = std::min(side.end, from + room);
    side.row = std::min(last, side.cursor->find_word(side.row, word));
    copy_.pick(side.source, from, side.row - from, batch);
    visited_ += side.row - from;
  };
  const std::size_t visited = visited_;
  while (a.row < a.end && b.row < b.end && !full(batch)) {
    const std::uint64_t of_a = a.words[a.row];
    const std::uint64_t of_b = b.words[b.row];
    if (std::min(of_a, of_b) >= bound) break;
    if (of_a != of_b) {
      read_below(of_a < of_b ? a : b, std::min(std::max(of_a, of_b), bound));
      continue;
    }
    if (!order_.decides(of_a)) break;
    const Timestamp time_a = a.cursor->newest(a.row);
    const Timestamp time_b = b.cursor->newest(b.row);
    if (time_a == time_b) break;
    const Side& newer = time_a > time_b ? a : b;
    copy_.pick(newer.source, newer.row, 1, batch);
    ++a.row;
    ++b.row;
    ++visited_;
  }
  if (visited_ == visited) return false;
  heads_.pop(2);
  for (const Side& side : {a, b}) {
    move_to(side.source, side.row, batch);
    if (side.cursor->inside()) insert(side.source, side.cursor->word(side.row));
  }
  return true;
}

// The first row of the cursor's group that is not before `second`, nor before the next pending
// group. Requires: its present row is.
std::uint32_t ColumnMerge::end_of_run(GroupCursor& cursor, const Head* second) {
  if (pending_.empty() && second == nullptr) return cursor.end_row();
  const bool by_pending = !pending_.empty() && (second == nullptr || pending_word_ <= second->word);
  return by_pending ? cursor.find_word(cursor.row() + 1, pending_word_)
                    : first_not_below(cursor, cursor.row() + 1, *second);
}

// A run within a group that is read as it is. False: not this one.
bool ColumnMerge::read_plain_run(std::uint32_t source, std::uint32_t end, ColumnBatch& batch) {
  GroupCursor& cursor = *groups_[source];
  const std::uint32_t row = cursor.row();
  const bool plain = end < cursor.end_row() && !cursor.has_irregular_rows() &&
                     cursor.mask() == nullptr && end - row <= setup_.batcher.room(batch) &&
                     !setup_.deleted_rows.observing();
  if (!plain) return false;
  copy_.pick(source, row, end - row, batch);
  visited_ += end - row;
  cursor.skip_to(end);
  return true;
}

void ColumnMerge::read_run(std::uint32_t source, std::uint32_t end, ColumnBatch& batch) {
  GroupCursor& cursor = *groups_[source];
  const std::uint32_t begin = cursor.row();
  std::uint32_t row = begin;
  while (row < end && !setup_.batcher.full(batch)) {
    const std::uint32_t irregular = cursor.next_irregular(row);
    if (irregular > row) {
      row = pick_regular(source, row, std::min(end, irregular), batch);
      continue;
    }
    add_versions(cursor, row, batch);
    ++setup_.statistics.rows_merged;
    ++row;
  }
  visited_ += row - begin;
  move_to(source, row, batch);
}

// Returns the first row that was not visited.
std::uint32_t ColumnMerge::pick_regular(std::uint32_t source, std::uint32_t row, std::uint32_t end,
                                        ColumnBatch& batch) {
  GroupCursor& cursor = *groups_[source];
  begin_visible(cursor);
  const std::uint8_t* mask = cursor.mask();
  std::size_t room = setup_.batcher.room(batch);
  if (mask == nullptr) {
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(end - row, room));
    copy_.pick(source, row, count, batch);
    return row + count;
  }
  while (row < end && room > 0) {
    if (mask[row] == 0) {
      ++row;
      continue;
    }
    const std::uint32_t from = row;
    while (row < end && mask[row] != 0 && row - from < room) ++row;
    copy_.pick(source, from, row - from, batch);
    room -= row - from;
  }
  return row;
}

// The row of a head that was removed was read.
void ColumnMerge::leave_row(const Head& head, ColumnBatch& batch) {
  if (is_rows(head)) {
    row_state_ = RowState::kUnknown;
    return;
  }
  const GroupCursor& cursor = cursor_of(head);
  move_to(head.source, cursor.row() + 1, batch);
  if (cursor.inside()) insert(head.source, cursor.word(cursor.row()));
}

void ColumnMerge::move_to(std::uint32_t source, std::uint32_t row, ColumnBatch& batch) {
  GroupCursor& cursor = *groups_[source];
  if (row < cursor.end_row()) return cursor.skip_to(row);
  copy_.flush(batch);
  cursor.skip_to(row);
  if (alone_ == source) alone_.reset();
  await(source);
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

// Several sources have the least key. False: the row is undecided.
bool ColumnMerge::read_conflict(ColumnBatch& batch) {
  equals_.clear();
  const Head least = heads_.back();
  for (std::size_t i = heads_.size(); i-- > 0;) {
    if (i + 2 < heads_.size() && compare_heads(heads_[i], least) != 0) break;
    if (is_rows(heads_[i]) && waits_ && rows_->prepared()) return false;
    equals_.push_back(heads_[i]);
  }
  if (std::ranges::any_of(equals_, [this](const Head& head) { return is_rows(head); })) {
    ++setup_.statistics.rows_read;
  }
  heads_.pop(equals_.size());
  ++visited_;
  resolve(batch);
  for (const Head& head : equals_) leave_row(head, batch);
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
  Head winner = equals_.front();
  Timestamp newest = 0;
  Timestamp second = 0;
  for (const Head& head : equals_) {
    const Timestamp time =
        is_rows(head) ? newest_of(rows_->row()) : cursor_of(head).newest(cursor_of(head).row());
    if (time >= newest) {
      second = newest;
      newest = time;
      winner = head;
    } else {
      second = std::max(second, time);
    }
  }
  if (is_rows(winner)) {
    if (second == newest || !hides(rows_->row(), second)) return merge_versions(batch);
    ++setup_.statistics.rows_merged;
    return add_row(rows_->row(), setup_.texts_stay, batch);
  }
  GroupCursor& cursor = cursor_of(winner);
  const bool whole = second < newest && newest <= setup_.request.timestamp &&
                     !cursor.has_absents() && !cursor.is_irregular(cursor.row());
  if (!whole) return merge_versions(batch);
  begin_visible(cursor);
  const std::uint8_t* mask = cursor.mask();
  if (mask == nullptr || mask[cursor.row()] != 0) copy_.pick(winner.source, cursor.row(), 1, batch);
}

void ColumnMerge::merge_versions(ColumnBatch& batch) {
  ++setup_.statistics.rows_merged;
  while (versions_.size() < equals_.size()) versions_.push_back(std::make_unique<RowBuilder>());
  version_rows_.clear();
  std::size_t used = 0;
  bool other_stores = false;
  for (const Head& head : equals_) {
    if (is_rows(head)) {
      other_stores = true;
      continue;
    }
    GroupCursor& cursor = cursor_of(head);
    RowBuilder& versions = *versions_[used++];
    if (cursor.read(cursor.row(), setup_.spec, versions)) version_rows_.push_back(versions.row());
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

void ColumnMerge::remember_position() {
  if (row_state_ == RowState::kUnknown) return;
  std::string key;
  std::string least;
  const auto consider = [&least](ByteSpan found) {
    if (least.empty() || compare_keys(found, as_bytes(least)) < 0) least = as_text(found);
  };
  if (alone_) consider(groups_[*alone_]->group_from());
  if (!pending_.empty()) consider(groups_[pending_.back()]->group_from());
  if (!heads_.empty()) {
    if (is_rows(heads_.back())) {
      consider(rows_->row().key);
    } else {
      const GroupCursor& cursor = cursor_of(heads_.back());
      cursor.key(cursor.row(), key);
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
