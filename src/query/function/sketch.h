// Sketch: how many different values there are, in bounded memory. The states of cardinality, hll_N
// and uniq, which tables may store.
//
// clang-format off
//   state  = version:u8 = 1, kind:u8, form:u8, body
//   kind   = 7..14 HyperLogLog with so many bits of precision | 0 uniq
//   form   = HyperLogLog: 0 the hashes of all values | 1 registers
//            uniq: L, hashes whose lowest L bits are 0, L 0..48
//   body   = registers: 2^kind bytes, each at most 65 - kind
//            hashes: u64 little-endian, ascending, not 0
// clang-format on
//
// Promise    A sketch depends on the set of values alone, not on their order nor on how they were
//            merged. HyperLogLog counts exactly up to 2^(precision - 3) values, above that with a
//            standard error of 1.04 / sqrt(2^precision); uniq counts exactly up to 65,536, above
//            that with one of 0.4 %.
// Limits     2^precision bytes; kUniqHashesMax hashes.
// Errors     kInvalidArgument: a state that is malformed, or of another kind.
// Threading  Plain object.
// Tests      sketch_test.cpp, sketch_fuzz.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "moraine/value.h"

namespace moraine::query {

inline constexpr std::uint8_t kPrecisionMin = 7;
inline constexpr std::uint8_t kPrecisionMax = 14;
inline constexpr std::uint8_t kUniq = 0;  // In place of a precision.
inline constexpr std::size_t kUniqHashesMax = 65'536;

// Of the values of one row. -0.0 counts as 0.0.
std::uint64_t sketch_hash(std::span<const Value> values);

class Sketch {
 public:
  // Requires: kPrecisionMin to kPrecisionMax, or kUniq.
  explicit Sketch(std::uint8_t precision) : precision_(precision) {}

  void add(std::uint64_t hash);
  // Requires: of the same kind.
  void merge(const Sketch& other);
  Result<void> merge_state(std::string_view state);
  std::uint64_t count() const;
  std::string state() const;
  // Besides the object.
  std::size_t bytes() const {
    return slots_.capacity() * sizeof(std::uint64_t) + registers_.capacity();
  }

 private:
  std::size_t hashes_max() const;
  void insert(std::uint64_t hash);
  void grow();
  void raise_level();
  void make_registers();
  void add_to_registers(std::uint64_t hash);
  std::uint64_t estimate() const;

  std::uint8_t precision_;
  std::uint8_t level_ = 0;               // Of uniq.
  std::size_t used_ = 0;                 // Slots.
  std::vector<std::uint64_t> slots_;     // A power of 2, at most half full; 0: free.
  std::vector<std::uint8_t> registers_;  // Not empty: in place of the slots.
};

}  // namespace moraine::query
