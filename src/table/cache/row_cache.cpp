#include "table/cache/row_cache.h"

#include <array>
#include <mutex>

#include "base/epoch.h"
#include "table/cache/cached_row.h"
#include "table/cache/clock_ring.h"
#include "table/model/merge.h"

namespace moraine::table {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr unsigned kShardBits = 4;
constexpr std::size_t kShards = std::size_t{1} << kShardBits;
constexpr std::size_t kBucketsMin = 16;
constexpr std::size_t kStripes = 8;

// Hash chains of rows. Growing moves rows between chains while readers walk them: a reader may then
// miss a row, but never finds a wrong one, and every chain ends.
struct Buckets {
  explicit Buckets(std::size_t size)
      : mask(size - 1), heads(std::make_unique<std::atomic<CachedRow*>[]>(size)) {}
  std::atomic<CachedRow*>& at(std::uint64_t hash) const { return heads[hash & mask]; }

  const std::size_t mask;
  const std::unique_ptr<std::atomic<CachedRow*>[]> heads;
};

bool is_row_of(const CachedRow& row, ByteSpan key, std::uint64_t hash) {
  return row.hash() == hash && equal(row.key(), key);
}

// Changed under its mutex; read by any thread.
struct alignas(kCacheLine) Shard {
  std::atomic<Buckets*> buckets{nullptr};
  std::mutex mutex;
  ClockRing<CachedRow> ring;

  // The location of the pointer to the row, or null. Requires: the mutex.
  std::atomic<CachedRow*>* locate(ByteSpan key, std::uint64_t hash) {
    const Buckets* all = buckets.load(std::memory_order_relaxed);
    if (all == nullptr) return nullptr;
    std::atomic<CachedRow*>* link = &all->at(hash);
    while (CachedRow* row = link->load(std::memory_order_relaxed)) {
      if (is_row_of(*row, key, hash)) return link;
      link = &row->next;
    }
    return nullptr;
  }
  // Requires: the mutex. Keeps at least half of the buckets empty.
  void make_room() {
    Buckets* old = buckets.load(std::memory_order_relaxed);
    if (old != nullptr && ring.size() * 2 < old->mask) return;
    auto* grown = new Buckets(old == nullptr ? kBucketsMin : (old->mask + 1) * 2);
    for (std::size_t i = 0; old != nullptr && i <= old->mask; ++i) {
      CachedRow* row = old->heads[i].load(std::memory_order_relaxed);
      while (row != nullptr) {
        CachedRow* const next = row->next.load(std::memory_order_relaxed);
        link_first(*grown, *row);
        row = next;
      }
    }
    buckets.store(grown, std::memory_order_release);
    if (old != nullptr) retire([old] { delete old; });
  }
  static void link_first(Buckets& all, CachedRow& row) {
    std::atomic<CachedRow*>& head = all.at(row.hash());
    row.next.store(head.load(std::memory_order_relaxed), std::memory_order_release);
    head.store(&row, std::memory_order_release);
  }
  void enter(CachedRow& row) {
    make_room();
    link_first(*buckets.load(std::memory_order_relaxed), row);
    ring.enter(row);
  }
  void replace(std::atomic<CachedRow*>& link, const CachedRow& old, CachedRow& row) {
    row.next.store(old.next.load(std::memory_order_relaxed), std::memory_order_relaxed);
    link.store(&row, std::memory_order_release);
    ring.replace(old, row);
  }
  void remove(std::atomic<CachedRow*>& link, const CachedRow& row) {
    link.store(row.next.load(std::memory_order_relaxed), std::memory_order_release);
    ring.leave(row);
  }
};

// Counters shared by a few threads; threads on different processors seldom share a line.
struct alignas(kCacheLine) Stripe {
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> outdated{0};
};

std::size_t this_stripe() {
  static std::atomic<std::size_t> threads{0};
  constinit thread_local std::size_t stripe = kStripes;
  if (stripe == kStripes) [[unlikely]] {
    stripe = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
  }
  return stripe;
}

}  // namespace

struct RowCache::State {
  explicit State(SlabMemory& slabs) : memory(slabs) {}

  SlabMemory& memory;
  std::array<Shard, kShards> shards;
  mutable std::array<Stripe, kStripes> stripes;
  alignas(kCacheLine) std::atomic<std::size_t> rows_max{0};
  std::atomic<std::uint64_t> revision{0};
  alignas(kCacheLine) std::atomic<std::size_t> rows{0};
  std::atomic<std::uint64_t> inserts{0};
  std::atomic<std::uint64_t> evicted{0};
  std::atomic<std::size_t> next_shard{0};  // The next to evict from.

  Shard& shard_of(std::uint64_t hash) { return shards[hash >> (64 - kShardBits)]; }
  void drop(CachedRow& row) { memory.retire(&row, row.bytes()); }
  CachedRow* pack(const VersionedRow& row, std::uint64_t hash);
  bool is_welcome(const VersionedRow& row, std::uint64_t hash);
  // Inserts the row, or replaces an outdated one. False: not needed.
  bool enter(CachedRow& row, std::uint64_t flush_revision);
  bool evict_one();
  void evict_down_to(std::size_t rows_left) {
    while (rows.load(std::memory_order_relaxed) > rows_left && evict_one()) {
    }
  }
};

// Null: no memory.
CachedRow* RowCache::State::pack(const VersionedRow& row, std::uint64_t hash) {
  void* item = memory.allocate(CachedRow::bytes_of(row));
  return item == nullptr ? nullptr : &CachedRow::pack(item, row, hash);
}

bool RowCache::State::is_welcome(const VersionedRow& row, std::uint64_t hash) {
  if (rows_max.load(std::memory_order_relaxed) == 0) return false;
  if (CachedRow::bytes_of(row) > kCachedRowBytesMax) return false;
  Shard& shard = shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  const std::atomic<CachedRow*>* link = shard.locate(row.key, hash);
  return link == nullptr || link->load(std::memory_order_relaxed)->outdated.load();
}

bool RowCache::State::enter(CachedRow& row, std::uint64_t flush_revision) {
  Shard& shard = shard_of(row.hash());
  const std::lock_guard lock(shard.mutex);
  // Under the lock: a flush that begins after this finds the row when it reaches its key.
  if (flush_revision < revision.load() || rows_max.load() == 0) return false;
  std::atomic<CachedRow*>* link = shard.locate(row.key(), row.hash());
  if (link == nullptr) {
    shard.enter(row);
    rows.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  CachedRow& present = *link->load(std::memory_order_relaxed);
  if (!present.outdated.load(std::memory_order_relaxed)) return false;
  shard.replace(*link, present, row);
  drop(present);
  return true;
}

// False: nothing left to evict.
bool RowCache::State::evict_one() {
  for (std::size_t i = 0; i < (kClockRounds + 1) * kShards; ++i) {
    Shard& shard = shards[next_shard.fetch_add(1, std::memory_order_relaxed) % kShards];
    const std::lock_guard lock(shard.mutex);
    CachedRow* row = shard.ring.choose(i >= kClockRounds * kShards);
    if (row == nullptr) continue;
    shard.remove(*shard.locate(row->key(), row->hash()), *row);
    rows.fetch_sub(1, std::memory_order_relaxed);
    evicted.fetch_add(1, std::memory_order_relaxed);
    drop(*row);
    return true;
  }
  return false;
}

RowCache::RowCache(SlabMemory& memory) : state_(std::make_unique<State>(memory)) {}

RowCache::~RowCache() {
  set_rows_max(0);
  for (Shard& shard : state_->shards) delete shard.buckets.load();
}

void RowCache::set_rows_max(std::size_t rows_max) {
  state_->rows_max.store(rows_max);
  if (rows_max > 0) {
    state_->evict_down_to(rows_max);
    return;
  }
  for (Shard& shard : state_->shards) {
    const std::lock_guard lock(shard.mutex);
    while (CachedRow* row = shard.ring.choose(true)) {
      shard.remove(*shard.locate(row->key(), row->hash()), *row);
      state_->rows.fetch_sub(1, std::memory_order_relaxed);
      state_->drop(*row);
    }
  }
}

std::size_t RowCache::rows_max() const {
  return state_->rows_max.load(std::memory_order_relaxed);
}

bool RowCache::find(ByteSpan key, std::uint64_t hash, const ReadSpec& spec, RowBuilder& out,
                    Look look, std::uint64_t flush_revision) const {
  if (rows_max() == 0) return false;
  const std::uint64_t counted = look == Look::kFirst ? 1 : 0;
  Stripe& stripe = state_->stripes[this_stripe()];
  const Buckets* buckets = state_->shard_of(hash).buckets.load(std::memory_order_acquire);
  CachedRow* row = nullptr;
  if (buckets != nullptr) row = buckets->at(hash).load(std::memory_order_acquire);
  while (row != nullptr && !is_row_of(*row, key, hash)) {
    row = row->next.load(std::memory_order_acquire);
  }
  if (row == nullptr || row->revision() > static_cast<std::uint32_t>(flush_revision)) {
    stripe.misses.fetch_add(counted, std::memory_order_relaxed);
    return false;
  }
  if (row->outdated.load(std::memory_order_acquire)) {
    stripe.outdated.fetch_add(counted, std::memory_order_relaxed);
    return false;
  }
  if (!row->used.load(std::memory_order_relaxed)) row->used.store(true, std::memory_order_relaxed);
  stripe.hits.fetch_add(counted, std::memory_order_relaxed);
  row->read(spec, out);
  return true;
}

void RowCache::prefetch(std::uint64_t hash) const {
  const Buckets* buckets = state_->shard_of(hash).buckets.load(std::memory_order_acquire);
  if (buckets != nullptr) __builtin_prefetch(&buckets->at(hash));
}

void RowCache::insert(const VersionedRow& row, std::uint64_t hash, std::uint64_t flush_revision) {
  if (!state_->is_welcome(row, hash)) return;
  const std::size_t limit = rows_max();
  state_->evict_down_to(limit > 0 ? limit - 1 : 0);
  CachedRow* cached = state_->pack(row, hash);
  if (cached == nullptr) return;
  cached->set_revision(flush_revision);
  if (!state_->enter(*cached, flush_revision)) {
    state_->memory.free(cached, cached->bytes());  // Never published.
    return;
  }
  state_->inserts.fetch_add(1, std::memory_order_relaxed);
}

void RowCache::keep_hunk(ByteSpan key, std::uint64_t hash, ByteSpan reference,
                         std::string_view bytes) {
  if (rows_max() == 0 || bytes.size() > kCachedRowBytesMax) return;
  Shard& shard = state_->shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  std::atomic<CachedRow*>* link = shard.locate(key, hash);
  if (link == nullptr) return;
  CachedRow& present = *link->load(std::memory_order_relaxed);
  if (present.outdated.load(std::memory_order_relaxed)) return;

  RowBuilder row;
  present.read({.timestamp = kMaxTimestamp, .all_versions = true}, row);
  row.key = key;
  bool changed = false;
  for (VersionedValue& value : row.values) {
    if (!value.hunk || !equal(as_bytes(value.value.text()), reference)) continue;
    value.value = value.value.type() == ValueType::kAny ? Value::any(bytes) : Value(bytes);
    value.hunk = false;
    changed = true;
  }
  if (!changed || CachedRow::bytes_of(row.row()) > kCachedRowBytesMax) return;
  CachedRow* whole = state_->pack(row.row(), hash);
  if (whole == nullptr) return;
  whole->set_revision(present.revision());
  whole->used.store(present.used.load(std::memory_order_relaxed), std::memory_order_relaxed);
  shard.replace(*link, present, *whole);
  state_->drop(present);
}

void RowCache::begin_flush(std::uint64_t new_revision) {
  state_->revision.store(new_revision);
}

void RowCache::update(const VersionedRow& row, std::uint64_t hash) {
  if (rows_max() == 0) return;
  Shard& shard = state_->shard_of(hash);
  const std::lock_guard lock(shard.mutex);
  std::atomic<CachedRow*>* link = shard.locate(row.key, hash);
  if (link == nullptr) return;
  CachedRow& present = *link->load(std::memory_order_relaxed);
  if (present.outdated.load(std::memory_order_relaxed)) return;

  RowBuilder older;
  present.read({.timestamp = kMaxTimestamp, .all_versions = true}, older);
  const VersionedRow both[] = {row, older.row()};
  RowBuilder merged;
  merge_rows(both, merged);
  if (merged.write_timestamps.size() > kCachedVersionsMax ||
      CachedRow::bytes_of(merged.row()) > kCachedRowBytesMax) {
    shard.remove(*link, present);
    state_->rows.fetch_sub(1, std::memory_order_relaxed);
    state_->evicted.fetch_add(1, std::memory_order_relaxed);
    state_->drop(present);
    return;
  }
  CachedRow* updated = state_->pack(merged.row(), hash);
  if (updated == nullptr) {
    present.outdated.store(true, std::memory_order_release);
    return;
  }
  updated->set_revision(present.revision());
  updated->used.store(present.used.load(std::memory_order_relaxed), std::memory_order_relaxed);
  shard.replace(*link, present, *updated);
  state_->drop(present);
}

RowCache::Statistics RowCache::statistics() const {
  Statistics statistics;
  for (const Stripe& stripe : state_->stripes) {
    statistics.hits += stripe.hits.load(std::memory_order_relaxed);
    statistics.misses += stripe.misses.load(std::memory_order_relaxed);
    statistics.outdated += stripe.outdated.load(std::memory_order_relaxed);
  }
  statistics.inserts = state_->inserts.load(std::memory_order_relaxed);
  statistics.evicted = state_->evicted.load(std::memory_order_relaxed);
  statistics.rows = state_->rows.load(std::memory_order_relaxed);
  return statistics;
}

}  // namespace moraine::table
