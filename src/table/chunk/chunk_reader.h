// ChunkReader: an open chunk: its meta in memory, its blocks through the caches.
//
// Promise    Returns the rows that were written, mapped to the table's present schema by column
//            name (columns that the chunk lacks are absent, key columns added later are null),
//            within the record's bounds. A block that does not match its checksum is kCorrupt; the
//            error names the chunk, the block and the blob.
// Threading  Immutable. lookup() and cursors' next() on any thread, without blocking;
//            load_blocking() on any thread that may block; open() and other loads on the tablet's
//            executor.
// Tests      chunk_test.cpp, chunk_schema_test.cpp, chunk_damage_test.cpp, chunk_meta_fuzz.cpp,
//            chunk_block_fuzz.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
#include "table/model/scan_statistics.h"
#include "table/model/value_set.h"

namespace moraine::table {

// How bytes of blobs are read; on the tablet's executor.
class BlobReader {
 public:
  virtual ~BlobReader() = default;
  virtual Task<Result<Slice>> read(blob::BlobId id, std::uint32_t offset, std::uint32_t size) = 0;
  // A location where any thread may read the blob directly. nullopt: none.
  virtual void locate(const blob::BlobId&, blob::OnPlace /*found*/) {}
};

struct ChunkCaches {
  BlockCache* uncompressed = nullptr;
  BlockCache* compressed = nullptr;  // Null: none.
  // preload() keeps blocks as they are stored; without a compressed cache they are counted in the
  // other one. Otherwise it keeps them unpacked.
  bool pins_compressed = false;
};

// Rows of at least this size count as large.
inline constexpr std::uint64_t kLargeRowBytes = std::uint64_t{256} << 10;

// What ChunkReader::scan_columns() and scan_groups() read.
struct ColumnScan {
  Timestamp timestamp = kAsyncLastCommitted;
  std::span<const ColumnIndex> columns;
  std::span<const ColumnFilter> filters{};
  std::span<const ColumnCondition> conditions{};
  bool text_tables = false;              // Texts may be returned as codes of a table.
  ScanStatistics* statistics = nullptr;  // Counted there. May be null.
};

// A key at which a chunk can be cut, and how many of its rows are between it and the next one.
struct WeighedKey {
  std::string key;
  std::uint64_t rows = 0;
};

// Units of a chunk (chunk_meta.h) that a scan skips, by number. Empty: none.
using SkippedUnits = std::vector<bool>;

class GroupCursor;

class ChunkReader : public std::enable_shared_from_this<ChunkReader> {
 public:
  // `blobs`, the caches and `statistics` must outlive the reader. Errors: kCorrupt, kUnsupported.
  static Result<std::shared_ptr<ChunkReader>> open(ChunkRecord record, const Slice& meta,
                                                   std::shared_ptr<const TableSchema> schema,
                                                   BlobReader& blobs, ChunkCaches caches,
                                                   ChunkReadStatistics& statistics);
  ~ChunkReader();

  const ChunkRecord& record() const;
  // The approximate share of its rows that are within the record's bounds. For tablets that share a
  // chunk the shares add up to 1.
  double share() const { return share_; }
  std::uint64_t part_of(std::uint64_t figure) const {
    return static_cast<std::uint64_t>(share_ * static_cast<double>(figure) + 0.5);
  }

  enum class Found : std::uint8_t { kNo, kYes, kNeedsBlocks };
  // Adds the row's versions to `out`. kNeedsBlocks: the missing blocks were added to `missing` and
  // `out` is unchanged; load() them and call again. What is added borrows block memory: it lives
  // until the caller's EpochGuard ends, or as long as `pins` holds the blocks. `pins`: blocks
  // returned by load(); searched before the cache.
  Found lookup(ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out,
               std::vector<std::uint32_t>& missing,
               std::span<const std::pair<std::uint32_t, Slice>> pins) const;
  // Would a lookup of the newest values (ReadSpec::may_fold) find the row without its block?
  bool has_hot(ByteSpan key, std::uint64_t hash) const;
  // Prefetching for one key in steps: each step prefetches what the step before it points to, and
  // reads only what was prefetched. Keys that take their steps together wait for memory together. A
  // hint; under an EpochGuard.
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
  // The same on any thread, blocking for the disk. nullopt: the block cannot be read directly, or
  // is damaged; load() returns it or the reason.
  std::optional<Slice> load_blocking(std::uint32_t block) const;

  // The cursor keeps the reader alive. `use_cache` false: uncached blocks are read without
  // inserting them into the cache, as compaction does.
  std::unique_ptr<RowCursor> scan(const KeyBounds& bounds, ReadSpec spec, bool use_cache,
                                  SkippedUnits skipped = {}) const;
  // Units all of whose keys are in the list, found without reading them. A unit is found only if
  // its keys are exactly those that the list has in its range.
  SkippedUnits units_within(const KeyList& keys) const;

  // Columns of rows of the lookup format that need no merging with other stores. Nullptr: the chunk
  // has the scan format, hunks, or values of type any in a wanted column. Filters are applied;
  // their texts must outlive the cursor.
  class ColumnCursor {
   public:
    virtual ~ColumnCursor() = default;
    // kRow: the batch has rows (0 when all were filtered out). Texts live until the next call.
    virtual RowCursor::Step next(ColumnBatch& batch) = 0;
    // A hint: the next call needs no more rows than these.
    virtual void limit_rows(std::uint64_t) {}
    virtual Task<Result<void>> load() = 0;
    // Rows below this key were visited. Empty: none is known to be.
    virtual std::string position() const = 0;
    // No more calls follow; the chunk may be released, texts of the last batch stay with the
    // cursor.
    virtual void release() = 0;
  };
  std::unique_ptr<ColumnCursor> scan_columns(const KeyBounds& bounds, const ColumnScan& scan) const;
  // Groups of rows to be merged with other stores (group_cursor.h). Nullptr: it has the lookup
  // format, or a column has another type in this chunk.
  std::unique_ptr<GroupCursor> scan_groups(const KeyBounds& bounds, const ColumnScan& scan) const;

  // Reads every block into memory and pins it (in_memory_mode). On failure none is pinned.
  // kOverloaded: they do not fit into the limit of pinned memory.
  Task<Result<void>> preload();
  // Keys that split the chunk into about `parts` of equal size.
  std::vector<std::string> split_keys(std::size_t parts) const;
  // Appends up to about `points_max` keys where units within the bounds begin, from the index.
  void weigh(const KeyBounds& bounds, std::size_t points_max, std::vector<WeighedKey>& out) const;
  std::size_t memory_bytes() const;  // Of the meta.

  // Unpacked size of all versions of the key's row, if kLargeRowBytes or more; else 0.
  std::uint64_t large_row_bytes(ByteSpan key) const;
  // Of the largest such row.
  std::uint64_t largest_row_bytes() const { return largest_row_bytes_; }

 private:
  class Impl;
  explicit ChunkReader(std::unique_ptr<Impl> impl);
  Task<Result<void>> pin_blocks() const;
  // The approximate share of its rows that are below the key.
  double share_below(ByteSpan key) const;

  std::unique_ptr<Impl> impl_;
  double share_ = 1;
  std::uint64_t largest_row_bytes_ = 0;
};

}  // namespace moraine::table
