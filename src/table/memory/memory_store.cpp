#include "table/memory/memory_store.h"

#define XXH_INLINE_ALL
#include <absl/container/flat_hash_map.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "table/memory/hash_index.h"
#include "table/memory/mark_rules.h"
#include "table/memory/memory_row.h"
#include "table/memory/ordered_index.h"

namespace moraine::table {

std::uint64_t key_hash(ByteSpan key) {
  return XXH3_64bits(key.data(), key.size());
}

std::uint64_t key_hash(ByteSpan key, std::uint64_t seed) {
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

struct MemoryStore::State {
  std::shared_ptr<const TableSchema> schema;  // May be null.
  Arena rows;
  Arena nodes;
  HashIndex by_hash;
  OrderedIndex by_key{nodes};
  // Marks of rows that have more than one; used by the writer only.
  absl::flat_hash_map<const Row*, std::vector<PreparedMark>> marks;
  std::uint64_t largest_row_bytes = 0;

  std::atomic<std::size_t> bytes{0};
  std::atomic<std::size_t> row_count{0};
  std::atomic<Timestamp> min_timestamp{0};
  std::atomic<Timestamp> max_timestamp{0};

  void count_bytes() {
    bytes.store(rows.used() + nodes.used() + by_hash.bytes(), std::memory_order_relaxed);
  }
  void count_timestamp(Timestamp timestamp) {
    const Timestamp least = min_timestamp.load(std::memory_order_relaxed);
    if (least == 0 || timestamp < least) {
      min_timestamp.store(timestamp, std::memory_order_relaxed);
    }
    if (timestamp > max_timestamp.load(std::memory_order_relaxed)) {
      max_timestamp.store(timestamp, std::memory_order_relaxed);
    }
  }
};

namespace {

PreparedMark joined(const std::vector<PreparedMark>& marks) {
  PreparedMark all = marks.front();
  for (const PreparedMark& mark : marks) {
    all.since = std::min(all.since, mark.since);
    all.two_phase = all.two_phase || mark.two_phase;
  }
  return all;
}

}  // namespace

class MemoryStore::Cursor : public RowCursor {
 public:
  Cursor(OrderedIndex::Position position, std::string to, ReadSpec spec)
      : position_(position), to_(std::move(to)), spec_(spec) {}

  Step next() override {
    for (; position_.row() != nullptr; position_.next()) {
      const Row& row = *position_.row();
      if (!to_.empty() && compare_keys(row.key(), as_bytes(to_)) >= 0) return Step::kEnd;
      out_.clear();
      prepared_ = concerns(row.mark(), spec_.timestamp);  // Read before the versions.
      if (!row.read(spec_, out_) && !prepared_) continue;
      out_.key = row.key();
      row_ = out_.row();
      read_ = &row;
      position_.next();
      if (position_.row() != nullptr) position_.row()->prefetch_newest();
      return Step::kRow;
    }
    return Step::kEnd;
  }
  const VersionedRow& row() const override { return row_; }
  bool prepared() const override { return prepared_; }
  void unfold() override {
    ReadSpec spec = spec_;
    spec.may_fold = false;
    out_.clear();
    read_->read(spec, out_);
    out_.key = read_->key();
    row_ = out_.row();
  }
  Task<Result<void>> load() override { co_return Result<void>(); }

 private:
  OrderedIndex::Position position_;
  const Row* read_ = nullptr;
  const std::string to_;
  const ReadSpec spec_;
  RowBuilder out_;
  VersionedRow row_;
  bool prepared_ = false;
};

MemoryStore::MemoryStore(std::shared_ptr<const TableSchema> schema)
    : state_(std::make_unique<State>()) {
  state_->schema = std::move(schema);
  state_->count_bytes();
}
MemoryStore::~MemoryStore() = default;

MemoryStore::Row& MemoryStore::touch(ByteSpan key, std::uint64_t hash) {
  if (Row* row = state_->by_hash.find(key, hash)) return *row;
  Row& row = Row::make(state_->rows, key, hash);
  state_->by_key.insert(row);
  state_->by_hash.insert(row);
  state_->row_count.store(rows() + 1, std::memory_order_relaxed);
  state_->count_bytes();
  return row;
}

void MemoryStore::add(Row& row, Timestamp timestamp, ChangeKind kind, ByteSpan image) {
  if (kind == ChangeKind::kLock) return;
  if (!row.add_version(state_->rows, state_->schema.get(), timestamp, kind, image)) return;
  state_->largest_row_bytes =
      std::max<std::uint64_t>(state_->largest_row_bytes, row.version_bytes());
  state_->count_timestamp(timestamp);
  state_->count_bytes();
}

void MemoryStore::prepare(Row& row, PreparedMark mark) {
  INVARIANT(mark.since != 0, "a mark needs the start timestamp of its transaction");
  const PreparedMark present = row.mark();
  if (present.since == 0) {
    row.set_mark(mark);
    return;
  }
  auto [at, is_second] = state_->marks.try_emplace(&row);
  if (is_second) at->second.push_back(present);
  at->second.push_back(mark);
  row.set_mark(joined(at->second));
}

void MemoryStore::resolve(Row& row, PreparedMark mark) {
  const auto at = state_->marks.find(&row);
  if (at == state_->marks.end()) {
    INVARIANT(row.mark().since == mark.since, "row is marked since {}, not {}", row.mark().since,
              mark.since);
    row.set_mark({});
    return;
  }
  std::vector<PreparedMark>& marks = at->second;
  const auto resolved = std::ranges::find_if(marks, [&](const PreparedMark& other) {
    return other.since == mark.since && other.two_phase == mark.two_phase;
  });
  INVARIANT(resolved != marks.end(), "row has no mark since {}", mark.since);
  marks.erase(resolved);
  row.set_mark(joined(marks));
  if (marks.size() == 1) state_->marks.erase(at);
}

const MemoryStore::Row* MemoryStore::find(ByteSpan key, std::uint64_t hash) const {
  return state_->by_hash.find(key, hash);
}

void MemoryStore::prefetch(std::uint64_t hash) const {
  state_->by_hash.prefetch(hash);
}

PreparedMark MemoryStore::prepared(const Row& row) {
  return row.mark();
}

bool MemoryStore::read(const Row& row, const ReadSpec& spec, RowBuilder& out) {
  return row.read(spec, out);
}

std::unique_ptr<RowCursor> MemoryStore::scan(const KeyBounds& bounds, ReadSpec spec) const {
  return std::make_unique<Cursor>(state_->by_key.lower_bound(as_bytes(bounds.from)), bounds.to,
                                  spec);
}

std::uint64_t MemoryStore::version_bytes(const Row& row) {
  return row.version_bytes();
}
std::uint64_t MemoryStore::largest_row_bytes() const {
  return state_->largest_row_bytes;
}

std::size_t MemoryStore::bytes() const {
  return state_->bytes.load(std::memory_order_relaxed);
}
std::size_t MemoryStore::rows() const {
  return state_->row_count.load(std::memory_order_relaxed);
}
Timestamp MemoryStore::min_timestamp() const {
  return state_->min_timestamp.load(std::memory_order_relaxed);
}
Timestamp MemoryStore::max_timestamp() const {
  return state_->max_timestamp.load(std::memory_order_relaxed);
}

}  // namespace moraine::table
