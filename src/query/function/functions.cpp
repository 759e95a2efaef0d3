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

    {"int64", F::kInt64, "N -> i"},
    {"uint64", F::kUint64, "N -> u"},
    {"double", F::kDouble, "N -> d"},
    {"boolean", F::kBoolean, "e -> b"},
    {"string", F::kUnsupported, "w -> s"},
    {"numeric_to_string", F::kNumericToString, "N -> s"},
    {"parse_int64", F::kParseInt64, "s -> i"},
    {"parse_uint64", F::kParseUint64, "s -> u"},
    {"parse_double", F::kParseDouble, "s -> d"},
    {"to_any", F::kUnsupported, "w -> y"},
    {"yson_string_to_any", F::kUnsupported, "s -> y"},
    {"any_to_yson_string", F::kUnsupported, "y -> s"},

    {"lower", F::kLower, "s -> s"},
    {"length", F::kLength, "s -> i"},
    {"concat", F::kConcat, "s s -> s"},
    {"is_substr", F::kIsSubstr, "s s -> b"},
    {"is_prefix", F::kIsPrefix, "s s -> b"},
    {"split", F::kUnsupported, "w+ -> y"},
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

    {"try_get_int64", F::kUnsupported, "y s -> i"},
    {"try_get_uint64", F::kUnsupported, "y s -> u"},
    {"try_get_double", F::kUnsupported, "y s -> d"},
    {"try_get_boolean", F::kUnsupported, "y s -> b"},
    {"try_get_string", F::kUnsupported, "y s -> s"},
    {"try_get_any", F::kUnsupported, "y s -> y"},
    {"get_int64", F::kUnsupported, "y s -> i"},
    {"get_uint64", F::kUnsupported, "y s -> u"},
    {"get_double", F::kUnsupported, "y s -> d"},
    {"get_boolean", F::kUnsupported, "y s -> b"},
    {"get_string", F::kUnsupported, "y s -> s"},
    {"get_any", F::kUnsupported, "y s -> y"},
    {"list_contains", F::kUnsupported, "y w -> b"},
    {"list_has_intersection", F::kUnsupported, "y y -> b"},
    {"yson_length", F::kUnsupported, "y -> i"},
    {"make_map", F::kUnsupported, "w+ -> y"},
    {"make_list", F::kUnsupported, "w+ -> y"},
    {"make_entity", F::kUnsupported, "-> y"},

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
    if (c == '+') repeats = true;
    if (c != '+' && c != ' ') letters.push_back(c);
  }
  if (repeats) {
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
  return *std::ranges::find(kFunctions, function, &FunctionInfo::function);
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
    if (argument.type == ValueType::kAny && (takes & bit(ValueType::kAny)) == 0) {
      return fail(Errc::kUnsupported,
                  fmt::format("\"{}\" of a value of type any is not supported yet", name));
    }
    ValueType wanted = argument.type;
    if (is_variable(letter)) {
      wanted = resolve(letter, letters, arguments, fits);
    } else if (argument.type == ValueType::kNull) {
      wanted = takes == kAll || takes == kNumbers ? ValueType::kNull : only_type(takes);
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
