// Values of type any as SQLite holds them: JSON, or a scalar.
//
// Promise    Pure, for values without attributes, uint64 and NaN. Texts are UTF-8.
// Tests      query_campaign_test.cpp.
#pragma once

#include <string>
#include <string_view>

#include "moraine/value.h"
#include "table/model/text_memory.h"

namespace moraine::sim {

std::string json_of(std::string_view yson);
// Of what json_of() returned.
Value any_of_json(std::string_view json, table::TextMemory& texts);
// The same bytes for equal values of type any, whatever spelling they have. Others as they are.
Value normalized(const Value& value, table::TextMemory& texts);

}  // namespace moraine::sim
