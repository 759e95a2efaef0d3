// KeyList: many keys in ascending order, packed.
//
// Threading  One writer, then immutable.
// Tests      key_list_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace moraine::table {

class KeyList {
 public:
  // Requires: above every key before it.
  void add(ByteSpan key);

  std::size_t size() const { return ends_.size(); }
  std::size_t bytes() const { return keys_.size() + ends_.size() * sizeof(ends_[0]); }
  ByteSpan at(std::size_t i) const {
    const std::size_t from = i == 0 ? 0 : ends_[i - 1];
    return as_bytes(keys_).subspan(from, ends_[i] - from);
  }
  // The first key not below the given one, and the first above it; size() if there is none.
  std::size_t lower_bound(ByteSpan key) const;
  std::size_t upper_bound(ByteSpan key) const;
  // Of the keys [from, to), as a chunk's meta has it for its units (chunk_meta.h).
  std::uint64_t hash(std::size_t from, std::size_t to, std::uint64_t seed) const;

 private:
  std::string keys_;
  std::vector<std::size_t> ends_;
};

}  // namespace moraine::table
