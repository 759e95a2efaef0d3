// RowCache: hot rows of one tablet, all versions that its chunks have.
//
// A lookup reads the memory stores and then, instead of the chunks, the cached row. Only a flush
// changes what chunks have for a key: begin_flush() makes the cache refuse rows that were read from
// the older chunks, then update() is called for every row of the flushed store, and only then is
// the view with the new chunk published.
//
// Promise    find() never returns a row that lacks what a chunk of the reader's view has. Least
//            recently used rows are evicted first (CLOCK).
// Threading  find(), insert() and keep_hunk() on any thread (find under an EpochGuard); the rest on
//            the tablet's.
// Limits     `rows_max` rows of the tablet; `memory` bytes of all tablets of the node. When memory
//            runs out rows are not inserted, and rows that would have to be updated become
//            outdated: kept, but not found. Rows of more than kCachedRowBytesMax, or of more than
//            kCachedVersionsMax writes after an update, are not cached.
// Tests      row_cache_test.cpp, row_cache_threads_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "table/cache/slab_memory.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

inline constexpr std::size_t kCachedRowBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kCachedVersionsMax = 64;
inline constexpr std::uint64_t kNewestRevision = ~std::uint64_t{0};

class RowCache {
 public:
  // `memory` must outlive the cache.
  explicit RowCache(SlabMemory& memory);
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;
  ~RowCache();

  // 0 turns it off and empties it.
  void set_rows_max(std::size_t rows_max);
  std::size_t rows_max() const;

  // kAgain: the same lookup has already searched for the key, and was counted.
  enum class Look : std::uint8_t { kFirst, kAgain };
  // True: found; its versions were added to `out` as `spec` requests, texts borrow the cached row.
  // Rows of views younger than the reader's are not found: they may contain deltas that the reader
  // also finds in memory.
  bool find(ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out,
            Look look = Look::kFirst, std::uint64_t flush_revision = kNewestRevision) const;
  // Prefetches what find() of this hash reads first; a hint.
  void prefetch(std::uint64_t hash) const;
  // All versions of the row in the chunks of the view with this flush revision. Ignored when a
  // flush has begun since.
  void insert(const VersionedRow& row, std::uint64_t hash, std::uint64_t flush_revision);

  // Replaces values of the cached row that equal this hunk reference by the hunk's bytes.
  void keep_hunk(ByteSpan key, std::uint64_t hash, ByteSpan reference, std::string_view bytes);

  // After this insert() ignores rows of older revisions.
  void begin_flush(std::uint64_t new_revision);
  // A row of the store that is being flushed: merged into the cached row if there is one.
  void update(const VersionedRow& row, std::uint64_t hash);

  // Since the cache was made, except `rows`.
  struct Statistics {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t inserts = 0;
    std::uint64_t outdated = 0;  // Found outdated; neither hits nor misses.
    std::uint64_t evicted = 0;
    std::size_t rows = 0;
  };
  Statistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moraine::table
