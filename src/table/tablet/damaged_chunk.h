// DamagedChunk: a chunk that cannot be opened, and the keys that cannot be read because of it.
//
// Promise    Pure. Reads that touch none of these keys, or only need data older than the chunk, are
//            not affected.
// Tests      damaged_chunk_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/chunk/chunk.h"
#include "table/model/key.h"

namespace moraine::table {

struct DamagedChunk {
  std::uint64_t id = 0;
  std::string from;
  std::string to;  // Not empty: above the last key.
  Timestamp min_timestamp = 0;
  Error error;  // Names the chunk, its meta blob and its keys.
};

// Is the chunk itself damaged, for every reader and at any time?
bool is_damage(const Error& error);
// `key_columns`: of the table, which may have more than when the chunk was written.
DamagedChunk damaged_chunk(const ChunkRecord& record, const Error& error, std::size_t key_columns);
// The damaged chunk of least keys that a read of these keys at the timestamp would touch. Null:
// none.
const DamagedChunk* find_damage(const std::vector<DamagedChunk>& damaged, std::string_view from,
                                std::string_view to, Timestamp timestamp);
// The same for a single key.
const DamagedChunk* find_damage(const std::vector<DamagedChunk>& damaged, std::string_view key,
                                Timestamp timestamp);

}  // namespace moraine::table
