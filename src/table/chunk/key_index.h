// KeyIndex: which block a key belongs to, by keys that separate neighbouring blocks.
//
// Promise    find() compares eight bytes after the prefix that all separators share, sixteen words
//            at a time, in a tree without pointers; whole keys only where those are equal.
// Threading  Immutable.
// Tests      key_index_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace moraine::table {

// The shortest bytes that are above `last` and not above `next`. Requires: last < next.
std::string_view separator(std::string_view last, std::string_view next);

class KeyIndex {
 public:
  KeyIndex() = default;
  // Requires: ascending. Block i has the keys from separator i - 1 on, up to separator i.
  explicit KeyIndex(const std::vector<std::string>& separators);

  // The index of the key's block, of size() + 1 blocks.
  std::size_t find(ByteSpan key) const;
  std::size_t size() const { return ends_.size(); }
  ByteSpan at(std::size_t i) const {
    const std::size_t from = i == 0 ? 0 : ends_[i - 1];
    return as_bytes(keys_).subspan(from, ends_[i] - from);
  }
  std::size_t memory_bytes() const;

 private:
  static constexpr std::size_t kNode = 16;

  // The word of a key that begins with the prefix.
  std::uint64_t word(ByteSpan key) const;
  std::size_t lower_bound(std::uint64_t word) const;

  std::string keys_;
  std::vector<std::uint32_t> ends_;
  std::string prefix_;
  // Words of the separators, then the greatest of each kNode of them, and so on to one node.
  std::vector<std::vector<std::uint64_t>> levels_;
};

}  // namespace moraine::table
