// ChunkMeta: what a reader must know of a chunk before it reads blocks.
//
// A chunk is a sequence of units: blocks of the lookup format, row groups of the scan format. A
// unit has one block, or one for each column and two more (row_group.h). Blocks are stored one
// after another in the data blobs; only one that is larger than a blob spans several.
//
// Promise    decode_meta(encode_meta(x)) is x. Deterministic.
// Errors     kCorrupt; kUnsupported: a later version.
// Limits     kMetaBytesMax.
// Threading  Plain data.
// Tests      chunk_damage_test.cpp, chunk_meta_fuzz.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "table/chunk/chunk.h"
#include "table/chunk/filter.h"
#include "table/chunk/key_index.h"

namespace moraine::table {

inline constexpr std::size_t kMetaBytesMax = std::size_t{10} << 20;
inline constexpr std::size_t kSamplesMax = 256;
// Total of the keys; a single sample may be longer.
inline constexpr std::size_t kSampleBytesMax = std::size_t{2} << 20;

struct BlockInfo {
  std::uint64_t at = 0;  // Offset in the data blobs, as if they were one.
  std::uint32_t size = 0;
  std::uint32_t raw_bytes = 0;  // Equal to `size`: not compressed.
  std::uint32_t rows = 0;
  std::uint32_t checksum = 0;  // Of the stored bytes.
  Timestamp min_timestamp = 0;
  Timestamp max_timestamp = 0;
};

// The range of values of a column in a row group, without its irregular rows.
struct ColumnRange {
  bool values = false;  // Some are not null; then `least` and `greatest` are set.
  bool nulls = false;
  // Numbers as words with the same order (column_words.h); texts by at most kRangeTextBytes of
  // their beginning, where a cut `greatest` covers all texts that begin with it.
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::string least_text;
  std::string greatest_text;
  bool greatest_cut = false;
  bool operator==(const ColumnRange&) const = default;
};
inline constexpr std::size_t kRangeTextBytes = 16;

// A whole key at intervals, at which a chunk can be split.
struct KeySample {
  std::uint32_t unit = 0;
  std::string key;  // The unit's first key.
};

// kColumnMixed: values of type any that are not YSON.
enum ColumnFlags : std::uint8_t { kColumnDeltas = 1, kColumnHunks = 2, kColumnMixed = 4 };

struct ChunkMeta {
  OptimizeFor format = OptimizeFor::kLookup;
  Codec codec;
  TableSchema schema;
  std::uint32_t fresh_hunk_blobs = 0;
  ChunkStatistics statistics;  // Without meta_bytes.
  std::vector<std::uint64_t> blob_ends;
  std::uint32_t blocks_per_unit = 1;
  std::vector<BlockInfo> blocks;
  std::vector<std::string> separators;  // Empty after decoding: they are in `index`.
  std::vector<KeySample> samples;
  // By unit: the hash of the list of its keys. Empty: a chunk of version 1, which has none.
  std::uint64_t key_seed = 0;
  std::vector<std::uint64_t> key_hashes;
  // For the scan format.
  std::vector<std::uint32_t> irregular_rows;  // By unit.
  std::vector<ColumnRange> ranges;            // By unit, then by column of the schema.
  std::vector<std::uint8_t> column_flags;     // By column of the schema.

  std::string filter_bytes;  // For encoding.
  // Set by decoding.
  KeyIndex index;
  KeyFilter filter;

  std::size_t units() const { return blocks.size() / blocks_per_unit; }
};

Slice encode_meta(const ChunkMeta& meta);
Result<ChunkMeta> decode_meta(const Slice& bytes);

}  // namespace moraine::table
