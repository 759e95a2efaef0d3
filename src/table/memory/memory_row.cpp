#include "table/memory/memory_row.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "table/model/fold_row.h"

namespace moraine::table {
namespace {

using Values = std::vector<VersionedValue>;

MemoryVersion& make_version(Arena& arena, Timestamp timestamp, ChangeKind kind, ByteSpan image) {
  void* memory = arena.allocate(sizeof(MemoryVersion) + image.size());
  auto& version = *new (memory) MemoryVersion;
  version.timestamp = timestamp;
  version.kind = kind;
  version.image_bytes = static_cast<std::uint32_t>(image.size());
  if (!image.empty()) std::memcpy(&version + 1, image.data(), image.size());
  return version;
}

// A cell of few bytes is counted with the size that it has when its row is merged and written.
std::uint64_t weight(ByteSpan image) {
  constexpr std::uint64_t kOfVersion = 16;
  constexpr std::uint64_t kOfCell = 12;
  const std::uint64_t cells =
      image.size() < sizeof(std::uint16_t) ? 0 : load<std::uint16_t>(image.data());
  return kOfVersion + image.size() + kOfCell * cells;
}

std::uint32_t add_bounded(std::uint32_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(kMost, a + b));
}

// Is every cell of `older` hidden by a full one of `newer`? Both by ascending column.
bool covers(const Values& newer, const Values& older) {
  auto at = newer.begin();
  for (const VersionedValue& cell : older) {
    while (at != newer.end() && at->column < cell.column) ++at;
    if (at == newer.end() || at->column != cell.column || at->aggregate) return false;
  }
  return true;
}

bool decides_alone(const MemoryVersion& version, const MemoryVersion* older) {
  if (older == nullptr) return true;
  if (older->kind == ChangeKind::kDelete || version.kind == ChangeKind::kDelete) return false;
  if (!older->decides.load(std::memory_order_relaxed)) return false;
  thread_local Values newer_cells;
  thread_local Values older_cells;
  newer_cells.clear();
  older_cells.clear();
  read_image(version.image(), version.timestamp, nullptr, newer_cells);
  read_image(older->image(), older->timestamp, nullptr, older_cells);
  return covers(newer_cells, older_cells);
}

// Columns that already have a full value; their older cells do not matter.
class ClosedColumns {
 public:
  bool has(ColumnIndex column) const {
    if (column < kNear) return (near_[column / 64] >> (column % 64) & 1) != 0;
    return std::ranges::find(far_, column) != far_.end();
  }
  void add(ColumnIndex column) {
    if (column < kNear) {
      near_[column / 64] |= std::uint64_t{1} << (column % 64);
    } else {
      far_.push_back(column);
    }
  }

 private:
  static constexpr ColumnIndex kNear = 512;
  std::uint64_t near_[kNear / 64] = {};
  std::vector<ColumnIndex> far_;
};

void sort_values(Values& values, std::size_t from) {
  std::sort(values.begin() + static_cast<std::ptrdiff_t>(from), values.end(),
            [](const VersionedValue& a, const VersionedValue& b) {
              return a.column != b.column ? a.column < b.column : a.timestamp > b.timestamp;
            });
}

void read_all(const MemoryVersion* version, const ReadSpec& spec, RowBuilder& out) {
  const std::size_t from = out.values.size();
  std::size_t images = 0;
  for (; version != nullptr; version = version->older.load(std::memory_order_acquire)) {
    if (version->kind == ChangeKind::kDelete) {
      out.delete_timestamps.push_back(version->timestamp);
      continue;
    }
    out.write_timestamps.push_back(version->timestamp);
    read_image(version->image(), version->timestamp, spec.columns, out.values);
    ++images;
  }
  if (images > 1) sort_values(out.values, from);
}

// Collects, newest first, what determines the values.
class DecidingRead {
 public:
  DecidingRead(const ColumnSet* columns, bool may_fold, RowBuilder& out)
      : columns_(columns), may_fold_(may_fold), out_(out), from_(out.values.size()) {}

  // Reads down to the newest delete, or to a version below which nothing matters. False: more than
  // `values_max` values.
  bool read(const MemoryVersion* version, std::size_t values_max) {
    out_.write_timestamps.push_back(version->timestamp);
    for (; version != nullptr; version = version->older.load(std::memory_order_acquire)) {
      if (version->kind == ChangeKind::kDelete) {
        out_.delete_timestamps.push_back(version->timestamp);
        break;
      }
      const auto* digest = version->digest.load(std::memory_order_acquire);
      if (digest != nullptr && (may_fold_ || digest->folded_count == 0)) {
        add(*digest);
        break;
      }
      add(*version);
      if (out_.values.size() - from_ > values_max) return false;
      if (version->decides.load(std::memory_order_relaxed)) break;
    }
    sort_values(out_.values, from_);
    return true;
  }

 private:
  // Keeps those values from `begin` on whose column is open.
  void close(std::size_t begin) {
    std::size_t kept = begin;
    for (std::size_t i = begin; i < out_.values.size(); ++i) {
      const VersionedValue value = out_.values[i];
      if (closed_.has(value.column)) continue;
      if (!value.aggregate) closed_.add(value.column);
      out_.values[kept++] = value;
    }
    out_.values.resize(kept);
  }
  void add(const MemoryVersion& version) {
    const std::size_t begin = out_.values.size();
    read_image(version.image(), version.timestamp, columns_, out_.values);
    close(begin);
  }
  void add(const MemoryDigest& digest) {
    const std::size_t begin = out_.values.size();
    for (const VersionedValue& value : digest.values()) {
      if (columns_ == nullptr || columns_->has(value.column)) out_.values.push_back(value);
    }
    for (const FoldedRange& range : digest.folded()) {
      const bool wanted = columns_ == nullptr || columns_->has(range.column);
      if (wanted && !closed_.has(range.column)) out_.folded.push_back(range);
    }
    close(begin);
    if (digest.delete_timestamp != 0) out_.delete_timestamps.push_back(digest.delete_timestamp);
  }

  const ColumnSet* const columns_;
  const bool may_fold_;
  RowBuilder& out_;
  const std::size_t from_;
  ClosedColumns closed_;
};

void read_deciding(const MemoryVersion* version, const ReadSpec& spec, RowBuilder& out) {
  if (version->kind == ChangeKind::kDelete) {
    out.delete_timestamps.push_back(version->timestamp);
    return;
  }
  DecidingRead(spec.columns, spec.may_fold, out)
      .read(version, std::numeric_limits<std::size_t>::max());
}

// Folds deltas into one value per column; the resulting texts move to the arena.
void fold_gathered(Arena& arena, const TableSchema& schema, RowBuilder& row) {
  constexpr std::size_t kFoldedTextMax = 4'096;
  thread_local TextMemory texts;
  texts.clear();
  fold_deltas(schema, kFoldedTextMax, texts, row);
  for (const FoldedRange& range : row.folded) {
    const auto is_folded = [&](const VersionedValue& value) {
      return value.column == range.column && value.timestamp == range.newest;
    };
    const auto found = std::ranges::find_if(row.values, is_folded);
    if (found == row.values.end() || !found->value.has_text()) continue;
    const std::string_view text = found->value.text();
    auto* const copy = static_cast<char*>(arena.allocate(text.size()));
    std::ranges::copy(text, copy);
    const std::string_view kept(copy, text.size());
    found->value = found->value.type() == ValueType::kAny ? Value::any(kept) : Value(kept);
  }
}

// At most every kDigestSteps versions. A row of many deltas that cannot be folded has none.
void make_digest(Arena& arena, const TableSchema* schema, MemoryVersion& version,
                 const MemoryVersion* older) {
  constexpr std::uint16_t kDigestSteps = 16;
  constexpr std::size_t kDigestValuesMax = 1'024;
  if (older == nullptr || version.kind == ChangeKind::kDelete) return;
  if (version.decides.load(std::memory_order_relaxed)) return;
  version.steps = older->steps + 1;
  if (version.steps < kDigestSteps) return;
  version.steps = 0;
  thread_local RowBuilder gathered;
  gathered.clear();
  if (!DecidingRead(nullptr, true, gathered).read(&version, kDigestValuesMax)) return;
  if (schema != nullptr) fold_gathered(arena, *schema, gathered);
  const Values& values = gathered.values;
  const std::size_t value_bytes = values.size() * sizeof(VersionedValue);
  const std::size_t folded_bytes = gathered.folded.size() * sizeof(FoldedRange);
  void* memory = arena.allocate(sizeof(MemoryDigest) + value_bytes + folded_bytes);
  auto& digest = *new (memory) MemoryDigest;
  if (!gathered.delete_timestamps.empty()) {
    digest.delete_timestamp = gathered.delete_timestamps.front();
  }
  digest.value_count = values.size();
  digest.folded_count = gathered.folded.size();
  auto* const first = reinterpret_cast<VersionedValue*>(&digest + 1);
  std::uninitialized_copy(values.begin(), values.end(), first);
  std::uninitialized_copy(gathered.folded.begin(), gathered.folded.end(),
                          reinterpret_cast<FoldedRange*>(first + values.size()));
  version.digest.store(&digest, std::memory_order_relaxed);
}

}  // namespace

MemoryStore::Row& MemoryStore::Row::make(Arena& arena, ByteSpan key, std::uint64_t hash) {
  void* memory = arena.allocate(sizeof(Row) + key.size());
  auto& row = *new (memory) Row(hash, static_cast<std::uint32_t>(key.size()));
  if (!key.empty()) std::memcpy(&row + 1, key.data(), key.size());
  return row;
}

bool MemoryStore::Row::add_version(Arena& arena, const TableSchema* schema, Timestamp timestamp,
                                   ChangeKind kind, ByteSpan image) {
  MemoryVersion* newer = nullptr;
  MemoryVersion* older = newest_.load(std::memory_order_relaxed);
  while (older != nullptr && older->timestamp > timestamp) {
    newer = std::exchange(older, older->older.load(std::memory_order_relaxed));
  }
  if (older != nullptr && older->timestamp == timestamp) return false;
  MemoryVersion& version = make_version(arena, timestamp, kind, image);
  version.older.store(older, std::memory_order_relaxed);
  version.decides.store(decides_alone(version, older), std::memory_order_relaxed);
  make_digest(arena, schema, version, older);
  version_bytes_ = add_bounded(version_bytes_, weight(image));
  if (newer == nullptr) {
    newest_.store(&version, std::memory_order_release);
    return true;
  }
  // Versions above were made without the new one; reset before it is linked.
  MemoryVersion* above = newest_.load(std::memory_order_relaxed);
  for (; above != older; above = above->older.load(std::memory_order_relaxed)) {
    above->decides.store(false, std::memory_order_relaxed);
    above->digest.store(nullptr, std::memory_order_relaxed);
  }
  newer->older.store(&version, std::memory_order_release);
  return true;
}

bool MemoryStore::Row::read(const ReadSpec& spec, RowBuilder& out) const {
  const MemoryVersion* version = newest_.load(std::memory_order_acquire);
  while (version != nullptr && version->timestamp > spec.timestamp) {
    version = version->older.load(std::memory_order_acquire);
  }
  if (version == nullptr) return false;
  out.key = key();
  if (version->kind == ChangeKind::kWrite && version->decides.load(std::memory_order_relaxed) &&
      (!spec.all_versions || version->older.load(std::memory_order_acquire) == nullptr)) {
    out.write_timestamps.push_back(version->timestamp);
    read_image(version->image(), version->timestamp, spec.columns, out.values);
  } else if (spec.all_versions) {
    read_all(version, spec, out);
  } else {
    read_deciding(version, spec, out);
  }
  return true;
}

}  // namespace moraine::table
