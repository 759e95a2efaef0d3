#include "table/chunk/chunk_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/epoch.h"
#include "table/chunk/block_feed.h"
#include "table/chunk/column_cursor.h"
#include "table/chunk/group_cursor.h"
#include "table/chunk/hot_rows.h"
#include "table/chunk/open_chunk.h"
#include "table/chunk/row_block.h"
#include "table/chunk/row_group.h"
#include "table/chunk/scan_bounds.h"
#include "table/memory/memory_store.h"

namespace moraine::table {
namespace {

Result<void> check_fit(const ChunkRecord& record, const ChunkMeta& meta,
                       const TableSchema& schema) {
  const auto wrong = [&record](const std::string& what) {
    return fail(Errc::kCorrupt, fmt::format("chunk {:x}: {}", record.id, what));
  };
  if (meta.blob_ends.size() != record.data.size()) {
    return wrong(
        fmt::format("{} blobs, its meta has {}", record.data.size(), meta.blob_ends.size()));
  }
  if (meta.fresh_hunk_blobs > record.hunks.size()) {
    return wrong(
        fmt::format("{} hunk blobs, its meta has {}", record.hunks.size(), meta.fresh_hunk_blobs));
  }
  if (meta.schema.key_count() > schema.key_count()) {
    return wrong(fmt::format("{} key columns, its table has {}", meta.schema.key_count(),
                             schema.key_count()));
  }
  return {};
}

// Where a key lies between two others, by their bytes: 0 at or below `from`, 1 at or above `to`.
double place_between(ByteSpan key, ByteSpan from, ByteSpan to) {
  if (compare_keys(key, from) <= 0) return 0;
  if (compare_keys(key, to) >= 0) return 1;
  const auto shared = static_cast<std::size_t>(std::ranges::mismatch(from, to).in1 - from.begin());
  const auto number = [shared](ByteSpan bytes) {
    double value = 0;
    double weight = 1;
    for (std::size_t i = shared; i < std::min(bytes.size(), shared + sizeof(std::uint64_t)); ++i) {
      weight /= 256;
      value += weight * std::to_integer<int>(bytes[i]);
    }
    return value;
  };
  const double length = number(to) - number(from);
  return length <= 0 ? 0.5 : std::clamp((number(key) - number(from)) / length, 0.0, 1.0);
}

// Large rows are alone in their units.
std::uint64_t large_row_in(const ChunkMeta& meta, std::size_t unit) {
  const std::size_t first = unit * meta.blocks_per_unit;
  if (meta.blocks[first].rows != 1) return 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = first; i < first + meta.blocks_per_unit; ++i) {
    bytes += meta.blocks[i].raw_bytes;
  }
  return bytes < kLargeRowBytes ? 0 : bytes;
}

}  // namespace

class ChunkReader::Impl final : public OpenChunk {
 public:
  using OpenChunk::OpenChunk;

  const Slice* block(std::uint32_t number,
                     std::span<const std::pair<std::uint32_t, Slice>> pins) const {
    for (const auto& [pinned, bytes] : pins) {
      if (pinned == number) return &bytes;
    }
    return find(number);
  }

  Found lookup_row(ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out,
                   std::vector<std::uint32_t>& missing,
                   std::span<const std::pair<std::uint32_t, Slice>> pins) const {
    // The filter's bytes are fetched while the index is searched.
    meta().filter.prefetch(hash);
    const auto unit = static_cast<std::uint32_t>(meta().index.find(key));
    if (meta().format == OptimizeFor::kLookup) prefetch_slot(unit);
    const bool filters = spec.use_key_filter && !meta().filter.empty();
    auto counters = lookup_counters().here();
    if (filters) {
      counters.add(ChunkReadCounters::kFilterKeys, 1);
      if (!meta().filter.may_have(hash)) {
        counters.add(ChunkReadCounters::kFilteredKeys, 1);
        return Found::kNo;
      }
    }
    if (meta().format == OptimizeFor::kScan) {
      return lookup_in_columns(unit, key, hash, spec, out, missing, pins);
    }
    const Slice* found = block(unit, pins);
    if (found == nullptr) {
      missing.push_back(unit);
      return Found::kNeedsBlocks;
    }
    const RowBlock rows(*found);
    rows.prefetch();
    counters.add(ChunkReadCounters::kCacheBytes, found->size());
    const std::uint32_t row = rows.find(key, hash);
    if (row == RowBlock::kNone) {
      if (filters) counters.add(ChunkReadCounters::kFilterFalsePositives, 1);
      return Found::kNo;
    }
    const std::size_t before = out.values.size();
    if (!rows.read(row, plan(), spec, out)) return Found::kNo;
    const bool long_block = found->size() > kHotBlockBytes && rows.rows() == 1;
    const bool hot = long_block || is_long(out.values.size() - before);
    if (hot && sees_all(spec) && hot_.may_add(hash)) {
      RowBuilder whole;
      const ReadSpec all{.timestamp = spec.timestamp};
      if (rows.read(row, plan(), all, whole)) hot_.add(key, hash, schema(), std::move(whole));
    }
    return Found::kYes;
  }

  Found lookup_in_columns(std::uint32_t unit, ByteSpan key, std::uint64_t hash,
                          const ReadSpec& spec, RowBuilder& out,
                          std::vector<std::uint32_t>& missing,
                          std::span<const std::pair<std::uint32_t, Slice>> pins) const {
    const std::size_t before = out.values.size();
    const Found found = lookup_in_group(unit, key, spec, out, missing, pins);
    const bool hot = found == Found::kYes && is_long(out.values.size() - before);
    if (!hot || !sees_all(spec) || !hot_.may_add(hash)) return found;
    RowBuilder whole;
    std::vector<std::uint32_t> absent;  // Blocks of columns that this read does not need.
    const ReadSpec all{.timestamp = spec.timestamp};
    if (lookup_in_group(unit, key, all, whole, absent, pins) == Found::kYes) {
      hot_.add(key, hash, schema(), std::move(whole));
    }
    return found;
  }

  // In a unit of the scan format.
  Found lookup_in_group(std::uint32_t unit, ByteSpan key, const ReadSpec& spec, RowBuilder& out,
                        std::vector<std::uint32_t>& missing,
                        std::span<const std::pair<std::uint32_t, Slice>> pins) const {
    const std::uint32_t first = unit * meta().blocks_per_unit;
    RowGroup group(meta().schema, layout(), plan());
    group.begin(meta().blocks[first].rows);
    bool complete = true;
    for (const std::uint32_t place : group.needed(spec.columns)) {
      const Slice* found = block(first + place, pins);
      if (found == nullptr) {
        missing.push_back(first + place);
        complete = false;
      } else if (complete) {
        group.set(place, *found);
      }
    }
    if (!complete) return Found::kNeedsBlocks;
    const std::uint32_t row = group.lower_bound(key);
    std::string found;
    if (row < group.rows()) group.key(row, found);
    if (row == group.rows() || as_text(key) != found) {
      if (spec.use_key_filter && !meta().filter.empty()) {
        lookup_counters().add(ChunkReadCounters::kFilterFalsePositives, 1);
      }
      return Found::kNo;
    }
    return group.read(row, spec, out) ? Found::kYes : Found::kNo;
  }

  // Whether the row has many versions; a row with one version of each column is only wide.
  bool is_long(std::size_t values) const {
    return values > std::max(kHotRowValues, schema().columns.size());
  }
  // Whether no version of the chunk is newer than the read's timestamp.
  bool sees_all(const ReadSpec& spec) const {
    return spec.may_fold && spec.timestamp >= meta().statistics.max_timestamp;
  }
  HotRows& hot() const { return hot_; }

 private:
  mutable HotRows hot_;
};

ChunkReader::ChunkReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  const ChunkRecord& record = impl_->record();
  if (!record.to.empty()) share_ = share_below(as_bytes(record.to));
  if (!record.from.empty()) share_ = std::max(0.0, share_ - share_below(as_bytes(record.from)));
  for (std::size_t unit = 0; unit < impl_->meta().units(); ++unit) {
    largest_row_bytes_ = std::max(largest_row_bytes_, large_row_in(impl_->meta(), unit));
  }
}
ChunkReader::~ChunkReader() = default;

std::uint64_t ChunkReader::large_row_bytes(ByteSpan key) const {
  if (largest_row_bytes_ == 0 || !impl_->spans(key) || !impl_->covers(key)) return 0;
  const ChunkMeta& meta = impl_->meta();
  key = without_added_columns(key, impl_->added_keys());
  const std::size_t unit = meta.index.find(key);
  const std::uint64_t bytes = large_row_in(meta, unit);
  if (bytes == 0) return 0;
  const bool same = meta.key_hashes.empty() ? meta.filter.may_have(key_hash(key))
                                            : meta.key_hashes[unit] == key_hash(key, meta.key_seed);
  return same ? bytes : 0;
}

Result<std::shared_ptr<ChunkReader>> ChunkReader::open(ChunkRecord record, const Slice& meta,
                                                       std::shared_ptr<const TableSchema> schema,
                                                       BlobReader& blobs, ChunkCaches caches,
                                                       ChunkReadStatistics& statistics) {
  auto decoded = decode_meta(meta);
  if (!decoded) {
    return std::unexpected(std::move(decoded.error()).within(fmt::format("chunk {:x}", record.id)));
  }
  if (auto fits = check_fit(record, *decoded, *schema); !fits) {
    return std::unexpected(std::move(fits.error()));
  }
  // Columns that were added to the key later are null in rows, and so in these keys.
  const std::size_t added = schema->key_count() - decoded->schema.key_count();
  record.statistics.first_key.append(added, '\0');
  record.statistics.last_key.append(added, '\0');
  auto impl = std::make_unique<Impl>(std::move(record), std::move(*decoded), std::move(schema),
                                     blobs, caches, statistics);
  return std::shared_ptr<ChunkReader>(new ChunkReader(std::move(impl)));
}

double ChunkReader::share_below(ByteSpan key) const {
  const ChunkMeta& meta = impl_->meta();
  key = without_added_columns(key, impl_->added_keys());
  const std::size_t last = meta.units() - 1;
  const std::size_t in = meta.index.find(key);
  const auto rows_of = [&meta](std::size_t unit) {
    return static_cast<double>(meta.blocks[unit * meta.blocks_per_unit].rows);
  };
  double below = 0;
  for (std::size_t unit = 0; unit < in; ++unit) below += rows_of(unit);
  const ByteSpan from = in == 0 ? as_bytes(meta.statistics.first_key) : meta.index.at(in - 1);
  const ByteSpan to = in == last ? as_bytes(meta.statistics.last_key) : meta.index.at(in);
  below += rows_of(in) * place_between(key, from, to);
  return below / static_cast<double>(std::max<std::uint64_t>(meta.statistics.rows, 1));
}

const ChunkRecord& ChunkReader::record() const {
  return impl_->record();
}

ChunkReader::Found ChunkReader::lookup(
    ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out,
    std::vector<std::uint32_t>& missing,
    std::span<const std::pair<std::uint32_t, Slice>> pins) const {
  if (spec.timestamp < impl_->meta().statistics.min_timestamp || !impl_->spans(key) ||
      !impl_->covers(key)) {
    return Found::kNo;
  }
  if (impl_->added_keys() != 0) [[unlikely]] {
    key = without_added_columns(key, impl_->added_keys());
    hash = key_hash(key);
  }
  if (impl_->hot().any() && impl_->sees_all(spec) &&
      impl_->hot().find(key, hash, spec.columns, out)) {
    return Found::kYes;
  }
  return impl_->lookup_row(key, hash, spec, out, missing, pins);
}

bool ChunkReader::has_hot(ByteSpan key, std::uint64_t hash) const {
  if (!impl_->hot().any() || impl_->added_keys() != 0) return false;
  return impl_->hot().has(key, hash);
}

ChunkReader::Approach::Approach(const ChunkReader& chunk, ByteSpan key, std::uint64_t hash)
    : chunk_(&chunk), key_(key), hash_(hash) {
  const Impl& impl = *chunk.impl_;
  if (impl.added_keys() != 0 || impl.meta().format != OptimizeFor::kLookup || !impl.spans(key)) {
    stage_ = Stage::kDone;
  } else {
    impl.meta().filter.prefetch(hash);
  }
}

void ChunkReader::Approach::step() {
  const Impl& impl = *chunk_->impl_;
  switch (stage_) {
    case Stage::kFilter:
      stage_ = Stage::kDone;
      if (!impl.meta().filter.may_have(hash_)) return;
      unit_ = static_cast<std::uint32_t>(impl.meta().index.find(key_));
      impl.prefetch_slot(unit_);
      stage_ = Stage::kSlot;
      return;
    case Stage::kSlot:
      impl.prefetch_block(unit_);
      stage_ = Stage::kBlock;
      return;
    case Stage::kBlock:
    case Stage::kRow:
      if (const Slice* block = impl.find(unit_)) {
        if (stage_ == Stage::kBlock) {
          RowBlock(*block).prefetch();
          stage_ = Stage::kRow;
          return;
        }
        RowBlock(*block).prefetch_row(hash_);
      }
      stage_ = Stage::kDone;
      return;
    case Stage::kDone: return;
  }
}

Task<Result<Slice>> ChunkReader::load(std::uint32_t block) const {
  auto found = impl_->find_in_memory(block, ReadKind::kLookup);
  if (!found || !found->empty()) co_return found;
  const BlockInfo& info = impl_->meta().blocks[block];
  auto stored = co_await impl_->read(info.at, info.size, ReadKind::kLookup);
  if (!stored) {
    co_return std::unexpected(std::move(stored.error()).within(fmt::format("block {}", block)));
  }
  auto opened = impl_->open_block(block, *stored);
  if (opened) impl_->keep(block, *opened, *stored);
  co_return opened;
}

std::optional<Slice> ChunkReader::load_blocking(std::uint32_t block) const {
  auto found = impl_->find_in_memory(block, ReadKind::kLookup);
  if (!found) return std::nullopt;
  if (!found->empty()) return std::move(*found);
  const BlockInfo& info = impl_->meta().blocks[block];
  const std::optional<Slice> stored = impl_->read_blocking(info.at, info.size);
  if (!stored) return std::nullopt;
  auto opened = impl_->open_block(block, *stored);
  if (!opened) {
    impl_->invalidate_place(info.at);
    return std::nullopt;
  }
  impl_->keep(block, *opened, *stored);
  return std::move(*opened);
}

std::unique_ptr<RowCursor> ChunkReader::scan(const KeyBounds& bounds, ReadSpec spec, bool use_cache,
                                             SkippedUnits skipped) const {
  const auto make =
      impl_->meta().format == OptimizeFor::kLookup ? make_row_block_cursor : make_row_group_cursor;
  return make(shared_from_this(), *impl_, bounds, spec, use_cache, std::move(skipped));
}

SkippedUnits ChunkReader::units_within(const KeyList& keys) const {
  const ChunkMeta& meta = impl_->meta();
  const ChunkRecord& record = impl_->record();
  SkippedUnits within(meta.units());
  const bool in_part = !record.from.empty() || !record.to.empty();
  if (meta.key_hashes.empty() || in_part || impl_->added_keys() != 0) return within;
  std::size_t from = keys.lower_bound(as_bytes(record.statistics.first_key));
  for (std::size_t unit = 0; unit < within.size(); ++unit) {
    const std::size_t to = unit + 1 == within.size()
                               ? keys.upper_bound(as_bytes(record.statistics.last_key))
                               : keys.lower_bound(meta.index.at(unit));
    const bool as_many = to - from == meta.blocks[unit * meta.blocks_per_unit].rows;
    within[unit] = as_many && keys.hash(from, to, meta.key_seed) == meta.key_hashes[unit];
    from = to;
  }
  return within;
}

std::unique_ptr<ChunkReader::ColumnCursor> ChunkReader::scan_columns(const KeyBounds& bounds,
                                                                     const ColumnScan& scan) const {
  if (impl_->meta().format == OptimizeFor::kScan) return nullptr;
  return make_row_column_cursor(shared_from_this(), *impl_, bounds, scan);
}

std::unique_ptr<GroupCursor> ChunkReader::scan_groups(const KeyBounds& bounds,
                                                      const ColumnScan& scan) const {
  return GroupCursor::open(shared_from_this(), *impl_, bounds, scan);
}

Task<Result<void>> ChunkReader::preload() {
  CO_TRY_VOID(impl_->check_pin_room());
  auto pinned = co_await pin_blocks();
  if (!pinned) impl_->unpin();
  co_return pinned;
}

Task<Result<void>> ChunkReader::pin_blocks() const {
  const std::vector<BlockInfo>& blocks = impl_->meta().blocks;
  for (std::uint32_t block = 0; block < blocks.size();) {
    const std::uint64_t at = blocks[block].at;
    const std::uint64_t limit = std::min(impl_->blob_end(at), at + kFeedBytesMax);
    std::uint32_t end = block + 1;
    while (end < blocks.size() && blocks[end].at + blocks[end].size <= limit) ++end;
    const std::uint64_t size = blocks[end - 1].at + blocks[end - 1].size - at;
    CO_TRY(const Slice bytes,
           co_await impl_->read(at, static_cast<std::uint32_t>(size), ReadKind::kBackground));
    for (; block < end; ++block) {
      const ByteSpan stored = bytes.span().subspan(blocks[block].at - at, blocks[block].size);
      CO_TRY(const Slice opened, impl_->open_block(block, stored));
      CO_TRY_VOID(impl_->pin(block, opened, stored));
    }
  }
  co_return Result<void>();
}

std::vector<std::string> ChunkReader::split_keys(std::size_t parts) const {
  const ChunkMeta& meta = impl_->meta();
  std::vector<std::string> keys;
  const std::uint64_t total = meta.blob_ends.back();
  for (const KeySample& sample : meta.samples) {
    const std::uint64_t at = meta.blocks[sample.unit * meta.blocks_per_unit].at;
    if (keys.size() + 1 >= parts || at == 0) continue;
    if (at < total / parts * (keys.size() + 1)) continue;
    std::string key = sample.key + std::string(impl_->added_keys(), '\0');
    if (impl_->covers(as_bytes(key)) && key != impl_->record().from) keys.push_back(std::move(key));
  }
  return keys;
}

void ChunkReader::weigh(const KeyBounds& bounds, std::size_t points_max,
                        std::vector<WeighedKey>& out) const {
  const ScanBounds within(*impl_, bounds);
  const ChunkMeta& meta = impl_->meta();
  if (within.first_unit() >= within.end_unit()) return;
  const std::uint32_t units = within.end_unit() - within.first_unit();
  const auto step = static_cast<std::uint32_t>(units / std::max<std::size_t>(points_max, 1) + 1);
  for (std::uint32_t unit = within.first_unit(); unit < within.end_unit(); unit += step) {
    WeighedKey& point = out.emplace_back();
    point.key = unit == 0 ? impl_->record().statistics.first_key
                          : std::string(as_text(meta.index.at(unit - 1)));
    const std::uint32_t end = std::min(unit + step, within.end_unit());
    for (std::uint32_t i = unit; i < end; ++i) {
      point.rows += meta.blocks[std::size_t{i} * meta.blocks_per_unit].rows;
    }
  }
}

std::size_t ChunkReader::memory_bytes() const {
  return impl_->memory_bytes();
}

}  // namespace moraine::table
