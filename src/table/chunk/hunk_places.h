// HunkPlaces: how hunk references are stored in blocks, whose blobs have no ids yet when the blocks
// are built.
//
// Promise    encode_stored_hunk() writes a reference with a blob's ordinal instead of its id;
//            HunkPlaces fills in the id once the chunk's record knows it.
// Threading  Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "table/chunk/chunk.h"
#include "table/chunk/hunk.h"

namespace moraine::table {

// A blob of hunks: one written with the chunk, or one that another chunk wrote.
struct HunkPlace {
  bool fresh = false;
  std::uint32_t ordinal = 0;
};
// `ref.blob` is not written.
void encode_stored_hunk(const HunkRef& ref, HunkPlace place, std::byte* to);

class HunkPlaces {
 public:
  HunkPlaces() = default;
  // The record's hunks; the first `fresh` of them were written with the chunk. Requires: fresh <=
  // hunks.size().
  HunkPlaces(const std::vector<HunkUse>& hunks, std::size_t fresh);

  // Completes the stored reference at `at`.
  Result<void> complete(std::byte* at) const;

 private:
  std::vector<blob::BlobId> blobs_;
  std::size_t fresh_ = 0;
};

}  // namespace moraine::table
