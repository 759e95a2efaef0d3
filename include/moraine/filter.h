// Filter: a condition on one column of a scan.
#pragma once

#include <cstdint>
#include <string>

#include "moraine/value.h"

namespace moraine {

// `column op value`; all filters of a list must match. A null cell matches only kIsNull.
struct Filter {
  enum class Op : std::uint8_t {
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kIsNull,
    kIsNotNull
  };
  std::string column;
  Op op = Op::kEqual;
  Value value;  // Has the column's type, or is a number that fits it.
};

}  // namespace moraine
