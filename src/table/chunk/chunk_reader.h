// ChunkReader: an open chunk: its meta in memory, its blocks through the caches.
//
// Promise    Gives the rows that were written, mapped to the table's present schema by column name
//            (columns that the chunk lacks are absent, key columns added since are null), within
//            the record's bounds. A block that does not match its checksum is kCorrupt and names
//            the chunk, the block and the blob.
// Threading  Immutable. lookup() and cursors' next() on any thread, without waiting; load_here() on
//            any thread that may wait; open() and other loads on the tablet's executor.
// Tests      chunk_test.cpp, chunk_schema_test.cpp, chunk_damage_test.cpp, chunk_meta_fuzz.cpp,
//            chunk_block_fuzz.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "blob/device/direct_reads.h"
#include "io/task.h"
#include "table/cache/block_cache.h"
#include "table/chunk/chunk.h"
#include "table/chunk/key_list.h"
#include "table/chunk/read_counters.h"
#include "table/model/column_batch.h"
#include "table/model/row_cursor.h"

namespace moraine::table {

// How bytes of blobs are had; on the tablet's executor.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  virtual Task<Result<Slice>> read(blob::BlobId id, std::uint32_t offset, std::uint32_t size) = 0;
  // Where any thread may read the blob. nullopt: nowhere.
  virtual std::optional<blob::DirectPlace> locate(const blob::BlobId&) { return std::nullopt; }
};

struct ChunkCaches {
  BlockCache* uncompressed = nullptr;
  BlockCache* compressed = nullptr;  // Null: none.
  // preload() keeps blocks as they are stored; without a compressed cache they are counted in the
  // other one. Else it keeps them unpacked.
  bool pins_compressed = false;
};

// From here on a row counts as large.
inline constexpr std::uint64_t kLargeRowBytes = std::uint64_t{256} << 10;

// Units of a chunk (chunk_meta.h) that a scan leaves out, by number. Empty: none.
using LeftOut = std::vector<bool>;

class ChunkReader : public std::enable_shared_from_this<ChunkReader> {
 public:
  // `blobs`, the caches and `statistics` outlive it. Errors: kCorrupt, kUnsupported.
  static Result<std::shared_ptr<ChunkReader>> open(ChunkRecord record, const Slice& meta,
                                                   std::shared_ptr<const TableSchema> schema,
                                                   BlobReader& blobs, ChunkCaches caches,
                                                   ChunkReadStatistics& statistics);
  ~ChunkReader();

  const ChunkRecord& record() const;
  // Of its rows: how many are within the record's bounds, about. Of tablets that share a chunk the
  // shares are 1 together.
  double share() const { return share_; }
  std::uint64_t part_of(std::uint64_t figure) const {
    return static_cast<std::uint64_t>(share_ * static_cast<double>(figure) + 0.5);
  }

  enum class Found : std::uint8_t { kNo, kYes, kNeedsBlocks };
  // Adds the row's versions to `out`. kNeedsBlocks: those that were missing were added to `missing`
  // and `out` is as it was; load() them and ask again. What is added borrows block memory: it lives
  // until the caller's EpochGuard ends, or as long as `pins` holds the blocks.
  // `pins`: blocks that load() gave; looked at before the cache.
  Found lookup(ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out,
               std::vector<std::uint32_t>& missing,
               std::span<const std::pair<std::uint32_t, Slice>> pins) const;
  // Does a lookup of the newest values (ReadSpec::may_fold) find the row without its block?
  bool has_hot(ByteSpan key, std::uint64_t hash) const;
  // A key on its way: each step brings close to the processor what the one before it points to, and
  // looks at nothing that was not brought. Keys that take their steps together wait for memory
  // together. A hint; under an EpochGuard.
  class Approach {
   public:
    static constexpr int kSteps = 4;
    Approach(const ChunkReader& chunk, ByteSpan key, std::uint64_t hash);
    void step();

   private:
    enum class Stage : std::uint8_t { kFilter, kSlot, kBlock, kRow, kDone };
    const ChunkReader* chunk_;
    ByteSpan key_;
    std::uint64_t hash_;
    std::uint32_t unit_ = 0;
    Stage stage_ = Stage::kFilter;
  };
  // Reads, checks, unpacks and caches a block.
  Task<Result<Slice>> load(std::uint32_t block) const;
  // The same on any thread, which waits for the disk. nullopt: it cannot be had so, or is damaged;
  // load() gives it or the reason.
  std::optional<Slice> load_here(std::uint32_t block) const;

  // The cursor keeps the reader alive. `use_cache` false: blocks that are not cached are read past
  // it, as compaction does.
  std::unique_ptr<RowCursor> scan(const KeyBounds& bounds, ReadSpec spec, bool use_cache,
                                  LeftOut left_out = {}) const;
  // Units of which the list has every key, found without reading them. A unit whose keys are not
  // all of those that the list has in its range is not found.
  LeftOut units_within(const KeyList& keys) const;

  // Columns of rows that need no merging with other stores, or nullptr when this chunk cannot be
  // read so (scan format: deltas or hunks in a wanted column; lookup format: hunks, values of type
  // any). Filters, whose texts outlive the cursor, are applied. In the scan format blocks are
  // skipped by their least and greatest values, and row groups in which every row has exactly one
  // version go column by column.
  class ColumnCursor {
   public:
    virtual ~ColumnCursor() = default;
    // kRow: the batch has rows (0 when all were filtered out). Texts live until the next call.
    virtual RowCursor::Step next(ColumnBatch& batch) = 0;
    // A hint: more rows than these are not wanted at the next call.
    virtual void limit_rows(std::uint64_t) {}
    virtual Task<Result<void>> load() = 0;
    // Nothing is called any more; the chunk may go, texts of the last batch stay with the cursor.
    virtual void release() = 0;
  };
  std::unique_ptr<ColumnCursor> scan_columns(const KeyBounds& bounds, Timestamp timestamp,
                                             std::span<const ColumnIndex> columns,
                                             std::span<const ColumnFilter> filters) const;

  // Reads every block into memory and keeps it there (in_memory_mode). On failure none is kept.
  // kOverloaded: they do not fit into what may be kept.
  Task<Result<void>> preload();
  // Keys that cut the chunk into about `parts` of equal size.
  std::vector<std::string> split_keys(std::size_t parts) const;
  std::size_t memory_bytes() const;  // Of the meta.

  // Of all versions of the key's row, unpacked, when they are kLargeRowBytes or more; else 0.
  std::uint64_t large_row_bytes(ByteSpan key) const;
  // Of the largest such row.
  std::uint64_t largest_row_bytes() const { return largest_row_bytes_; }

 private:
  class Impl;
  explicit ChunkReader(std::unique_ptr<Impl> impl);
  Task<Result<void>> pin_blocks() const;
  // Of its rows: how many are below the key, about.
  double share_below(ByteSpan key) const;

  std::unique_ptr<Impl> impl_;
  double share_ = 1;
  std::uint64_t largest_row_bytes_ = 0;
};

}  // namespace moraine::table
