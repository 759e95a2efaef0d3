#include "table/memory/hash_index.h"

#include "table/memory/memory_row.h"

namespace moraine::table {
namespace {

// Addresses of user memory have 48 bits.
constexpr unsigned kPointerBits = 48;
constexpr std::uint64_t kPointerMask = (std::uint64_t{1} << kPointerBits) - 1;

// Bits other than those that choose the shard and, except in huge tables, the slot.
std::uint64_t tag_of(std::uint64_t hash) {
  return (hash >> 42) << kPointerBits;
}

MemoryStore::Row* row_of(std::uint64_t slot) {
  return reinterpret_cast<MemoryStore::Row*>(slot & kPointerMask);
}

}  // namespace

void HashIndex::put(Table& table, MemoryStore::Row& row) {
  std::size_t at = row.hash() & table.mask;
  while (table.slots[at].load(std::memory_order_relaxed) != 0) at = (at + 1) & table.mask;
  const auto pointer = reinterpret_cast<std::uintptr_t>(&row);
  table.slots[at].store(pointer | tag_of(row.hash()), std::memory_order_release);
}

void HashIndex::grow(Shard& shard) {
  const Table* old = shard.table.load(std::memory_order_relaxed);
  const std::size_t size = old == nullptr ? kSlotsMin : (old->mask + 1) * 2;
  auto table = std::make_unique<Table>(size);
  bytes_ += sizeof(Table) + size * sizeof(std::uint64_t);
  for (std::size_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const std::uint64_t slot = old->slots[i].load(std::memory_order_relaxed);
    if (slot != 0) put(*table, *row_of(slot));
  }
  shard.table.store(table.get(), std::memory_order_release);
  tables_.push_back(std::move(table));
}

void HashIndex::insert(MemoryStore::Row& row) {
  Shard& shard = shards_[row.hash() >> (64 - kShardBits)];
  Table* table = shard.table.load(std::memory_order_relaxed);
  if (table == nullptr || (shard.rows + 1) * 4 > (table->mask + 1) * 3) {
    grow(shard);
    table = shard.table.load(std::memory_order_relaxed);
  }
  put(*table, row);
  ++shard.rows;
}

void HashIndex::prefetch(std::uint64_t hash) const {
  const Table* table = shards_[hash >> (64 - kShardBits)].table.load(std::memory_order_acquire);
  if (table != nullptr) __builtin_prefetch(&table->slots[hash & table->mask]);
}

MemoryStore::Row* HashIndex::find(ByteSpan key, std::uint64_t hash) const {
  const Table* table = shards_[hash >> (64 - kShardBits)].table.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  const std::uint64_t tag = tag_of(hash);
  for (std::size_t at = hash & table->mask;; at = (at + 1) & table->mask) {
    const std::uint64_t slot = table->slots[at].load(std::memory_order_acquire);
    if (slot == 0) return nullptr;
    if ((slot & ~kPointerMask) != tag) continue;
    MemoryStore::Row* row = row_of(slot);
    if (row->hash() == hash && equal(row->key(), key)) return row;
  }
}

}  // namespace moraine::table
