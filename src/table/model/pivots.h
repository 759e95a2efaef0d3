// Pivots of tablets: where key ranges of a table begin, encoded (key.h).
//
// Promise    Pure.
// Errors     kInvalidArgument: the text is YTsaurus's.
// Tests      pivots_test.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "moraine/schema.h"
#include "moraine/value.h"

namespace moraine::table {

// A prefix of the key as a pivot: the types of its columns must be those of the schema, or null.
Result<std::string> encode_pivot(const TableSchema& schema, std::span<const Value> columns);

// Pivots of the second and later of `tablets` tablets that split the values of the first key column
// evenly: number i is the smallest value plus i / tablets of the range of its type, rounded down.
// Of an ordered table: the indexes of its tablets.
Result<std::vector<std::string>> uniform_pivots(const TableSchema& schema, std::size_t tablets);

}  // namespace moraine::table
