#include "table/model/column_batch.h"

#include <gtest/gtest.h>

namespace moraine::table {
namespace {

TEST(ColumnFilter, ComparesAsKeysDoAndNullFitsIsNullAlone) {
  using Op = ColumnFilter::Op;
  const auto fits = [](Op op, const Value& cell) {
    return table::fits({.op = op, .value = std::int64_t{5}}, cell);
  };
  EXPECT_TRUE(fits(Op::kEqual, 5));
  EXPECT_FALSE(fits(Op::kEqual, 4));
  EXPECT_TRUE(fits(Op::kNotEqual, 4));
  EXPECT_TRUE(fits(Op::kLess, 4));
  EXPECT_FALSE(fits(Op::kLess, 5));
  EXPECT_TRUE(fits(Op::kLessOrEqual, 5));
  EXPECT_TRUE(fits(Op::kGreater, 6));
  EXPECT_TRUE(fits(Op::kGreaterOrEqual, 5));
  EXPECT_TRUE(fits(Op::kIsNotNull, 1));
  EXPECT_TRUE(fits(Op::kIsNull, Value()));
  EXPECT_FALSE(fits(Op::kIsNull, 1));
  for (const Op op : {Op::kEqual, Op::kNotEqual, Op::kLess, Op::kIsNotNull}) {
    EXPECT_FALSE(fits(op, Value()));
  }
}

}  // namespace
}  // namespace moraine::table
