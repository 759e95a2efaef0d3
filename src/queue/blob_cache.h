// BlobCache: an LRU cache of pieces, shared by all partitions of a node, and a budget for the
// memory of pieces that are being read into it.
//
// Promise    Holds at most `bytes_max`; past that the least recently used pieces are evicted. Never
//            the only copy. Pieces being read take at most kLoadingBytesMax, or one longer piece.
// Threading  One executor.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "queue/piece.h"

namespace moraine::queue {

inline constexpr std::size_t kCacheBytesDefault = std::size_t{256} << 20;

inline constexpr std::size_t kLoadingBytesMax = std::size_t{64} << 20;

// A read of a piece calls acquire() before and release() after; waiting reads are served in order.
class LoadingBudget {
 public:
  auto acquire(std::size_t bytes) {
    struct Awaiter {
      LoadingBudget& budget;
      std::size_t bytes;
      bool await_ready() { return budget.waiting_.empty() && budget.try_acquire(bytes); }
      void await_suspend(std::coroutine_handle<> self) { budget.waiting_.push_back({bytes, self}); }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this, bytes};
  }
  // Resumes the reads that fit now, inside the call.
  void release(std::size_t bytes);
  // When true, nothing should be read ahead.
  bool busy() const { return !waiting_.empty() || used_ > kLoadingBytesMax / 2; }
  std::size_t used() const { return used_; }

 private:
  struct Waiting {
    std::size_t bytes;
    std::coroutine_handle<> self;
  };
  bool try_acquire(std::size_t bytes);

  std::size_t used_ = 0;
  std::deque<Waiting> waiting_;
};

class BlobCache {
 public:
  // A piece is identified by its tablet (any incarnation), partition, first offset and number of
  // messages: pieces with the same key have the same entries.
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

  // Shared, so that a pending read may outlive the cache.
  const std::shared_ptr<LoadingBudget>& loading() const { return loading_; }

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
  std::shared_ptr<LoadingBudget> loading_ = std::make_shared<LoadingBudget>();
  std::list<Kept> used_;  // Most recently used first.
  std::unordered_map<Key, std::list<Kept>::iterator, Hash> kept_;
  std::size_t bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace moraine::queue
