// BlobCache: an LRU cache of pieces, shared by all partitions of a node, and a budget for the
// memory of pieces that are being read into it.
//
// Promise    Holds at most `bytes_max`; past that the least recently used pieces are evicted. Never
//            the only copy. A piece replaces those whose messages it contains. Pieces being read
//            by one executor take at most kLoadingBytesMax, or one longer piece.
// Threading  Any thread; a budget of loading() on its executor.
// Limits     kRunPiecesMax pieces of one call of find_run(), kOverlapsMax overlapping pieces that a
//            search looks at.
// Tests      blob_cache_test.cpp
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "io/executor.h"
#include "queue/piece.h"

namespace moraine::queue {

inline constexpr std::size_t kCacheBytesDefault = std::size_t{256} << 20;

inline constexpr std::size_t kLoadingBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kRunPiecesMax = 64;
inline constexpr std::size_t kOverlapsMax = 4;

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
    auto operator<=>(const Key&) const = default;

    Offset end() const { return offset + messages; }
  };
  // A message of a partition.
  struct Place {
    std::uint64_t tablet = 0;
    PartitionIndex partition = 0;
    Offset offset = 0;
  };

  explicit BlobCache(std::size_t bytes_max = kCacheBytesDefault) : bytes_max_(bytes_max) {}
  BlobCache(const BlobCache&) = delete;
  BlobCache& operator=(const BlobCache&) = delete;

  std::optional<Piece> find(const Key& key);
  bool holds(const Key& key) const;
  // The piece that contains `from` and those that follow without a gap, up to `bytes` or
  // kRunPiecesMax of them. A following piece may also contain messages of the one before it.
  std::vector<Piece> find_run(Place from, std::size_t bytes);
  // Whether a run from `from` on has so many bytes or pieces, or reaches `end`.
  bool covers(Place from, Offset end, std::size_t bytes, std::size_t pieces) const;
  void insert(const Key& key, Piece piece);
  void erase(const Key& key);

  // The budget for reads of this executor. Shared, so that a pending read may outlive the cache.
  std::shared_ptr<LoadingBudget> loading(const Executor& executor);

  std::size_t bytes() const;
  std::uint64_t hits() const;
  std::uint64_t misses() const;

 private:
  struct Kept {
    Key key;
    Piece piece;
    std::size_t bytes = 0;
  };
  using Used = std::list<Kept>;
  using Index = std::map<Key, Used::iterator>;

  // All require mutex_. Dropped pieces are freed by the caller, after it is unlocked.
  void drop(Index::iterator at, Used& dropped);
  void drop_contained(const Key& key, Used& dropped);
  Index::const_iterator holding(const Place& place) const;
  // The piece that continues the one at `at`, which contains `place`; changes `place`.
  Index::const_iterator following(Index::const_iterator at, Place& place) const;

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;  // Guards all below.
  std::map<const Executor*, std::shared_ptr<LoadingBudget>> loading_;
  Used used_;  // Most recently used first.
  Index kept_;
  std::size_t bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace moraine::queue
