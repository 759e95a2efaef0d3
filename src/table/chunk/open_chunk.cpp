#include "table/chunk/open_chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/epoch.h"
#include "base/invariant.h"
#include "table/chunk/row_block.h"
#include "table/chunk/row_group.h"
#include "table/chunk/unit_writer.h"

namespace moraine::table {

OpenChunk::OpenChunk(ChunkRecord record, ChunkMeta meta, std::shared_ptr<const TableSchema> schema,
                     BlobReader& blobs, ChunkCaches caches, ChunkReadStatistics& statistics)
    : record_(std::move(record)),
      meta_(std::move(meta)),
      schema_(std::move(schema)),
      blobs_(&blobs),
      caches_(caches),
      statistics_(&statistics),
      types_(value_types(meta_.schema)),
      layout_(meta_.schema),
      hunks_(record_.hunks, meta_.fresh_hunk_blobs),
      places_(record_.data, blobs) {
  map_columns();
  places_.find_all();
  if (caches_.uncompressed != nullptr) slots_ = std::make_unique<BlockSlot[]>(block_count());
  if (packed_cache() != nullptr) packed_slots_ = std::make_unique<BlockSlot[]>(block_count());
}

OpenChunk::~OpenChunk() {
  if (slots_) caches_.uncompressed->forget({slots_.get(), block_count()});
  if (packed_slots_) packed_cache()->forget({packed_slots_.get(), block_count()});
}

BlockCache* OpenChunk::packed_cache() const {
  if (caches_.compressed != nullptr || !caches_.pins_compressed) return caches_.compressed;
  return caches_.uncompressed;
}

void OpenChunk::map_columns() {
  added_keys_ = schema_->key_count() - meta_.schema.key_count();
  ColumnIndex before = 0;
  for (const ColumnSchema& column : meta_.schema.columns) {
    if (column.key) continue;
    ReadPlan::Column mapped{.type = physical_type(column.type)};
    const auto target = schema_->find(column.name);
    if (target && !schema_->columns[*target].key) {
      mapped.known = true;
      mapped.target = static_cast<ColumnIndex>(*target);
      plan_.ordered = plan_.ordered && mapped.target > before;
      before = mapped.target;
    }
    plan_.columns.push_back(mapped);
  }
}

bool OpenChunk::covers(ByteSpan key) const {
  if (!record_.from.empty() && compare_keys(key, as_bytes(record_.from)) < 0) return false;
  return record_.to.empty() || compare_keys(key, as_bytes(record_.to)) < 0;
}

std::string OpenChunk::name_of(std::uint32_t block) const {
  return fmt::format("chunk {:x}, block {}, blob {}", record_.id, block,
                     record_.data[blob_of(meta_.blocks[block].at)].to_string());
}

std::size_t OpenChunk::blob_of(std::uint64_t at) const {
  const auto end = std::ranges::upper_bound(meta_.blob_ends, at);
  INVARIANT(end != meta_.blob_ends.end(), "byte {} of {}", at, meta_.blob_ends.back());
  return static_cast<std::size_t>(end - meta_.blob_ends.begin());
}

Result<Slice> OpenChunk::open_block(std::uint32_t block, ByteSpan stored) const {
  const BlockInfo& info = meta_.blocks[block];
  if (stored.size() != info.size || crc32c(stored) != info.checksum) {
    return fail(Errc::kCorrupt, fmt::format("{}: checksum", name_of(block)));
  }
  const StoredBlock what{.bytes = stored,
                         .codec = info.size == info.raw_bytes ? CodecKind::kNone : meta_.codec.kind,
                         .raw_bytes = info.raw_bytes,
                         .rows = info.rows};
  auto opened = meta_.format == OptimizeFor::kLookup
                    ? open_row_block(what, types_, hunks_)
                    : open_group_block(what, block % meta_.blocks_per_unit, meta_.schema, hunks_);
  if (!opened) return std::unexpected(std::move(opened.error()).within(name_of(block)));
  return opened;
}

Result<Slice> OpenChunk::find_in_memory(std::uint32_t block, ReadKind kind) const {
  Slice packed;
  {
    const EpochGuard guard;
    if (const Slice* found = find(block)) {
      statistics_->of(kind).add(ChunkReadCounters::kCacheBytes, found->size());
      return *found;
    }
    if (packed_slots_) {
      if (const Slice* found = BlockCache::find(packed_slots_[block])) packed = *found;
    }
  }
  if (packed.empty()) return Slice();
  statistics_->of(kind).add(ChunkReadCounters::kCacheBytes, packed.size());
  auto opened = open_block(block, packed);
  if (opened && caches_.uncompressed != nullptr) {
    caches_.uncompressed->insert(slots_[block], *opened);
  }
  return opened;
}

bool OpenChunk::in_memory(std::uint32_t block) const {
  const EpochGuard guard;
  return find(block) != nullptr ||
         (packed_slots_ && BlockCache::find(packed_slots_[block]) != nullptr);
}

void OpenChunk::keep(std::uint32_t block, const Slice& opened, ByteSpan stored) const {
  if (caches_.uncompressed != nullptr) caches_.uncompressed->insert(slots_[block], opened);
  if (caches_.compressed != nullptr) {
    caches_.compressed->insert(packed_slots_[block], Slice::copy_of(stored));
  }
}

std::unexpected<Error> OpenChunk::no_pin_room() const {
  const PinnedMemory& memory = *pin_cache()->pinned_memory();
  return fail(Errc::kOverloaded,
              fmt::format("chunk {:x} does not fit into the memory for in-memory tables: {} of {} "
                          "bytes are taken; raise the limit (in_memory_bytes), or set "
                          "in_memory_mode of some table to none",
                          record_.id, memory.bytes(), memory.bytes_max()));
}

Result<void> OpenChunk::check_pin_room() const {
  if (pin_cache() == nullptr || pin_cache()->pinned_memory() == nullptr) return {};
  const PinnedMemory& memory = *pin_cache()->pinned_memory();
  std::uint64_t bytes = 0;
  for (const BlockInfo& block : meta_.blocks) {
    bytes += caches_.pins_compressed ? block.size : block.raw_bytes;
  }
  if (bytes <= memory.bytes_max() - std::min(memory.bytes(), memory.bytes_max())) return {};
  return no_pin_room();
}

Result<void> OpenChunk::pin(std::uint32_t block, const Slice& opened, ByteSpan stored) const {
  BlockCache* cache = pin_cache();
  if (cache == nullptr) return fail(Errc::kUnsupported, "there is no block cache to preload into");
  BlockSlot& slot = (caches_.pins_compressed ? packed_slots_ : slots_)[block];
  if (cache->pin(slot, caches_.pins_compressed ? Slice::copy_of(stored) : opened)) return {};
  return no_pin_room();
}

void OpenChunk::unpin() const {
  const auto& slots = caches_.pins_compressed ? packed_slots_ : slots_;
  if (slots) pin_cache()->forget({slots.get(), block_count()});
}

std::uint64_t OpenChunk::blob_end(std::uint64_t at) const {
  return meta_.blob_ends[blob_of(at)];
}

Task<Result<Slice>> OpenChunk::read(std::uint64_t at, std::uint32_t size, ReadKind kind) const {
  std::vector<Slice> parts;
  std::uint64_t done = 0;
  while (done < size) {
    const auto end = std::ranges::upper_bound(meta_.blob_ends, at + done);
    const auto ordinal = static_cast<std::size_t>(end - meta_.blob_ends.begin());
    const std::uint64_t begin = ordinal == 0 ? 0 : meta_.blob_ends[ordinal - 1];
    const auto part = static_cast<std::uint32_t>(std::min(size - done, *end - (at + done)));
    auto bytes = co_await blobs_->read(record_.data[ordinal],
                                       static_cast<std::uint32_t>(at + done - begin), part);
    if (!bytes) {
      co_return std::unexpected(std::move(bytes.error())
                                    .within(fmt::format("chunk {:x}, blob {}", record_.id,
                                                        record_.data[ordinal].to_string())));
    }
    if (bytes->size() != part) {
      co_return fail(Errc::kCorrupt,
                     fmt::format("chunk {:x}: blob {} gave {} bytes of {}", record_.id,
                                 record_.data[ordinal].to_string(), bytes->size(), part));
    }
    auto counters = statistics_->of(kind).here();
    counters.add(ChunkReadCounters::kDiskBytes, part);
    counters.add(ChunkReadCounters::kTransmittedBytes, part);
    // Next time a thread may be able to read it directly.
    places_.refresh(ordinal);
    done += part;
    parts.push_back(std::move(*bytes));
  }
  if (parts.size() == 1) co_return std::move(parts.front());
  Buffer whole(size);
  std::size_t filled = 0;
  for (const Slice& part : parts) {
    std::memcpy(whole.data() + filled, part.data(), part.size());
    filled += part.size();
  }
  co_return std::move(whole).freeze();
}

std::optional<Slice> OpenChunk::read_blocking(std::uint64_t at, std::uint32_t size) const {
  const std::size_t ordinal = blob_of(at);
  if (size > meta_.blob_ends[ordinal] - at) return std::nullopt;
  const std::uint64_t begin = ordinal == 0 ? 0 : meta_.blob_ends[ordinal - 1];
  const std::optional<blob::DirectPlace> place = places_.get(ordinal);
  if (!place) return std::nullopt;
  auto bytes = place->read(static_cast<std::uint32_t>(at - begin), size);
  if (bytes) lookup_counters().add(ChunkReadCounters::kDiskBytes, size);
  return bytes;
}

std::size_t OpenChunk::memory_bytes() const {
  std::size_t bytes = sizeof(*this) + meta_.index.memory_bytes() + meta_.filter.bytes() +
                      meta_.blocks.capacity() * sizeof(BlockInfo) +
                      meta_.ranges.capacity() * sizeof(ColumnRange) +
                      meta_.key_hashes.capacity() * sizeof(std::uint64_t);
  if (slots_) bytes += block_count() * sizeof(BlockSlot);
  if (packed_slots_) bytes += block_count() * sizeof(BlockSlot);
  return bytes;
}

}  // namespace moraine::table
