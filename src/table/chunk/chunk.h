// What a chunk is, for code that keeps lists of them: an immutable sorted run of versioned rows in
// data blobs of at most kChunkBlobBytesMax, a meta blob, and hunks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "blob/blob_id.h"
#include "moraine/schema.h"
#include "moraine/table_options.h"
#include "table/chunk/codec.h"
#include "table/model/timestamp.h"

namespace moraine::table {

inline constexpr std::size_t kChunkBlobBytesMax = std::size_t{8} << 20;
// Blobs end at this size unless one block is larger: commits of rows wait for a blob that is being
// written.
inline constexpr std::size_t kChunkBlobBytes = std::size_t{512} << 10;
inline constexpr std::size_t kLookupBlockBytes = std::size_t{8} << 10;  // Uncompressed, about.
inline constexpr std::size_t kScanBlockRows = 4'096;
inline constexpr std::uint64_t kChunkBytesMax = std::uint64_t{128}
                                                << 20;  // Writers end a chunk there.

// Limit for all versions of a row as encoded in a chunk. With its key and a unit's other rows they
// stay within kCodecBytesMax; larger than what a memory store may hold of a row.
inline constexpr std::size_t kEncodedRowBytesMax = std::size_t{960} << 20;

struct ChunkWriteOptions {
  OptimizeFor format = OptimizeFor::kLookup;
  Codec codec{};
  std::size_t block_bytes = kLookupBlockBytes;  // For the lookup format.
  bool key_filter = true;
  std::uint64_t key_seed = 0;  // Seed of the hashes of its units' keys.
  std::size_t row_bytes_max = kEncodedRowBytesMax;
};

// Input of compaction decisions. Stored with the chunk's record in the tablet.
struct ChunkStatistics {
  std::uint64_t rows = 0;
  std::uint64_t values = 0;
  std::uint64_t deletes = 0;     // Tombstones.
  std::uint64_t superseded = 0;  // Versions that are not the newest of their cell.
  std::uint64_t data_bytes = 0;  // Of blobs, compressed.
  std::uint64_t uncompressed_bytes = 0;
  std::uint64_t meta_bytes = 0;
  std::uint64_t hunk_bytes = 0;  // Bytes that its rows refer to.
  Timestamp min_timestamp = 0;
  Timestamp max_timestamp = 0;
  std::string first_key;
  std::string last_key;
};

struct HunkUse {
  blob::BlobId blob;        // Unset (valid() is false) while it is new: an own hunk blob.
  std::uint64_t bytes = 0;  // Bytes that this chunk refers to.
};

// A chunk as its tablet records it.
struct ChunkRecord {
  std::uint64_t id = 0;
  OptimizeFor format = OptimizeFor::kLookup;
  blob::BlobId meta;
  std::vector<blob::BlobId> data;
  std::vector<HunkUse> hunks;
  ChunkStatistics statistics;
  // For a chunk taken over from another tablet: only rows within [from, to) count; empty: no bound.
  std::string from;
  std::string to;
  std::uint64_t created_ms = 0;
};

}  // namespace moraine::table
