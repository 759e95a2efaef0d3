// KeyLimit: a place between the rows of a sorted table, by a key or the beginning of one.
//
// Promise    Pure. Keys are compared as YTsaurus compares them: null < int64 < uint64 < double <
//            boolean < string; a shorter key is before those that begin with it; <type=min># is
//            before and <type=max># behind every value.
// Errors     Code::kGeneric: a value that no key can have.
// Tests      key_limit_test.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gateway/yt/rich_path.h"
#include "moraine/schema.h"

namespace moraine::yt {

class KeyLimit {
 public:
  // The beginning of the table, as a lower limit; its end as an upper one.
  KeyLimit() = default;
  // `limit` has a key and outlives the object, as its texts are not copied.
  static YtResult<KeyLimit> make(const ReadLimit& limit);

  bool none() const { return elements_.empty() && !after_prefix_; }
  // Whether a row with this key is behind the place.
  bool is_before(std::span<const Value> key) const;
  // The beginning that a scan of a table with these key columns can look for: every row behind the
  // place has this key, or one that begins with it, or a greater one.
  std::vector<Value> seek(std::span<const ColumnSchema> key_columns) const;
  // Whether the place is exactly before the first row with seek() or greater.
  bool is_exact(std::span<const ColumnSchema> key_columns) const {
    return !after_prefix_ && seek(key_columns).size() == elements_.size();
  }

 private:
  enum class Kind : std::uint8_t { kValue, kMin, kMax };
  struct Element {
    Kind kind = Kind::kValue;
    Value value;
  };

  std::vector<Element> elements_;
  bool after_prefix_ = false;
};

}  // namespace moraine::yt
