// BlobCache: pieces in memory, shared by all partitions of a node.
//
// Promise    Holds at most `bytes_max`; past that, what was used longest ago goes. Never the only
//            copy.
// Threading  One executor.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "queue/piece.h"

namespace moraine::queue {

inline constexpr std::size_t kCacheBytesDefault = std::size_t{256} << 20;

class BlobCache {
 public:
  // A piece: its tablet's incarnation-free id, partition and first offset, and how many messages:
  // pieces of the same name have the same entries.
  struct Key {
    std::uint64_t tablet = 0;
    PartitionIndex partition = 0;
    Offset offset = 0;
    std::uint32_t messages = 0;
    bool operator==(const Key&) const = default;
  };

  explicit BlobCache(std::size_t bytes_max = kCacheBytesDefault) : bytes_max_(bytes_max) {}

  std::optional<Piece> find(const Key& key);
  bool holds(const Key& key) const { return kept_.contains(key); }
  void insert(const Key& key, Piece piece);
  void erase(const Key& key);

  std::size_t bytes() const { return bytes_; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t h = key.tablet * 0x9e3779b97f4a7c15ull + key.partition;
      h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ull + key.offset;
      h = (h ^ (h >> 32)) * 0x94d049bb133111ebull + key.messages;
      return static_cast<std::size_t>(h ^ (h >> 31));
    }
  };
  struct Kept {
    Key key;
    Piece piece;
    std::size_t bytes = 0;
  };
  void drop(std::list<Kept>::iterator at);

  std::size_t bytes_max_;
  std::list<Kept> used_;  // The newest first.
  std::unordered_map<Key, std::list<Kept>::iterator, Hash> kept_;
  std::size_t bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace moraine::queue
