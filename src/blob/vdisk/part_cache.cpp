#include "blob/vdisk/part_cache.h"

namespace moraine::blob {

Slice PartCache::find(const BlobId& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    ++misses_;
    return {};
  }
  ++hits_;
  items_.splice(items_.begin(), items_, found->second);
  return found->second->data;
}

void PartCache::insert(const BlobId& id, Slice data) {
  if (data.held_bytes() > kCachedPartMax || data.held_bytes() > bytes_max_) return;
  erase(id);
  bytes_ += data.held_bytes();
  items_.push_front({id, std::move(data)});
  by_id_.emplace(id, items_.begin());
  evict();
}

void PartCache::erase(const BlobId& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  bytes_ -= found->second->data.held_bytes();
  items_.erase(found->second);
  by_id_.erase(found);
}

void PartCache::evict() {
  while (bytes_ > bytes_max_) {
    bytes_ -= items_.back().data.held_bytes();
    by_id_.erase(items_.back().id);
    items_.pop_back();
  }
}

}  // namespace moraine::blob
