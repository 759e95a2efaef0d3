#include "table/tablet/write/lock_history.h"

#include <algorithm>

namespace moraine::table {

void LockStamps::record(LockMode mode, ChangeKind kind, Timestamp commit, const TransactionId& id) {
  if (commit >= newest()) last = id;
  switch (mode) {
    case LockMode::kExclusive:
      if (commit >= exclusive) only_locked = kind == ChangeKind::kLock;
      exclusive = std::max(exclusive, commit);
      return;
    case LockMode::kSharedWrite: shared_write = std::max(shared_write, commit); return;
    case LockMode::kSharedStrong: strong_read = std::max(strong_read, commit); return;
    case LockMode::kSharedWeak:
    case LockMode::kNone: return;
  }
}

void LockStamps::add(const LockStamps& other) {
  if (other.newest() > newest()) last = other.last;
  if (other.exclusive > exclusive) only_locked = other.only_locked;
  exclusive = std::max(exclusive, other.exclusive);
  shared_write = std::max(shared_write, other.shared_write);
  strong_read = std::max(strong_read, other.strong_read);
}

// A slot of the map has a byte of its own besides the entry.
std::size_t LockHistory::Batch::bytes() const {
  return rows.capacity() * (sizeof(decltype(rows)::value_type) + 1) +
         groups * sizeof(RowStamps::Group);
}

std::size_t LockHistory::bytes() const {
  return batches_.empty() ? 0 : full_bytes_ + batches_.back().bytes();
}

std::size_t LockHistory::oldest_bytes() const {
  return batches_.empty() ? 0 : batches_.front().bytes();
}

void LockHistory::record(std::uint64_t key_hash, const RowChange& change, Timestamp commit,
                         const TransactionId& id) {
  if (commit <= horizon_) return;
  const auto leaves_none = [](LockMode mode) {
    return mode == LockMode::kNone || mode == LockMode::kSharedWeak;
  };
  const auto& modes = change.locks.modes;
  if (std::ranges::all_of(modes, leaves_none)) return;
  if (batches_.empty() || batches_.back().rows.size() >= batch_rows_) {
    Batch next;
    if (!batches_.empty()) {
      next.rows.reserve(batch_rows_);
      const Batch& last = batches_.back();
      full_bytes_ += last.bytes();
      next.newest_before = std::max(last.newest, last.newest_before);
    }
    batches_.push_back(std::move(next));
  }
  Batch& batch = batches_.back();
  const std::size_t before = batch.rows.size();
  RowStamps& row = batch.rows[key_hash];
  const std::size_t groups_before = row.groups.size();
  size_ += batch.rows.size() - before;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    if (!leaves_none(modes[i])) row.lock(i).record(modes[i], change.kind, commit, id);
  }
  batch.groups += row.groups.size() - groups_before;
  batch.newest = std::max(batch.newest, commit);
  while (size_ > kRememberedRowsMax) drop_oldest();
}

bool LockHistory::find(std::uint64_t key_hash, Timestamp start, RowStamps& out) const {
  bool found = false;
  for (auto at = batches_.rbegin(); at != batches_.rend(); ++at) {
    if (at->newest > start) {
      if (const auto row = at->rows.find(key_hash); row != at->rows.end()) {
        out.primary.add(row->second.primary);
        for (const auto& [group, stamps] : row->second.groups) out.lock(group).add(stamps);
        found = true;
      }
    }
    if (at->newest_before <= start) break;
  }
  return found;
}

void LockHistory::drop_oldest() {
  const Batch& oldest = batches_.front();
  horizon_ = std::max(horizon_, oldest.newest);
  size_ -= oldest.rows.size();
  if (batches_.size() > 1) full_bytes_ -= oldest.bytes();
  batches_.pop_front();
}

void LockHistory::forget(Timestamp before) {
  horizon_ = std::max(horizon_, before);
  expire(before);
}

void LockHistory::expire(Timestamp before) {
  while (!batches_.empty() && batches_.front().newest < before) drop_oldest();
}

void LockHistory::drop_all() {
  batches_.clear();
  size_ = 0;
  full_bytes_ = 0;
}

}  // namespace moraine::table
