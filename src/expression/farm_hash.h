// farm_hash of YTsaurus: the hash of computed key columns.
//
// Promise    Pure; equal to YTsaurus' hash, so the numbers may be stored in keys.
// Tests      farm_hash_test.cpp, with published vectors.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "moraine/value.h"

namespace moraine {

// FarmHash fingerprint of the bytes.
std::uint64_t farm_fingerprint(std::string_view bytes);
std::uint64_t farm_hash(std::span<const Value> values);

// The same value by value: start, add each, finish with their count.
class FarmHasher {
 public:
  void add(const Value& value);
  std::uint64_t finish() const { return state_ ^ count_; }

 private:
  std::uint64_t state_ = 0xdeadc0de;
  std::uint64_t count_ = 0;
};

}  // namespace moraine
