#include "query/function/functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace moraine::query {
namespace {

using F = Function;
constexpr NullRule kSees = NullRule::kSeesNulls;

constexpr FunctionInfo kFunctions[] = {
    {"if", F::kIf, "b t t -> t", kSees},
    {"is_null", F::kIsNull, "w -> b", kSees},
    {"if_null", F::kIfNull, "t t -> t", kSees},
    {"coalesce", F::kCoalesce, "t+ -> t", kSees},
    {"is_nan", F::kIsNan, "d -> b"},
    {"is_finite", F::kIsFinite, "d -> b"},
    {"is_inf", F::kIsInf, "d -> b"},
    {"greatest", F::kGreatest, "t+ -> t"},
    {"sleep", F::kUnsupported, "i -> i"},

    {"int64", F::kInt64, "A -> i"},
    {"uint64", F::kUint64, "A -> u"},
    {"double", F::kDouble, "A -> d"},
    {"boolean", F::kBoolean, "B -> b"},
    {"string", F::kString, "S -> s"},
    {"numeric_to_string", F::kNumericToString, "N -> s"},
    {"parse_int64", F::kParseInt64, "s -> i"},
    {"parse_uint64", F::kParseUint64, "s -> u"},
    {"parse_double", F::kParseDouble, "s -> d"},
    {"to_any", F::kToAny, "w -> y"},
    {"yson_string_to_any", F::kYsonStringToAny, "s -> y"},
    {"any_to_yson_string", F::kAnyToYsonString, "y -> s"},

    {"lower", F::kLower, "s -> s"},
    {"length", F::kLength, "s -> i"},
    {"concat", F::kConcat, "s s -> s"},
    {"is_substr", F::kIsSubstr, "s s -> b"},
    {"is_prefix", F::kIsPrefix, "s s -> b"},
    {"split", F::kSplit, "s s -> y"},
    {"to_valid_utf8", F::kToValidUtf8, "s -> s"},
    {"is_valid_utf8", F::kIsValidUtf8, "s -> b"},
    {"make_ngrams", F::kMakeNgrams, "s i -> y"},
    {"format_guid", F::kFormatGuid, "u u -> s"},

    {"regex_full_match", F::kRegexFullMatch, "s s -> b", kSees},
    {"regex_partial_match", F::kRegexPartialMatch, "s s -> b", kSees},
    {"regex_replace_first", F::kRegexReplaceFirst, "s s s -> s"},
    {"regex_replace_all", F::kRegexReplaceAll, "s s s -> s"},
    {"regex_extract", F::kRegexExtract, "s s s -> s"},
    {"regex_escape", F::kRegexEscape, "s -> s"},

    {"try_get_int64", F::kTryGetInt64, "y s -> i"},
    {"try_get_uint64", F::kTryGetUint64, "y s -> u"},
    {"try_get_double", F::kTryGetDouble, "y s -> d"},
    {"try_get_boolean", F::kTryGetBoolean, "y s -> b"},
    {"try_get_string", F::kTryGetString, "y s -> s"},
    {"try_get_any", F::kTryGetAny, "y s -> y"},
    {"get_int64", F::kGetInt64, "y s -> i"},
    {"get_uint64", F::kGetUint64, "y s -> u"},
    {"get_double", F::kGetDouble, "y s -> d"},
    {"get_boolean", F::kGetBoolean, "y s -> b"},
    {"get_string", F::kGetString, "y s -> s"},
    {"get_any", F::kGetAny, "y s -> y"},
    {"list_contains", F::kListContains, "y w -> b", kSees},
    {"list_has_intersection", F::kListHasIntersection, "y y -> b"},
    {"yson_length", F::kYsonLength, "y -> i"},
    {"make_map", F::kMakeMap, "w* -> y", kSees},
    {"make_list", F::kMakeList, "w* -> y", kSees},
    {"make_entity", F::kMakeEntity, "-> y"},

    {"timestamp_floor_hour", F::kFloorHour, "i -> i"},
    {"timestamp_floor_day", F::kFloorDay, "i -> i"},
    {"timestamp_floor_week", F::kFloorWeek, "i -> i"},
    {"timestamp_floor_month", F::kFloorMonth, "i -> i"},
    {"timestamp_floor_quarter", F::kFloorQuarter, "i -> i"},
    {"timestamp_floor_year", F::kFloorYear, "i -> i"},
    {"timestamp_floor_hour_tz", F::kFloorHourTz, "i s -> i"},
    {"timestamp_floor_day_tz", F::kFloorDayTz, "i s -> i"},
    {"timestamp_floor_week_tz", F::kFloorWeekTz, "i s -> i"},
    {"timestamp_floor_month_tz", F::kFloorMonthTz, "i s -> i"},
    {"timestamp_floor_quarter_tz", F::kFloorQuarterTz, "i s -> i"},
    {"timestamp_floor_year_tz", F::kFloorYearTz, "i s -> i"},
    {"format_timestamp", F::kFormatTimestamp, "i s -> s"},
    {"format_timestamp_tz", F::kFormatTimestampTz, "i s s -> s"},

    {"farm_hash", F::kFarmHash, "w+ -> u", kSees},
    {"bigb_hash", F::kUnsupported, "s -> u"},

    {"abs", F::kAbs, "n -> n"},
    {"sign", F::kSign, "N -> i"},
    {"signbit", F::kSignbit, "d -> b"},
    {"ceil", F::kCeil, "d -> i"},
    {"floor", F::kFloor, "d -> i"},
    {"round", F::kRound, "d -> i"},
    {"trunc", F::kTrunc, "d -> i"},
    {"even", F::kEven, "d -> i"},
    {"sqrt", F::kSqrt, "d -> d"},
    {"cbrt", F::kCbrt, "d -> d"},
    {"pow", F::kPow, "d d -> d"},
    {"exp", F::kExp, "d -> d"},
    {"ln", F::kLn, "d -> d"},
    {"log", F::kLog10, "d -> d"},
    {"log10", F::kLog10, "d -> d"},
    {"log2", F::kLog2, "d -> d"},
    {"sin", F::kSin, "d -> d"},
    {"cos", F::kCos, "d -> d"},
    {"tan", F::kTan, "d -> d"},
    {"cot", F::kCot, "d -> d"},
    {"asin", F::kAsin, "d -> d"},
    {"acos", F::kAcos, "d -> d"},
    {"atan2", F::kAtan2, "d d -> d"},
    {"degrees", F::kDegrees, "d -> d"},
    {"radians", F::kRadians, "d -> d"},
    {"gamma", F::kGamma, "d -> d"},
    {"lgamma", F::kLgamma, "d -> d"},
    {"factorial", F::kFactorial, "u -> u"},
    {"gcd", F::kGcd, "e e -> e"},
    {"lcm", F::kLcm, "e e -> e"},
    {"xor", F::kXor, "e e -> e"},
    {"bit_count", F::kBitCount, "e -> i"},
};

// What the binder puts into plans; queries cannot name them.
constexpr FunctionInfo kInternal[] = {
    {"any order", F::kAnyOrder, "w -> s"},
    {"canonical any", F::kAnyCanonical, "y -> y"},
    {"item", F::kListItem, "y i i -> y"},
    {"dict item", F::kDictItem, "y w i -> y"},
};

constexpr std::uint8_t bit(ValueType type) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(type));
}
constexpr std::uint8_t kIntegers = bit(ValueType::kInt64) | bit(ValueType::kUint64);
constexpr std::uint8_t kNumbers = kIntegers | bit(ValueType::kDouble);
constexpr std::uint8_t kAll = kNumbers | bit(ValueType::kBoolean) | bit(ValueType::kString) |
                              bit(ValueType::kAny) | bit(ValueType::kNull);

std::uint8_t types_of(char letter) {
  switch (letter) {
    case 'i': return bit(ValueType::kInt64);
    case 'u': return bit(ValueType::kUint64);
    case 'd': return bit(ValueType::kDouble);
    case 'b': return bit(ValueType::kBoolean);
    case 's': return bit(ValueType::kString);
    case 'y': return bit(ValueType::kAny);
    case 'A': return kNumbers | bit(ValueType::kAny);
    case 'B': return kIntegers | bit(ValueType::kBoolean) | bit(ValueType::kAny);
    case 'S': return bit(ValueType::kString) | bit(ValueType::kAny);
    case 'N':
    case 'n': return kNumbers;
    case 'e': return kIntegers;
    default: return kAll;
  }
}
bool is_variable(char letter) {
  return letter == 'n' || letter == 'e' || letter == 't' || letter == 'v';
}
ValueType only_type(std::uint8_t types) {
  return static_cast<ValueType>(std::countr_zero(types));
}

// Letters of the parameters for so many arguments, then that of the result; empty: they do not fit.
std::string expand(std::string_view signature, std::size_t arguments) {
  std::string letters;
  bool repeats = false;
  for (const char c : signature.substr(0, signature.find("->"))) {
    if (c == '+' || c == '*') repeats = true;
    if (c == '*' && letters.size() > arguments) letters.pop_back();
    if (c != '+' && c != '*' && c != ' ') letters.push_back(c);
  }
  if (repeats && !letters.empty()) {
    while (letters.size() < arguments) letters.push_back(letters.back());
  }
  if (letters.size() != arguments) return "";
  return letters + signature.back();
}

// What all arguments of a type variable may be.
std::uint8_t common_types(char letter, std::string_view letters,
                          std::span<const ArgumentType> arguments, bool literals_too) {
  std::uint8_t types = types_of(letter);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentType& argument = arguments[i];
    if (letters[i] != letter || argument.type == ValueType::kNull) continue;
    const bool adapts = argument.adapts_to != 0;
    if (adapts && !literals_too) continue;
    types &= adapts ? argument.adapts_to : bit(argument.type);
  }
  return types;
}

// The type of a variable: that of the arguments that cannot adapt, else that of the first literal
// that all can become.
ValueType resolve(char letter, std::string_view letters, std::span<const ArgumentType> arguments,
                  bool& fits) {
  const std::uint8_t types = common_types(letter, letters, arguments, /*literals_too=*/true);
  fits = fits && types != 0;
  bool any_known = false;
  std::uint8_t preferred = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (letters[i] != letter || arguments[i].type == ValueType::kNull) continue;
    any_known = true;
    preferred |= bit(arguments[i].type);
  }
  if (!any_known || types == 0) return ValueType::kNull;
  // Of literals of several types: the widest, as double for 1 and 2.5.
  if ((preferred & types) != 0) return only_type(preferred & types);
  return only_type(types);
}

}  // namespace

bool same_name(std::string_view name, std::string_view lower_case) {
  return std::ranges::equal(name, lower_case, {}, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

std::span<const FunctionInfo> all_functions() {
  return kFunctions;
}
const FunctionInfo* find_function(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kFunctions, [&](const FunctionInfo& info) { return same_name(name, info.name); });
  return found == std::end(kFunctions) ? nullptr : found;
}

const FunctionInfo& info_of(Function function) {
  const auto* found = std::ranges::find(kFunctions, function, &FunctionInfo::function);
  if (found != std::end(kFunctions)) return *found;
  return *std::ranges::find(kInternal, function, &FunctionInfo::function);
}

Result<SignatureMatch> match_signature(std::string_view name, std::string_view signature,
                                       std::span<const ArgumentType> arguments) {
  const auto refuse = [&] {
    std::string types;
    for (const ArgumentType& argument : arguments) {
      fmt::format_to(std::back_inserter(types), "{}{}", types.empty() ? "" : ", ",
                     to_string(argument.type));
    }
    return fail(Errc::kInvalidArgument,
                fmt::format("No matching function \"{}\"({})", name, types));
  };
  const std::string letters = expand(signature, arguments.size());
  if (letters.empty()) return refuse();

  SignatureMatch match;
  bool fits = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentType& argument = arguments[i];
    const char letter = letters[i];
    const std::uint8_t takes = types_of(letter);
    ValueType wanted = argument.type;
    if (is_variable(letter)) {
      wanted = resolve(letter, letters, arguments, fits);
    } else if (argument.type == ValueType::kNull) {
      wanted = std::has_single_bit(takes) ? only_type(takes) : ValueType::kNull;
    } else if ((takes & bit(argument.type)) == 0) {
      const std::uint8_t adapted = takes & argument.adapts_to;
      if (adapted == 0) return refuse();
      wanted = only_type(adapted);
    }
    match.parameters.push_back(wanted);
  }
  if (!fits) return refuse();
  const char result = letters.back();
  match.result =
      is_variable(result) ? resolve(result, letters, arguments, fits) : only_type(types_of(result));
  return match;
}

}  // namespace moraine::query
