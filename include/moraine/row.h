// Rows and keys as callers pass them. They borrow their values.
#pragma once

#include <span>
#include <string_view>

#include "moraine/value.h"

namespace moraine {

struct NamedValue {
  std::string_view name;
  Value value;
};
using NamedRow = std::span<const NamedValue>;
// Values of the key columns that are not computed, in order.
using Key = std::span<const Value>;

}  // namespace moraine
