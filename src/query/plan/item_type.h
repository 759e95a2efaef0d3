// The type of a part of a composite value. Internal to bind.h.
#pragma once

#include "query/plan/expression.h"

namespace moraine::query {

struct ItemType {
  ValueType type = ValueType::kNull;  // A value of the part is of this type, or null.
  LogicalTypePtr logical{};           // Of a composite part.
};
ItemType item_type(const table::LogicalType& part);

}  // namespace moraine::query
