#include "queue/blob_cache.h"

#include <algorithm>

namespace moraine::queue {

bool LoadingBudget::try_acquire(std::size_t bytes) {
  if (used_ > 0 && used_ + bytes > kLoadingBytesMax) return false;
  used_ += bytes;
  return true;
}

void LoadingBudget::release(std::size_t bytes) {
  used_ -= bytes;
  while (!waiting_.empty() && try_acquire(waiting_.front().bytes)) {
    const std::coroutine_handle<> next = waiting_.front().self;
    waiting_.pop_front();
    next.resume();
  }
}

std::shared_ptr<LoadingBudget> BlobCache::loading(const Executor& executor) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LoadingBudget>& budget = loading_[&executor];
  if (!budget) budget = std::make_shared<LoadingBudget>();
  return budget;
}

std::optional<Piece> BlobCache::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) {
    ++misses_;
    return std::nullopt;
  }
  ++hits_;
  used_.splice(used_.begin(), used_, found->second);
  return found->second->piece;
}

bool BlobCache::holds(const Key& key) const {
  const std::lock_guard lock(mutex_);
  return kept_.contains(key);
}

// Pieces that begin before the offset, the last one first: nearly always it is the first of them.
BlobCache::Index::const_iterator BlobCache::holding(const Place& place) const {
  auto at = kept_.upper_bound({place.tablet, place.partition, place.offset, UINT32_MAX});
  for (std::size_t i = 0; i < kOverlapsMax && at != kept_.begin(); ++i) {
    const Key& key = (--at)->first;
    if (key.tablet != place.tablet || key.partition != place.partition) break;
    if (place.offset < key.end()) return at;
  }
  return kept_.end();
}

BlobCache::Index::const_iterator BlobCache::following(Index::const_iterator at,
                                                      Place& place) const {
  place.offset = at->first.end();
  const auto next = std::next(at);
  const bool adjacent = next != kept_.end() && next->first.tablet == place.tablet &&
                        next->first.partition == place.partition &&
                        next->first.offset == place.offset;
  return adjacent ? next : holding(place);
}

std::vector<Piece> BlobCache::find_run(Place from, std::size_t bytes) {
  std::vector<Piece> run;
  const std::lock_guard lock(mutex_);
  std::size_t found = 0;
  for (auto at = holding(from); at != kept_.end(); at = following(at, from)) {
    used_.splice(used_.begin(), used_, at->second);
    run.push_back(at->second->piece);
    ++hits_;
    found += run.back().bytes().size();
    if (found >= bytes || run.size() == kRunPiecesMax) break;
  }
  return run;
}

bool BlobCache::covers(Place from, Offset end, std::size_t bytes, std::size_t pieces) const {
  const std::lock_guard lock(mutex_);
  std::size_t found = 0;
  std::size_t count = 0;
  for (auto at = holding(from); at != kept_.end(); at = following(at, from)) {
    found += at->second->piece.bytes().size();
    if (found >= bytes || ++count >= pieces || at->first.end() >= end) return true;
  }
  return false;
}

void BlobCache::insert(const Key& key, Piece piece) {
  // Counts the memory that the slice keeps alive, not only its own bytes.
  const std::size_t bytes =
      std::max(piece.bytes().held_bytes(), piece.bytes().size()) + sizeof(Kept);
  Used dropped;
  const std::lock_guard lock(mutex_);
  if (const auto same = kept_.find(key); same != kept_.end()) drop(same, dropped);
  if (bytes > bytes_max_) return;
  drop_contained(key, dropped);
  while (bytes_ + bytes > bytes_max_) drop(kept_.find(used_.back().key), dropped);
  used_.push_front({key, std::move(piece), bytes});
  kept_[key] = used_.begin();
  bytes_ += bytes;
}

// Small pieces were rewritten as this one.
void BlobCache::drop_contained(const Key& key, Used& dropped) {
  for (auto at = kept_.lower_bound({key.tablet, key.partition, key.offset, 0});
       at != kept_.end();) {
    const Key& other = at->first;
    if (other.tablet != key.tablet || other.partition != key.partition) break;
    if (other.offset >= key.end()) break;
    const auto next = std::next(at);
    if (other.end() <= key.end()) drop(at, dropped);
    at = next;
  }
}

void BlobCache::erase(const Key& key) {
  Used dropped;
  const std::lock_guard lock(mutex_);
  if (const auto found = kept_.find(key); found != kept_.end()) drop(found, dropped);
}

void BlobCache::drop(Index::iterator at, Used& dropped) {
  bytes_ -= at->second->bytes;
  dropped.splice(dropped.begin(), used_, at->second);
  kept_.erase(at);
}

std::size_t BlobCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::uint64_t BlobCache::hits() const {
  const std::lock_guard lock(mutex_);
  return hits_;
}

std::uint64_t BlobCache::misses() const {
  const std::lock_guard lock(mutex_);
  return misses_;
}

}  // namespace moraine::queue
