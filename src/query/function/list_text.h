// Lists of values as YSON, built item by item.
//
// Promise    Pure. "[" + items + "]" is a YSON list. A value of type any is taken as it is.
// Threading  Any thread.
// Tests      query/model/run_test.cpp.
#pragma once

#include <string>

#include "moraine/value.h"

namespace moraine::query {

// The value and a semicolon.
void append_item(std::string& items, const Value& value);

}  // namespace moraine::query
