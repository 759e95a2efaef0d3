// LookupPass: reads keys from the stores of one view, as far as they are in memory; and loads the
// blocks that a pass has missed, for the next one.
//
// Promise    read() never blocks. Marks of all memory stores are read before versions, oldest store
//            first, so a transaction that is being applied is either waited for or seen.
// Invariants Versions of a prepared row are added to the store that has its mark.
// Threading  Under one EpochGuard that outlives the pass; one pass of a thread at a time, since its
//            scratch memory belongs to the thread.
// Limits     kBlockLoadsInFlight loads concurrently; kBlocksInlineMax one after the other.
// Tests      tablet_lookup_test.cpp, lookup_inline_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "table/chunk/hunk.h"
#include "table/tablet/read/tablet_reader.h"

namespace moraine::table {

inline constexpr std::size_t kBlockLoadsInFlight = 32;
// More blocks are read faster in parallel, on the tablet's executor.
inline constexpr std::size_t kBlocksInlineMax = 3;

struct MissingBlock {
  std::shared_ptr<const ChunkReader> chunk;
  std::uint32_t block = 0;
};

// Blocks that were loaded for a lookup, by chunk.
class BlockPins {
 public:
  using Pin = std::pair<std::uint32_t, Slice>;
  void add(const std::shared_ptr<const ChunkReader>& chunk, std::uint32_t block, Slice bytes);
  std::span<const Pin> of(const ChunkReader* chunk) const;

 private:
  struct OfChunk {
    std::shared_ptr<const ChunkReader> chunk;
    std::vector<Pin> pins;
  };
  std::vector<OfChunk> chunks_;
};

// A cell whose bytes are elsewhere.
struct HunkCell {
  std::size_t row = 0;
  std::size_t column = 0;  // Position in the result.
  bool any = false;
  bool wrap = false;  // A string that was written before the column became `any`.
  HunkRef ref;
};

// Blocks and hunks exchanged between a pass and the reads that follow it.
struct LookupHelp {
  BlockPins pins;
  std::vector<MissingBlock> missing;
  std::vector<HunkCell> hunks;
  bool takes_hunks = true;  // False: rows with hunks are left unfinished.
};

struct LookupScratch;

class LookupPass {
 public:
  // `help` null: keys that need reads are left unfinished.
  static Result<LookupPass> begin(const TabletView& view, const LookupRequest& request,
                                  LookupPaths paths, Rowset& rows, LookupHelp* help);

  enum class State : std::uint8_t { kDone, kWaits, kNeedsData };
  // Reads key `at` of the request into row `at`. kNeedsData: blocks, which are in `help`; or hunks,
  // when `help` does not take them.
  State read(std::size_t at, std::uint64_t hash);
  // Prefetches for the keys that are read next: from `first` on, one for each hash.
  void prefetch(std::size_t first, std::span<const std::uint64_t> hashes);
  // Adds the pass's counts to the tablet's statistics.
  void count(LookupStatistics::Shard& counters) const;

 private:
  LookupPass(const TabletView& view, const LookupRequest& request, LookupPaths paths, Rowset& rows,
             LookupHelp* help, LookupScratch& scratch);

  bool must_wait(ByteSpan key, std::uint64_t hash);
  bool read_chunks(ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out);
  bool read_chunk(const std::shared_ptr<ChunkReader>& chunk, ByteSpan key, std::uint64_t hash,
                  const ReadSpec& spec, RowBuilder& out);
  bool read_through_cache(ByteSpan key, std::uint64_t hash);
  bool sees_all(ByteSpan key) const;
  bool has_hot(ByteSpan key, std::uint64_t hash) const;
  bool may_matter(const ChunkReader& chunk, const ReadSpec& spec, const RowBuilder& found);
  State answer(std::size_t at, ByteSpan key);
  void count_unmerged(ByteSpan key);
  void fill(std::size_t at, ByteSpan key, const Value* values);
  bool is_any(ColumnIndex column) const {
    return view_->has_any && view_->schema->columns[column].type == ColumnType::kAny;
  }
  void take_hunks(std::size_t at, Value* values);

  const TabletView* view_;
  const LookupRequest* request_;
  RowCache* cache_;
  Rowset* rows_;
  LookupHelp* help_;
  LookupScratch* scratch_;
  ReadSpec spec_;
  unsigned sources_ = 0;  // Stores that have the current key.
  unsigned asked_ = 0;    // Stores that were asked for it.
  // Versions at or below it in other stores do not change the current result; computed from the
  // first `decided_of_` sources.
  Timestamp decided_ = 0;
  unsigned decided_of_ = 0;
  std::uint64_t found_rows_ = 0;
  std::uint64_t missing_rows_ = 0;
  std::uint64_t unmerged_rows_ = 0;
  std::uint64_t unmerged_missing_rows_ = 0;
  std::uint64_t data_weight_ = 0;
  std::uint64_t unmerged_data_weight_ = 0;
};

// Loads the `missing` blocks into the pins: each once, several at a time. Returns the first
// failure. On the tablet's executor.
Task<Result<void>> load_blocks(std::vector<MissingBlock> missing, BlockPins& pins);
// The same on this thread, one after the other, blocking for the disk. False: use load_blocks().
bool load_blocks_inline(std::vector<MissingBlock> missing, BlockPins& pins);

// kInvalidArgument: versions that the read needs may have been dropped (kAborted, if the timestamp
// is the start of a transaction), or the retention timestamp is above the timestamp.
Result<void> check_read_timestamps(Timestamp timestamp, Timestamp retention_timestamp,
                                   Timestamp retained, bool in_transaction = false);

}  // namespace moraine::table
