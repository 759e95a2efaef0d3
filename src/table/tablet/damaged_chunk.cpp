#include "table/tablet/damaged_chunk.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/model/static_rows.h"

namespace moraine::table {

bool is_damage(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound ||
         error.code == Errc::kUnsupported;
}

DamagedChunk damaged_chunk(const ChunkRecord& record, const Error& error, std::size_t key_columns) {
  DamagedChunk damaged;
  damaged.id = record.id;
  damaged.from = std::max(record.statistics.first_key, record.from);
  // Columns that were added to the key later are null in the chunk's rows.
  damaged.to = record.statistics.last_key + std::string(key_columns + 1, '\0');
  if (!record.to.empty() && record.to < damaged.to) damaged.to = record.to;
  damaged.min_timestamp = record.statistics.min_timestamp;
  damaged.error.code = Errc::kCorrupt;
  damaged.error.context = fmt::format(
      "chunk {:x} with keys from {} to {} cannot be read, meta blob {}: {}", record.id,
      printable_key(record.statistics.first_key), printable_key(record.statistics.last_key),
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
