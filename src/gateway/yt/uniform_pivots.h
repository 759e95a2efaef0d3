// Pivot keys that split the range of an integral key column evenly.
//
// Tests      table_commands_test.cpp.
#pragma once

#include "gateway/yt/error.h"
#include "moraine/schema.h"

namespace moraine::yt {

// Of `tablets` > 0 tablets, the first of which is empty. Fails when the first key column is not
// integral.
YtResult<YsonNode> uniform_pivots(const TableSchema& schema, std::int64_t tablets);

}  // namespace moraine::yt
