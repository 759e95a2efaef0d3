// PartCache: recently read whole parts; the least recently used are evicted first.
//
// Threading  The VDisk's executor.
// Limits     `bytes_max` of data; parts above kCachedPartMax are not kept.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

#include "base/bytes.h"
#include "blob/blob_id.h"

namespace moraine::blob {

inline constexpr std::size_t kCachedPartMax = 1u << 20;

class PartCache {
 public:
  explicit PartCache(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // Empty when the part is not cached.
  Slice find(const BlobId& id);
  void insert(const BlobId& id, Slice data);
  void erase(const BlobId& id);

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Hash {
    std::size_t operator()(const BlobId& id) const {
      const auto raw = id.raw();
      return (raw[0] * 0x9e3779b97f4a7c15 + raw[1]) * 0xff51afd7ed558ccd ^
             (raw[2] + (raw[3] << 56)) * 0xc4ceb9fe1a85ec53;
    }
  };
  struct Item {
    BlobId id;
    Slice data;
  };
  void evict();

  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::list<Item> items_;  // Most recent first.
  std::unordered_map<BlobId, std::list<Item>::iterator, Hash> by_id_;
};

}  // namespace moraine::blob
