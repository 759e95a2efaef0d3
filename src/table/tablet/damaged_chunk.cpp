#include "table/tablet/damaged_chunk.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::table {
namespace {

constexpr std::size_t kShownTextBytes = 64;

std::string value_for_people(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return "#";
    case ValueType::kInt64: return fmt::format("{}", value.as_int64());
    case ValueType::kUint64: return fmt::format("{}u", value.as_uint64());
    case ValueType::kDouble: return fmt::format("{}", value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
    case ValueType::kString:
    case ValueType::kAny: break;
  }
  const std::string_view text = value.text();
  const bool cut = text.size() > kShownTextBytes;
  return fmt::format("{:?}{}", text.substr(0, kShownTextBytes), cut ? "..." : "");
}

}  // namespace

std::string key_for_people(std::string_view key) {
  std::vector<Value> columns;
  std::string memory;
  if (!decode_key(as_bytes(key), columns, memory)) return "(?)";
  std::string text = "(";
  for (const Value& column : columns) {
    if (text.size() > 1) text += ", ";
    text += value_for_people(column);
  }
  return text + ")";
}

bool is_damage(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound ||
         error.code == Errc::kUnsupported;
}

DamagedChunk damaged_chunk(const ChunkRecord& record, const Error& error, std::size_t key_columns) {
  DamagedChunk damaged;
  damaged.id = record.id;
  damaged.from = std::max(record.statistics.first_key, record.from);
  // Columns that were added to the key since are null in the chunk's rows.
  damaged.to = record.statistics.last_key + std::string(key_columns + 1, '\0');
  if (!record.to.empty() && record.to < damaged.to) damaged.to = record.to;
  damaged.min_timestamp = record.statistics.min_timestamp;
  damaged.error.code = Errc::kCorrupt;
  damaged.error.context = fmt::format(
      "chunk {:x} with keys from {} to {} cannot be read, meta blob {}: {}", record.id,
      key_for_people(record.statistics.first_key), key_for_people(record.statistics.last_key),
      record.meta.to_string(), error.message());
  return damaged;
}

const DamagedChunk* find_damage(const std::vector<DamagedChunk>& damaged, std::string_view from,
                                std::string_view to, Timestamp timestamp) {
  const DamagedChunk* first = nullptr;
  for (const DamagedChunk& chunk : damaged) {
    if (chunk.to <= from || (!to.empty() && chunk.from >= to)) continue;
    if (chunk.min_timestamp > timestamp) continue;
    if (first == nullptr || chunk.from < first->from) first = &chunk;
  }
  return first;
}

const DamagedChunk* find_damage(const std::vector<DamagedChunk>& damaged, std::string_view key,
                                Timestamp timestamp) {
  const auto meets = [&](const DamagedChunk& chunk) {
    return chunk.from <= key && key < chunk.to && chunk.min_timestamp <= timestamp;
  };
  const auto found = std::ranges::find_if(damaged, meets);
  return found == damaged.end() ? nullptr : &*found;
}

}  // namespace moraine::table
