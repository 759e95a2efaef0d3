// RowCache: hot rows of one tablet, as its chunks know them, all versions.
//
// A lookup reads the memory stores and then, in place of the chunks, the cached row. Only a flush
// changes what chunks say of a key: begin_flush() makes rows that were read from the older chunks
// unwelcome, then update() is told of every row of the flushed store, and only then is the view
// with the new chunk published.
//
// Promise    find() never gives a row that lacks what a chunk of the reader's view has. Least
//            recently used rows go first (CLOCK).
// Threading  find(), insert() and keep_hunk() on any thread (find under an EpochGuard); the rest on
//            the tablet's.
// Limits     `rows_max` rows of the tablet; `memory` bytes of all tablets of the node. When memory
//            runs out rows are not inserted, and rows that would have to be updated are outdated:
//            kept, but not found. A row of more than kCachedRowBytesMax is not kept, nor is one
//            that has more than kCachedVersionsMax writes once it was updated.
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
  // `memory` outlives it.
  explicit RowCache(SlabMemory& memory);
  RowCache(const RowCache&) = delete;
  RowCache& operator=(const RowCache&) = delete;
  ~RowCache();

  // 0 turns it off and empties it.
  void set_rows_max(std::size_t rows_max);
  std::size_t rows_max() const;

  // kAgain: the same lookup has asked for the key before, and the figures know.
  enum class Look : std::uint8_t { kFirst, kAgain };
  // True: found; its versions were added to `out` as `spec` asks, texts borrow the cached row. Rows
  // of views that are younger than the reader's are not: they may be folded from what the reader
  // finds in memory.
  bool find(ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out,
            Look look = Look::kFirst, std::uint64_t flush_revision = kNewestRevision) const;
  // Brings close to the processor what find() of this hash looks at first; a hint.
  void prefetch(std::uint64_t hash) const;
  // All versions of the row in the chunks of the view with this flush revision. Refused when a
  // flush has begun since.
  void insert(const VersionedRow& row, std::uint64_t hash, std::uint64_t flush_revision);

  // Values of the cached row that are this reference to a hunk become the bytes that it stands for.
  void keep_hunk(ByteSpan key, std::uint64_t hash, ByteSpan reference, std::string_view bytes);

  // From now on rows of older revisions are refused.
  void begin_flush(std::uint64_t new_revision);
  // A row of the store that is being flushed: merged into the cached one if there is one.
  void update(const VersionedRow& row, std::uint64_t hash);

  // Since it was made, but for `rows`.
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
