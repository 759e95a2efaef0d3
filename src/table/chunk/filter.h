// KeyFilter: which keys are not in a chunk, in about nine bits a key (a binary fuse filter of 8-bit
// fingerprints over key hashes).
//
// clang-format off
//   filter = version u8 = 1  seed u64  segment bits u8  segments u32
//            fingerprint u8 * ((segments + 2) << segment bits)
// clang-format on
//
// Promise    A hash that the filter was built from always matches; any other hash with a
//            probability of 1/256. Equal hashes give an equal filter.
// Errors     open: kCorrupt.
// Threading  Immutable.
// Tests      filter_test.cpp, chunk_meta_fuzz.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine::table {

inline constexpr unsigned kFilterSegmentBitsMax = 18;
inline constexpr std::size_t kFilterSegmentsMax = 1u << 16;

// Empty when none can be built, which does not happen in practice.
std::string build_filter(std::vector<std::uint64_t> hashes);

class KeyFilter {
 public:
  KeyFilter() = default;
  // Borrows memory that `bytes` keeps alive. Empty bytes: every hash matches.
  static Result<KeyFilter> open(Slice bytes);

  bool empty() const { return cells_ == nullptr; }
  bool may_have(std::uint64_t hash) const {
    if (cells_ == nullptr) return true;
    const Places at = places(hash);
    return (cells_[at.first] ^ cells_[at.second] ^ cells_[at.third]) == at.fingerprint;
  }
  void prefetch(std::uint64_t hash) const {
    if (cells_ == nullptr) return;
    const Places at = places(hash);
    __builtin_prefetch(cells_ + at.first);
    __builtin_prefetch(cells_ + at.second);
    __builtin_prefetch(cells_ + at.third);
  }
  std::size_t bytes() const { return memory_.size(); }

  struct Places {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint32_t third = 0;
    std::uint8_t fingerprint = 0;
  };
  struct Shape {
    std::uint64_t seed = 0;
    unsigned segment_bits = 0;
    std::uint32_t segments = 0;  // Segments for the first position; two more follow.

    std::size_t cells() const { return (std::size_t{segments} + 2) << segment_bits; }
    Places places(std::uint64_t hash) const;
  };

 private:
  Places places(std::uint64_t hash) const { return shape_.places(hash); }

  Slice memory_;
  const std::uint8_t* cells_ = nullptr;
  Shape shape_;
};

inline KeyFilter::Places KeyFilter::Shape::places(std::uint64_t hash) const {
  std::uint64_t mixed = hash + seed;
  mixed = (mixed ^ mixed >> 33) * 0xff51afd7ed558ccd;
  mixed = (mixed ^ mixed >> 33) * 0xc4ceb9fe1a85ec53;
  mixed ^= mixed >> 33;
  const std::uint64_t range = std::uint64_t{segments} << segment_bits;
  const auto high = static_cast<std::uint64_t>(static_cast<unsigned __int128>(mixed) * range >> 64);
  const auto first = static_cast<std::uint32_t>(high);
  const std::uint32_t length = 1u << segment_bits;
  const std::uint32_t mask = length - 1;
  return {.first = first,
          .second = (first + length) ^ (static_cast<std::uint32_t>(mixed >> 18) & mask),
          .third = (first + 2 * length) ^ (static_cast<std::uint32_t>(mixed) & mask),
          .fingerprint = static_cast<std::uint8_t>(mixed ^ mixed >> 32)};
}

}  // namespace moraine::table
