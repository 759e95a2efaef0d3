#include "table/tablet/store_set.h"

#include <algorithm>

#include "base/invariant.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

// Readers search newer versions first.
bool newer(const std::shared_ptr<ChunkReader>& a, const std::shared_ptr<ChunkReader>& b) {
  const ChunkRecord& left = a->record();
  const ChunkRecord& right = b->record();
  if (left.statistics.max_timestamp != right.statistics.max_timestamp) {
    return left.statistics.max_timestamp > right.statistics.max_timestamp;
  }
  return left.id > right.id;
}

OpenMemoryStore new_store(StoreNumber number, Instant now,
                          const std::shared_ptr<const TableSchema>& schema) {
  OpenMemoryStore store;
  store.number = number;
  store.store = std::make_shared<MemoryStore>(schema);
  store.created = now;
  return store;
}

}  // namespace

StoreSet::StoreSet(std::shared_ptr<const TableSchema> schema, KeyBounds bounds, StoreNumber first,
                   Instant now)
    : schema_(std::move(schema)),
      bounds_(std::move(bounds)),
      memory_([&] {
        std::deque<OpenMemoryStore> stores;
        stores.push_back(new_store(first, now, schema_));
        return stores;
      }()),
      views_(make_view()) {}

void StoreSet::restore(const std::map<StoreNumber, std::shared_ptr<MemoryStore>>& stores,
                       Instant now) {
  INVARIANT(!stores.empty() && memory_.size() == 1 && memory_[0].store->rows() == 0,
            "stores are restored once, before any write");
  memory_.clear();
  for (const auto& [number, store] : stores) {
    memory_.push_back(new_store(number, now, schema_));
    memory_.back().store = store;
  }
  views_.publish(make_view());
}

OpenMemoryStore* StoreSet::memory(StoreNumber number) {
  const auto found = std::ranges::find(memory_, number, &OpenMemoryStore::number);
  return found == memory_.end() ? nullptr : &*found;
}

void StoreSet::rotate(Instant now) {
  memory_.push_back(new_store(active().number + 1, now, schema_));
  views_.publish(make_view());
}

// The partition that contains all rows of the chunk that count.
std::optional<std::size_t> StoreSet::partition_of(const ChunkRecord& record) const {
  const std::string& first = std::max(record.from, record.statistics.first_key);
  const auto above = std::upper_bound(pivots_.begin() + 1, pivots_.end(), first);
  const auto index = static_cast<std::size_t>(above - pivots_.begin()) - 1;
  if (above == pivots_.end()) return index;
  const bool cut = !record.to.empty() && record.to <= *above;
  if (!cut && record.statistics.last_key >= *above) return std::nullopt;
  return index;
}

void StoreSet::apply(Change change) {
  for (const std::uint64_t id : change.removed) {
    chunks_.erase(id);
    eden_.erase(id);
    std::erase_if(damaged_, [id](const DamagedChunk& chunk) { return chunk.id == id; });
  }
  if (change.pivots) {
    INVARIANT(!change.pivots->empty() && change.pivots->front().empty(),
              "the first partition begins at the beginning");
    pivots_ = std::move(*change.pivots);
  }
  for (auto& reader : change.added_to_eden) {
    eden_.insert(reader->record().id);
    chunks_[reader->record().id] = std::move(reader);
  }
  for (auto& reader : change.added) chunks_[reader->record().id] = std::move(reader);
  largest_in_chunks_ = 0;
  for (const auto& [id, reader] : chunks_) {
    if (!partition_of(reader->record())) eden_.insert(id);
    largest_in_chunks_ += reader->largest_row_bytes();
  }
  std::erase_if(flushed_, [](const auto& store) { return store.expired(); });
  for (const StoreNumber number : change.flushed) {
    INVARIANT(number != active().number, "the active store {} cannot be removed", number);
    if (const OpenMemoryStore* open = memory(number)) flushed_.emplace_back(open->store);
    std::erase_if(memory_, [&](const OpenMemoryStore& store) { return store.number == number; });
  }
  if (!change.flushed.empty() || change.replaces_rows) ++flush_revision_;
  for (DamagedChunk& chunk : change.damaged) damaged_.push_back(std::move(chunk));
  if (change.retained_timestamp) {
    retained_timestamp_ = std::max(retained_timestamp_, *change.retained_timestamp);
  }
  views_.publish(make_view());
}

std::size_t StoreSet::replaced_memory_bytes() {
  std::erase_if(flushed_, [](const auto& store) { return store.expired(); });
  std::size_t bytes = 0;
  for (const auto& store : flushed_) {
    if (const auto kept = store.lock()) bytes += kept->bytes();
  }
  return bytes;
}

void StoreSet::trim(std::string from) {
  if (from <= bounds_.from) return;
  bounds_.from = std::move(from);
  trimmed_ = true;
  views_.publish(make_view());
}

void StoreSet::set_append(PreparedMark mark) {
  append_ = mark;
  views_.publish(make_view());
}

std::shared_ptr<const TabletView> StoreSet::make_view() const {
  auto view = std::make_shared<TabletView>();
  view->schema = schema_;
  view->has_any = std::ranges::find(schema_->columns, ColumnType::kAny, &ColumnSchema::type) !=
                  schema_->columns.end();
  view->bounds = bounds_;
  view->trimmed = trimmed_;
  view->flush_revision = flush_revision_;
  view->retained_timestamp = retained_timestamp_;
  view->damaged = damaged_;
  view->append = append_;
  for (auto store = memory_.rbegin(); store != memory_.rend(); ++store) {
    view->memory.push_back(store->store);
  }
  for (const std::string& pivot : pivots_) view->partitions.push_back({pivot, {}});
  for (const auto& [id, reader] : chunks_) {
    if (eden_.contains(id)) {
      view->eden.push_back(reader);
    } else {
      view->partitions[*partition_of(reader->record())].chunks.push_back(reader);
    }
  }
  std::ranges::sort(view->eden, newer);
  for (PartitionView& partition : view->partitions) std::ranges::sort(partition.chunks, newer);
  return view;
}

std::shared_ptr<ChunkReader> StoreSet::chunk(std::uint64_t id) const {
  const auto found = chunks_.find(id);
  return found == chunks_.end() ? nullptr : found->second;
}

bool StoreSet::in_eden(std::uint64_t id) const {
  return eden_.contains(id);
}

std::size_t StoreSet::memory_bytes() const {
  std::size_t bytes = 0;
  for (const OpenMemoryStore& store : memory_) bytes += store.store->bytes();
  return bytes;
}

std::uint64_t StoreSet::largest_rows_bytes() const {
  std::uint64_t bytes = largest_in_chunks_;
  for (const OpenMemoryStore& open : memory_) bytes += open.store->largest_row_bytes();
  return bytes;
}

StoreSet::RowBytes StoreSet::row_bytes(ByteSpan key, std::uint64_t hash) const {
  RowBytes bytes;
  for (const OpenMemoryStore& open : memory_) {
    const MemoryStore::Row* row = open.store->find(key, hash);
    if (row != nullptr) bytes.in_memory += MemoryStore::version_bytes(*row);
  }
  if (largest_in_chunks_ == 0) return bytes;
  const auto view = views_.hold();
  for (const auto* chunks : {&view->eden, &view->partition_of(key).chunks}) {
    for (const auto& reader : *chunks) {
      const std::uint64_t more = reader->large_row_bytes(key);
      if (more == 0) continue;
      bytes.in_chunks += more;
      bytes.chunks.push_back(reader->record().id);
    }
  }
  return bytes;
}

std::uint64_t StoreSet::unmerged_rows() const {
  std::uint64_t rows = 0;
  for (const OpenMemoryStore& store : memory_) rows += store.store->rows();
  for (const auto& [id, reader] : chunks_) {
    rows += reader->part_of(reader->record().statistics.rows);
  }
  return rows;
}

}  // namespace moraine::table
