// OpenChunk: what all readers of one chunk share: its meta, the mapping of its columns to the
// table's, and the cache slots of its blocks.
//
// Promise    A block is checked against its checksum and its grammar before any reader sees it;
//            errors name the chunk, the block and the blob.
// Threading  Immutable except for the caches' slots and the locations of its blobs. find() under an
//            EpochGuard. Constructed, and read() called, on the tablet's executor; all else on any
//            thread.
// Tests      chunk_test.cpp, chunk_schema_test.cpp, chunk_damage_test.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "table/chunk/blob_places.h"
#include "table/chunk/chunk_meta.h"
#include "table/chunk/chunk_reader.h"
#include "table/chunk/hunk_places.h"
#include "table/chunk/row_code.h"
#include "table/chunk/row_group.h"

namespace moraine::table {

class OpenChunk {
 public:
  OpenChunk(ChunkRecord record, ChunkMeta meta, std::shared_ptr<const TableSchema> schema,
            BlobReader& blobs, ChunkCaches caches, ChunkReadStatistics& statistics);
  OpenChunk(const OpenChunk&) = delete;
  OpenChunk& operator=(const OpenChunk&) = delete;
  ~OpenChunk();

  const ChunkRecord& record() const { return record_; }
  const ChunkMeta& meta() const { return meta_; }
  const TableSchema& schema() const { return *schema_; }
  const ReadPlan& plan() const { return plan_; }
  const GroupLayout& layout() const { return layout_; }
  ChunkReadCounters& lookup_counters() const { return statistics_->of(ReadKind::kLookup); }
  // Key columns of the table that the chunk does not have.
  std::size_t added_keys() const { return added_keys_; }
  std::uint32_t block_count() const { return static_cast<std::uint32_t>(meta_.blocks.size()); }

  // Within the record's bounds?
  bool covers(ByteSpan key) const;
  // Between its first key and its last?
  bool spans(ByteSpan key) const {
    return compare_keys(key, as_bytes(record_.statistics.first_key)) >= 0 &&
           compare_keys(key, as_bytes(record_.statistics.last_key)) <= 0;
  }
  // The block's form in memory, if it is cached.
  const Slice* find(std::uint32_t block) const {
    return caches_.uncompressed != nullptr ? BlockCache::find(slots_[block]) : nullptr;
  }
  // The same from any cache: unpacks a compressed block. Empty: not in memory.
  Result<Slice> find_in_memory(std::uint32_t block, ReadKind kind) const;
  // Whether find_in_memory() would find it.
  bool in_memory(std::uint32_t block) const;
  void prefetch_slot(std::uint32_t block) const { __builtin_prefetch(&slots_[block]); }
  // Prefetches what find() of the block reads.
  void prefetch_block(std::uint32_t block) const {
    if (caches_.uncompressed != nullptr) BlockCache::prefetch(slots_[block]);
  }
  // Makes a block from its stored bytes.
  Result<Slice> open_block(std::uint32_t block, ByteSpan stored) const;
  // Inserts a block into the caches.
  void keep(std::uint32_t block, const Slice& opened, ByteSpan stored) const;
  // Pins a block until unpin(), packed or not as the caches say. kOverloaded: over the limit.
  Result<void> pin(std::uint32_t block, const Slice& opened, ByteSpan stored) const;
  // kOverloaded: judging by their sizes, not all blocks fit.
  Result<void> check_pin_room() const;
  // Removes all blocks of the chunk, pinned or not, from the cache.
  void unpin() const;

  // Bytes of the data blobs, as if they were one.
  Task<Result<Slice>> read(std::uint64_t at, std::uint32_t size, ReadKind kind) const;
  // The same on this thread, blocking for the disk. nullopt: use read().
  std::optional<Slice> read_blocking(std::uint64_t at, std::uint32_t size) const;
  // The bytes returned by read_blocking() are not what was written there.
  void invalidate_place(std::uint64_t at) const { places_.forget(blob_of(at)); }
  // The end of the blob that contains the byte.
  std::uint64_t blob_end(std::uint64_t at) const;

  std::size_t memory_bytes() const;

 private:
  void map_columns();
  std::string name_of(std::uint32_t block) const;
  // The number of the blob that contains the byte.
  std::size_t blob_of(std::uint64_t at) const;
  // The cache of packed blocks. Null: they are not cached.
  BlockCache* packed_cache() const;
  BlockCache* pin_cache() const {
    return caches_.pins_compressed ? packed_cache() : caches_.uncompressed;
  }
  std::unexpected<Error> no_pin_room() const;

  const ChunkRecord record_;
  const ChunkMeta meta_;
  const std::shared_ptr<const TableSchema> schema_;
  BlobReader* const blobs_;
  const ChunkCaches caches_;
  ChunkReadStatistics* const statistics_;
  std::vector<ValueType> types_;
  std::size_t added_keys_ = 0;
  ReadPlan plan_;
  const GroupLayout layout_;
  HunkPlaces hunks_;
  mutable BlobPlaces places_;
  std::unique_ptr<BlockSlot[]> slots_;
  std::unique_ptr<BlockSlot[]> packed_slots_;
};

// Both keep `reader` alive, which owns `chunk`.
std::unique_ptr<RowCursor> make_row_block_cursor(std::shared_ptr<const ChunkReader> reader,
                                                 const OpenChunk& chunk, KeyBounds bounds,
                                                 ReadSpec spec, bool use_cache,
                                                 SkippedUnits skipped);
std::unique_ptr<RowCursor> make_row_group_cursor(std::shared_ptr<const ChunkReader> reader,
                                                 const OpenChunk& chunk, KeyBounds bounds,
                                                 ReadSpec spec, bool use_cache,
                                                 SkippedUnits skipped);

}  // namespace moraine::table
