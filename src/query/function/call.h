// Calls a function of queries on one row's arguments.
//
// Promise    Pure: equal arguments give equal results. Texts of the result borrow the arguments or
//            `memory`.
// Errors     kInvalidArgument: a number that is out of range, NaN in a comparison, a malformed
//            text, an invalid regular expression, a result that is too long.
// Threading  Any thread.
// Tests      call_test.cpp.
#pragma once

#include <ctime>
#include <span>

#include "base/result.h"
#include "query/function/functions.h"
#include "table/model/text_memory.h"

namespace moraine::query {

inline constexpr std::size_t kResultBytesMax = std::size_t{16} << 20;

// Requires: arguments as match_signature() said, none of them null unless the function sees nulls,
// and not one of if, if_null and coalesce, whose arguments are evaluated only when needed.
Result<Value> call_function(Function function, std::span<const Value> arguments,
                            table::TextMemory& memory);

// `text` LIKE `pattern`: % is any run of bytes, _ one character, the byte after `escape` stands for
// itself. Without case: letters as lower() compares them.
bool like(std::string_view text, std::string_view pattern, char escape, bool ignore_case);
// The bytes that each text matching the pattern begins with.
std::string like_prefix(std::string_view pattern, char escape);
Result<bool> regex_full_match(std::string_view pattern, std::string_view text);

// Internal to call.cpp.
Result<Value> call_text_function(Function function, std::span<const Value> arguments,
                                 table::TextMemory& memory);
Result<Value> call_regex_function(Function function, std::span<const Value> arguments,
                                  table::TextMemory& memory);
Result<Value> call_any_function(Function function, std::span<const Value> arguments,
                                table::TextMemory& memory);
// The scalar that a value of type any is; `wanted`: for errors.
Result<Value> scalar_of_any(const Value& any, std::string_view wanted, table::TextMemory& memory);
Result<Value> call_number_function(Function function, std::span<const Value> arguments);
// About the years -26,500 to 30,500: std::chrono::year ends at 32,767.
inline constexpr std::int64_t kSecondsMax = 900'000'000'000;
std::int64_t floor_time(Function function, std::int64_t seconds);
Result<void> check_formatted_time(std::int64_t seconds);
Result<Value> format_time(std::int64_t seconds, std::string_view format, table::TextMemory& memory);
Result<Value> format_parts(const std::tm& parts, std::string_view format,
                           table::TextMemory& memory);
Result<Value> floor_time_in_zone(Function function, std::int64_t seconds, std::string_view name);
Result<Value> format_time_in_zone(std::int64_t seconds, std::string_view name,
                                  std::string_view format, table::TextMemory& memory);
Result<Value> make_ngrams(std::string_view text, std::int64_t length, table::TextMemory& memory);
std::string lower(std::string_view text);

}  // namespace moraine::query
