// HunkPlaces: how hunk references lie in blocks, whose blobs have no ids yet when blocks are made.
//
// Promise    encode_stored_hunk() writes a reference with a place instead of the blob's id;
//            HunkPlaces puts the id there once the chunk's record knows it.
// Threading  Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "table/chunk/chunk.h"
#include "table/chunk/hunk.h"

namespace moraine::table {

// A blob of hunks: one that is made with the chunk, or one that another chunk made.
struct HunkPlace {
  bool fresh = false;
  std::uint32_t ordinal = 0;
};
// `ref.blob` is left out.
void encode_stored_hunk(const HunkRef& ref, HunkPlace place, std::byte* to);

class HunkPlaces {
 public:
  HunkPlaces() = default;
  // The record's hunks, of which the first `fresh` were made with the chunk.
  // Requires: fresh <= hunks.size().
  HunkPlaces(const std::vector<HunkUse>& hunks, std::size_t fresh);

  // Makes the stored reference at `at` a whole one.
  Result<void> complete(std::byte* at) const;

 private:
  std::vector<blob::BlobId> blobs_;
  std::size_t fresh_ = 0;
};

}  // namespace moraine::table
