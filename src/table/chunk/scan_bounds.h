// ScanBounds: which units of a chunk a scan visits, and which of their rows.
//
// Promise    Combines the bounds of the scan and of the chunk's record, as keys of the table; keys
//            of the chunk, which may have fewer columns, are searched by seek_key(). Left-out units
//            are skipped.
// Threading  Immutable.
// Tests      chunk_test.cpp, chunk_schema_test.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "table/chunk/open_chunk.h"

namespace moraine::table {

class ScanBounds {
 public:
  ScanBounds(const OpenChunk& chunk, KeyBounds bounds, SkippedUnits skipped = {});

  std::uint32_t first_unit() const { return first_unit_; }
  std::uint32_t end_unit() const { return end_unit_; }
  bool skips_unit(std::uint32_t unit) const { return !skipped_.empty() && skipped_[unit]; }
  // The first unit at or after this one that is not left out, or the end.
  std::uint32_t next_unit(std::uint32_t unit) const {
    while (unit < end_unit_ && skips_unit(unit)) ++unit;
    return unit;
  }
  // A lower bound of the chunk's keys within the bounds.
  ByteSpan seek_key() const { return as_bytes(seek_key_); }
  bool below(ByteSpan key) const { return compare_keys(key, as_bytes(bounds_.from)) < 0; }
  bool beyond(ByteSpan key) const {
    return !bounds_.to.empty() && compare_keys(key, as_bytes(bounds_.to)) >= 0;
  }
  // Whether rows of the unit may be outside the bounds.
  bool is_edge(std::uint32_t unit) const { return unit == first_unit_ || unit + 1 == end_unit_; }
  // A key of the table that is above rows of the units before this one only; for the end of the
  // chunk that of its last unit. Empty for the first unit.
  std::string begin_of(const OpenChunk& chunk, std::uint32_t unit) const {
    const std::size_t at = std::min<std::size_t>(unit, chunk.meta().index.size());
    return at <= first_unit_ ? std::string() : std::string(as_text(chunk.meta().index.at(at - 1)));
  }

 private:
  KeyBounds bounds_;
  SkippedUnits skipped_;
  std::string seek_key_;
  std::uint32_t first_unit_ = 0;
  std::uint32_t end_unit_ = 0;
};

// A key of the table without the columns that the chunk does not have. A key that is absent from
// the chunk stays absent.
inline ByteSpan without_added_columns(ByteSpan key, std::size_t added) {
  for (; added > 0 && !key.empty() && key.back() == std::byte{0}; --added) {
    key = key.first(key.size() - 1);
  }
  return key;
}

}  // namespace moraine::table
