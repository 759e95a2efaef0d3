// Where new bytes go: to which level of the head, or into the body. Pure.
//
// Promise    At any time the head has at most kHeadBlobsMax blobs and fewer bytes than the low
//            watermark; a blob is rewritten at most once for each level, and never again once it
//            has kKeptBytes: from then on it is moved by reference.
//
// The head is a list of blobs, older ones first, each at a level; levels get finer towards the end.
// New bytes are added at the finest level. When a level would reach its border, all of its blobs
// and the new bytes become one blob that is added to the next coarser level, and so on. When the
// head would reach the low watermark, the whole head becomes a body blob.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace moraine::queue {

inline constexpr std::size_t kHeadLevels = 4;
// By level, coarsest first. The border of level 0 is the low watermark.
inline constexpr std::uint64_t kKeptBytes = 64u << 10;
inline constexpr std::array<std::uint64_t, kHeadLevels> kLevelBorders = {8u << 20, kKeptBytes,
                                                                         2u << 10, 32};
inline constexpr std::size_t kHeadBlobsMax = 256;

struct HeadBlob {
  std::uint64_t bytes = 0;
  std::uint8_t level = 0;
};

struct HeadPlan {
  bool to_body = false;
  std::uint8_t level = 0;          // Of the new blob, when it stays in the head.
  std::size_t rewritten_from = 0;  // Head blobs from here on become part of the new blob.
  // With to_body, the blobs before it become part of the body without being rewritten.
};

// Requires: `head` is a result of earlier plans.
HeadPlan plan_head(const std::vector<HeadBlob>& head, std::uint64_t new_bytes,
                   std::uint64_t low_watermark);

// The plan that moves the whole head to the body, whatever its size.
HeadPlan plan_whole_head(const std::vector<HeadBlob>& head);

// The levels of a head whose blob sizes are known.
std::vector<HeadBlob> levels_of(const std::vector<std::uint64_t>& sizes);

}  // namespace moraine::queue
