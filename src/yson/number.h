// Numbers as YSON and JSON spell them.
//
// clang-format off
//   shortest : the fewest digits that read back as the same double; as 123.45 if the exponent is
//              from -10 to 20, as 1.2345e+21 otherwise; 1, inf, -inf, nan
//   YSON     : shortest, with a point if it has neither point nor exponent: 1.; %inf %-inf %nan
//   JSON     : 20 significant digits as printf's %.20g, with ".0" if only digits are left
// clang-format on
//
// Promise    Pure. Reading what was written gives the same number.
// Tests      number_test.cpp.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace moraine {

void append_shortest(std::string& out, double value);
void append_yson_double(std::string& out, double value);
// Requires: the value is no NaN.
void append_json_double(std::string& out, double value);
void append_decimal(std::string& out, std::int64_t value);
void append_decimal(std::string& out, std::uint64_t value);

// False: not a number of this type as a whole, or out of range. A leading '+' is allowed.
bool parse_decimal(std::string_view text, std::int64_t& value);
bool parse_decimal(std::string_view text, std::uint64_t& value);
bool parse_double(std::string_view text, double& value);

}  // namespace moraine
