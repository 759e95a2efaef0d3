// The functions of queries: names and signatures, in one table.
//
// clang-format off
//   signature = { parameter } "->" result
//   parameter = type [ "+" | "*" ]     +: once or more, *: also never; only at the end
//   type      = i int64 | u uint64 | d double | b boolean | s string | y any
//             | N any number | w any type
//             | A any number or any | B boolean, integer or any | S string or any
//             | n one number type | e one integer type | t one type | v another one type
//   result    = type; n, e, t, v: that of the arguments
// clang-format on
//
// Promise    Plain data. Names are matched in any case.
// Threading  Any thread.
// Tests      functions_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "moraine/value.h"

namespace moraine::query {

enum class Function : std::uint8_t {
  // General.
  kIf,
  kIsNull,
  kIfNull,
  kCoalesce,
  kIsNan,
  kIsFinite,
  kIsInf,
  kGreatest,
  // Casts.
  kInt64,
  kUint64,
  kDouble,
  kBoolean,
  kNumericToString,
  kParseInt64,
  kParseUint64,
  kParseDouble,
  // Texts.
  kLower,
  kLength,
  kConcat,
  kIsSubstr,
  kIsPrefix,
  kIsValidUtf8,
  kToValidUtf8,
  kRegexFullMatch,
  kRegexPartialMatch,
  kRegexReplaceFirst,
  kRegexReplaceAll,
  kRegexExtract,
  kRegexEscape,
  // Times: seconds since 1970, UTC.
  kFloorHour,
  kFloorDay,
  kFloorWeek,
  kFloorMonth,
  kFloorQuarter,
  kFloorYear,
  kFormatTimestamp,
  kFloorHourTz,
  kFloorDayTz,
  kFloorWeekTz,
  kFloorMonthTz,
  kFloorQuarterTz,
  kFloorYearTz,
  kFormatTimestampTz,
  // Hashes and numbers.
  kFarmHash,
  kAbs,
  kSign,
  kSignbit,
  kCeil,
  kFloor,
  kRound,
  kTrunc,
  kEven,
  kSqrt,
  kCbrt,
  kPow,
  kExp,
  kLn,
  kLog10,
  kLog2,
  kSin,
  kCos,
  kTan,
  kCot,
  kAsin,
  kAcos,
  kAtan2,
  kDegrees,
  kRadians,
  kGamma,
  kLgamma,
  kFactorial,
  kGcd,
  kLcm,
  kXor,
  kBitCount,
  kFormatGuid,
  kMakeNgrams,
  // Values of type any (call_any.cpp). The next twelve: in the order of ValueType.
  kToAny,
  kTryGetInt64,
  kTryGetUint64,
  kTryGetDouble,
  kTryGetBoolean,
  kTryGetString,
  kTryGetAny,
  kGetInt64,
  kGetUint64,
  kGetDouble,
  kGetBoolean,
  kGetString,
  kGetAny,
  kYsonStringToAny,
  kAnyToYsonString,
  kString,
  kSplit,
  kListContains,
  kListHasIntersection,
  kYsonLength,
  kMakeMap,
  kMakeList,
  kMakeEntity,
  // Of the binder alone, without a name in queries.
  kAnyOrder,      // Bytes in the order of values (any_order.h).
  kAnyCanonical,  // One value for all that are equal.
  kListItem,      // Of a list: value, index, number of the item's ValueType.
  kDictItem,      // Of a dict: value, key, number of the ValueType.
  kUnsupported,   // Known by name, not implemented.
};

enum class AggregateFunction : std::uint8_t {
  kSum,
  kMin,
  kMax,
  kAvg,
  kFirst,
  kArgmin,
  kArgmax,
  // Of a sketch (sketch.h) of `precision`: cardinality, hll_N, uniq.
  kDistinct,            // How many values; of uniq exactly.
  kDistinctState,       // The sketch as a text.
  kDistinctMerge,       // How many values in states.
  kDistinctMergeState,  // The states as one.
  kArrayAgg,
  kXdelta,
  kDictSum,
  kUnsupported,
};

enum class NullRule : std::uint8_t {
  kNullGivesNull,  // A null argument makes the result null; the function is not called.
  kSeesNulls,
};

struct FunctionInfo {
  std::string_view name;
  Function function;
  std::string_view signature;
  NullRule nulls = NullRule::kNullGivesNull;
};
struct AggregateInfo {
  std::string_view name;
  AggregateFunction function;
  std::string_view signature;
  std::uint8_t precision = 0;  // Of a sketch.
};

// Is it this name in another case?
bool same_name(std::string_view name, std::string_view lower_case);
std::span<const FunctionInfo> all_functions();
std::span<const AggregateInfo> all_aggregates();
// nullptr: no such function.
const FunctionInfo* find_function(std::string_view name);
const AggregateInfo* find_aggregate(std::string_view name);
const FunctionInfo& info_of(Function function);
// The name, in small letters.
std::string_view name_of(AggregateFunction function, std::uint8_t precision);

// An argument as overloads see it.
struct ArgumentType {
  ValueType type = ValueType::kNull;  // kNull: the literal null, which has every type.
  // What a literal may become: bits 1 << ValueType, its own type among them. 0: it is no literal.
  std::uint8_t adapts_to = 0;
};
struct SignatureMatch {
  std::vector<ValueType> parameters;  // What each argument must become.
  ValueType result = ValueType::kNull;
};
// Errors: kInvalidArgument `No matching function ...`.
Result<SignatureMatch> match_signature(std::string_view name, std::string_view signature,
                                       std::span<const ArgumentType> arguments);

}  // namespace moraine::query
