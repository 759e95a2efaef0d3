#include "queue/blob_cache.h"

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

std::optional<Piece> BlobCache::find(const Key& key) {
  const auto found = kept_.find(key);
  if (found == kept_.end()) {
    ++misses_;
    return std::nullopt;
  }
  ++hits_;
  used_.splice(used_.begin(), used_, found->second);
  return found->second->piece;
}

void BlobCache::insert(const Key& key, Piece piece) {
  erase(key);
  // Counts the memory that the slice keeps alive, not only its own bytes.
  const std::size_t bytes =
      std::max(piece.bytes().held_bytes(), piece.bytes().size()) + sizeof(Kept);
  if (bytes > bytes_max_) return;
  while (bytes_ + bytes > bytes_max_) drop(std::prev(used_.end()));
  used_.push_front({key, std::move(piece), bytes});
  kept_[key] = used_.begin();
  bytes_ += bytes;
}

void BlobCache::erase(const Key& key) {
  const auto found = kept_.find(key);
  if (found != kept_.end()) drop(found->second);
}

void BlobCache::drop(std::list<Kept>::iterator at) {
  bytes_ -= at->bytes;
  kept_.erase(at->key);
  used_.erase(at);
}

}  // namespace moraine::queue
