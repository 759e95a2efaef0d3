#include "table/chunk/hot_rows.h"

#include <algorithm>

#include "table/model/fold_row.h"
#include "table/model/key.h"

namespace moraine::table {

namespace {

// Counted for the process, since many chunks of many tablets have hot rows.
std::atomic<std::size_t> held_by_process{0};

bool take_bytes(std::size_t bytes) {
  if (held_by_process.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kHotBytesMax)
    return true;
  held_by_process.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace

std::size_t HotRows::bytes_held() {
  return held_by_process.load(std::memory_order_relaxed);
}

HotRows::~HotRows() {
  std::size_t bytes = 0;
  for (const auto& entry : entries_) bytes += entry->bytes;
  held_by_process.fetch_sub(bytes, std::memory_order_relaxed);
  delete table_.load(std::memory_order_acquire);
}

const HotRows::Entry* HotRows::entry(ByteSpan key, std::uint64_t hash) const {
  const Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  // There is always a free slot.
  for (std::size_t at = hash % table->slots.size();; at = (at + 1) % table->slots.size()) {
    const Entry* found = table->slots[at].load(std::memory_order_acquire);
    if (found == nullptr) return nullptr;
    if (found->hash == hash && compare_keys(as_bytes(found->key), key) == 0) return found;
  }
}

bool HotRows::find(ByteSpan key, std::uint64_t hash, const ColumnSet* columns,
                   RowBuilder& out) const {
  const Entry* found = entry(key, hash);
  if (found == nullptr) return false;
  const auto wanted = [columns](ColumnIndex column) {
    return columns == nullptr || columns->has(column);
  };
  for (const VersionedValue& value : found->row.values) {
    if (wanted(value.column)) out.values.push_back(value);
  }
  for (const FoldedRange& range : found->row.folded) {
    if (wanted(range.column)) out.folded.push_back(range);
  }
  out.write_timestamps.insert(out.write_timestamps.end(), found->row.write_timestamps.begin(),
                              found->row.write_timestamps.end());
  out.delete_timestamps.insert(out.delete_timestamps.end(), found->row.delete_timestamps.begin(),
                               found->row.delete_timestamps.end());
  return true;
}

bool HotRows::may_add(std::uint64_t hash) const {
  if (full_.load(std::memory_order_relaxed) || bytes_held() > kHotBytesMax - kHotRowBytesMax) {
    return false;
  }
  return hash == 0 || refused_[hash % kRefusedRows].load(std::memory_order_relaxed) != hash;
}

void HotRows::refuse(std::uint64_t hash) {
  refused_[hash % kRefusedRows].store(hash, std::memory_order_relaxed);
}

void HotRows::add(ByteSpan key, std::uint64_t hash, const TableSchema& schema, RowBuilder row) {
  auto made = std::make_unique<Entry>();
  TextMemory folded;
  fold_deltas(schema, kHotRowBytesMax, folded, row);
  if (row.values.size() > kHotRowValues) return refuse(hash);
  std::size_t bytes = 0;
  for (VersionedValue& value : row.values) {
    if (!value.value.has_text()) continue;
    bytes += value.value.text().size();
    if (bytes > kHotRowBytesMax) return refuse(hash);
    const std::string_view kept = made->texts.keep(std::string(value.value.text()));
    const bool any = value.value.type() == ValueType::kAny;
    value.value = any ? Value::any(kept) : Value(kept);
  }
  made->key = as_text(key);
  made->hash = hash;
  // A copy, since the builder may have had memory for thousands of values.
  made->row = row;
  made->row.key = {};
  const std::lock_guard lock(mutex_);
  if (entries_.size() == kHotRowsMax || has(key, hash)) return;
  made->bytes =
      sizeof(Entry) + made->key.size() + bytes + made->row.values.size() * sizeof(VersionedValue) +
      made->row.folded.size() * sizeof(FoldedRange) +
      (made->row.write_timestamps.size() + made->row.delete_timestamps.size()) * sizeof(Timestamp);
  if (!take_bytes(made->bytes)) return;
  Table* table = table_.load(std::memory_order_relaxed);
  if (table == nullptr) {
    table = new Table;
    table_.store(table, std::memory_order_release);
  }
  std::size_t at = hash % table->slots.size();
  while (table->slots[at].load(std::memory_order_relaxed) != nullptr) {
    at = (at + 1) % table->slots.size();
  }
  table->slots[at].store(made.get(), std::memory_order_release);
  entries_.push_back(std::move(made));
  if (entries_.size() == kHotRowsMax) full_.store(true, std::memory_order_relaxed);
}

}  // namespace moraine::table
