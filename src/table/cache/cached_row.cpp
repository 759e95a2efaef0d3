#include "table/cache/cached_row.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "table/model/value_word.h"

namespace moraine::table {

struct CachedRow::PackedValue {
  std::uint64_t word = 0;  // The bits of a number, or the text's offset from the row's start.
  Timestamp timestamp = 0;
  std::uint32_t text_bytes = 0;
  ColumnIndex column = 0;
  ValueType type = ValueType::kNull;
  bool aggregate : 1 = false;
  bool hunk : 1 = false;
};

namespace {

// `start`: where the row begins.
Value value_of(ValueType type, std::uint64_t word, const char* start, std::size_t text_bytes) {
  switch (type) {
    case ValueType::kNull: break;
    case ValueType::kInt64: return Value(static_cast<std::int64_t>(word));
    case ValueType::kUint64: return Value(word);
    case ValueType::kDouble: return Value(std::bit_cast<double>(word));
    case ValueType::kBoolean: return Value(word != 0);
    case ValueType::kString: return Value(std::string_view(start + word, text_bytes));
    case ValueType::kAny: return Value::any({start + word, text_bytes});
  }
  return {};
}

// The newest timestamp that is not above `timestamp`; 0: none.
Timestamp newest_at(const Timestamp* timestamps, std::uint32_t count, Timestamp timestamp) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (timestamps[i] <= timestamp) return timestamps[i];
  }
  return 0;
}

}  // namespace

std::size_t CachedRow::bytes_of(const VersionedRow& row) {
  std::size_t bytes =
      sizeof(CachedRow) + row.key.size() +
      (row.write_timestamps.size() + row.delete_timestamps.size()) * sizeof(Timestamp) +
      row.values.size() * sizeof(PackedValue);
  for (const VersionedValue& value : row.values) {
    if (value.value.has_text()) bytes += value.value.text().size();
  }
  return bytes;
}

CachedRow& CachedRow::pack(void* memory, const VersionedRow& row, std::uint64_t hash) {
  auto& cached = *new (memory) CachedRow;
  cached.hash_ = hash;
  cached.key_bytes_ = static_cast<std::uint32_t>(row.key.size());
  cached.write_count_ = static_cast<std::uint32_t>(row.write_timestamps.size());
  cached.delete_count_ = static_cast<std::uint32_t>(row.delete_timestamps.size());
  cached.value_count_ = static_cast<std::uint32_t>(row.values.size());

  auto* timestamps = reinterpret_cast<Timestamp*>(&cached + 1);
  timestamps = std::ranges::copy(row.write_timestamps, timestamps).out;
  timestamps = std::ranges::copy(row.delete_timestamps, timestamps).out;
  auto* values = reinterpret_cast<PackedValue*>(timestamps);
  auto* rest = reinterpret_cast<std::byte*>(values + row.values.size());
  rest = std::ranges::copy(row.key, rest).out;
  for (const VersionedValue& value : row.values) {
    auto& packed = *new (values++) PackedValue;
    packed.word = word_of(value.value);
    packed.timestamp = value.timestamp;
    packed.column = value.column;
    packed.type = value.value.type();
    packed.aggregate = value.aggregate;
    packed.hunk = value.hunk;
    if (!value.value.has_text()) continue;
    const ByteSpan text = as_bytes(value.value.text());
    packed.word = static_cast<std::uint64_t>(rest - static_cast<std::byte*>(memory));
    packed.text_bytes = static_cast<std::uint32_t>(text.size());
    rest = std::ranges::copy(text, rest).out;
  }
  cached.bytes_ = static_cast<std::uint32_t>(rest - static_cast<std::byte*>(memory));
  return cached;
}

const CachedRow::PackedValue* CachedRow::values() const {
  return reinterpret_cast<const PackedValue*>(deletes() + delete_count_);
}

ByteSpan CachedRow::key() const {
  return {reinterpret_cast<const std::byte*>(values() + value_count_), key_bytes_};
}

VersionedValue CachedRow::unpack(const PackedValue& packed) const {
  VersionedValue value;
  value.value =
      value_of(packed.type, packed.word, reinterpret_cast<const char*>(this), packed.text_bytes);
  value.timestamp = packed.timestamp;
  value.column = packed.column;
  value.aggregate = packed.aggregate;
  value.hunk = packed.hunk;
  return value;
}

void CachedRow::read(const ReadSpec& spec, RowBuilder& out) const {
  if (spec.all_versions) {
    read_all(spec, out);
    return;
  }
  const Timestamp write = newest_at(writes(), write_count_, spec.timestamp);
  const Timestamp deletion = newest_at(deletes(), delete_count_, spec.timestamp);
  if (write == 0 && deletion == 0) return;
  out.key = key();
  if (deletion != 0) out.delete_timestamps.push_back(deletion);
  if (write <= deletion) return;
  out.write_timestamps.push_back(write);
  int closed = -1;  // The column whose full value was already added.
  const PackedValue* const end = values() + value_count_;
  for (const PackedValue* packed = values(); packed != end; ++packed) {
    if (packed->timestamp > spec.timestamp || packed->timestamp <= deletion) continue;
    if (packed->column == closed) continue;
    if (spec.columns != nullptr && !spec.columns->has(packed->column)) continue;
    out.values.push_back(unpack(*packed));
    if (!packed->aggregate) closed = packed->column;
  }
}

void CachedRow::read_all(const ReadSpec& spec, RowBuilder& out) const {
  out.key = key();
  for (std::uint32_t i = 0; i < write_count_; ++i) {
    if (writes()[i] <= spec.timestamp) out.write_timestamps.push_back(writes()[i]);
  }
  for (std::uint32_t i = 0; i < delete_count_; ++i) {
    if (deletes()[i] <= spec.timestamp) out.delete_timestamps.push_back(deletes()[i]);
  }
  const PackedValue* const end = values() + value_count_;
  for (const PackedValue* packed = values(); packed != end; ++packed) {
    if (packed->timestamp > spec.timestamp) continue;
    if (spec.columns != nullptr && !spec.columns->has(packed->column)) continue;
    out.values.push_back(unpack(*packed));
  }
}

}  // namespace moraine::table
