// Looks into a TableState. For tests.
#pragma once

#include <gtest/gtest.h>

#include "table/tablet/state/table_state.h"
#include "table/tablet/test_table.h"

namespace moraine::table {

// The number of rows in the memory store of this number once the boot has ended.
inline std::size_t rows_in(TableState& state, StoreNumber number) {
  StoreSet stores(std::make_shared<const TableSchema>(test_schema()), {}, 1, Instant{});
  const auto memory = state.begin(stores);
  EXPECT_TRUE(memory);
  const auto found = memory->find(number);
  return found == memory->end() ? 0 : found->second->rows();
}

}  // namespace moraine::table
