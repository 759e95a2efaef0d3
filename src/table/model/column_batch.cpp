#include "table/model/column_batch.h"

namespace moraine::table {

bool fits(const ColumnFilter& filter, const Value& value) {
  using Op = ColumnFilter::Op;
  if (filter.op == Op::kIsNull) return value.is_null();
  if (value.is_null()) return false;
  if (filter.op == Op::kIsNotNull) return true;
  const std::strong_ordering order = compare(value, filter.value);
  switch (filter.op) {
    case Op::kEqual: return order == 0;
    case Op::kNotEqual: return order != 0;
    case Op::kLess: return order < 0;
    case Op::kLessOrEqual: return order <= 0;
    case Op::kGreater: return order > 0;
    case Op::kGreaterOrEqual: return order >= 0;
    case Op::kIsNull:
    case Op::kIsNotNull: break;
  }
  return false;
}

}  // namespace moraine::table
