// Functions of numbers.

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "query/function/call.h"

namespace moraine::query {
namespace {

using F = Function;

constexpr std::uint64_t kFactorialMax = 20;  // 21! exceeds 64 bits.

Result<Value> out_of_range(std::string_view function) {
  return fail(Errc::kInvalidArgument, std::string(function) + ": the result is out of range");
}

// Half-way cases go away from zero; -0.0 stays as it is.
double even(double value) {
  const double up = std::ceil(std::fabs(value) / 2) * 2;
  return std::copysign(up, value);
}

// The whole number next to it.
Result<Value> rounded(Function function, double x) {
  switch (function) {
    case F::kCeil: x = std::ceil(x); break;
    case F::kFloor: x = std::floor(x); break;
    case F::kRound: x = std::round(x); break;
    case F::kEven: x = even(x); break;
    default: x = std::trunc(x); break;
  }
  if (!(x >= -0x1p63 && x < 0x1p63)) return out_of_range(info_of(function).name);
  return static_cast<std::int64_t>(x);
}

double one_double(Function function, double x) {
  switch (function) {
    case F::kSqrt: return std::sqrt(x);
    case F::kCbrt: return std::cbrt(x);
    case F::kExp: return std::exp(x);
    case F::kLn: return std::log(x);
    case F::kLog10: return std::log10(x);
    case F::kLog2: return std::log2(x);
    case F::kSin: return std::sin(x);
    case F::kCos: return std::cos(x);
    case F::kTan: return std::tan(x);
    case F::kCot: return 1 / std::tan(x);
    case F::kAsin: return std::asin(x);
    case F::kAcos: return std::acos(x);
    case F::kDegrees: return x * 180 / std::numbers::pi;
    case F::kRadians: return x * std::numbers::pi / 180;
    case F::kGamma: return std::tgamma(x);
    default: {
      // lgamma() would store a sign in a global variable.
      int sign = 0;
      return ::lgamma_r(x, &sign);
    }
  }
}

Result<Value> abs_of(const Value& value) {
  switch (value.type()) {
    case ValueType::kDouble: return std::fabs(value.as_double());
    case ValueType::kUint64: return value;
    default: {
      const std::int64_t number = value.as_int64();
      if (number == std::numeric_limits<std::int64_t>::min()) return out_of_range("abs");
      return number < 0 ? -number : number;
    }
  }
}

// Of NaN 0.
Value sign_of(const Value& value) {
  const auto sign = [](auto number) { return std::int64_t{(number > 0) - (number < 0)}; };
  switch (value.type()) {
    case ValueType::kDouble: return sign(value.as_double());
    case ValueType::kUint64: return sign(value.as_uint64());
    default: return sign(value.as_int64());
  }
}

std::uint64_t magnitude(const Value& value) {
  if (value.type() == ValueType::kUint64) return value.as_uint64();
  const auto bits = static_cast<std::uint64_t>(value.as_int64());
  return value.as_int64() < 0 ? 0 - bits : bits;
}

// A number with this magnitude, of the type of `like`.
Result<Value> natural(std::uint64_t number, const Value& like, std::string_view function) {
  if (like.type() == ValueType::kUint64) return number;
  if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    return out_of_range(function);
  }
  return static_cast<std::int64_t>(number);
}

Result<Value> lcm_of(const Value& a, const Value& b) {
  const std::uint64_t left = magnitude(a);
  const std::uint64_t right = magnitude(b);
  if (left == 0 || right == 0) return natural(0, a, "lcm");
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(left / std::gcd(left, right), right, &result)) {
    return out_of_range("lcm");
  }
  return natural(result, a, "lcm");
}

Result<Value> factorial(std::uint64_t n) {
  if (n > kFactorialMax) return out_of_range("factorial");
  std::uint64_t product = 1;
  for (std::uint64_t factor = 2; factor <= n; ++factor) product *= factor;
  return product;
}

std::uint64_t bits_of(const Value& value) {
  return value.type() == ValueType::kUint64 ? value.as_uint64()
                                            : static_cast<std::uint64_t>(value.as_int64());
}

}  // namespace

Result<Value> call_number_function(Function function, std::span<const Value> arguments) {
  const Value& a = arguments[0];
  switch (function) {
    case F::kAbs: return abs_of(a);
    case F::kSign: return sign_of(a);
    case F::kCeil:
    case F::kFloor:
    case F::kRound:
    case F::kTrunc:
    case F::kEven: return rounded(function, a.as_double());
    case F::kSignbit: return std::signbit(a.as_double());
    case F::kPow: return std::pow(a.as_double(), arguments[1].as_double());
    case F::kAtan2: return std::atan2(a.as_double(), arguments[1].as_double());
    case F::kFactorial: return factorial(a.as_uint64());
    case F::kGcd: return natural(std::gcd(magnitude(a), magnitude(arguments[1])), a, "gcd");
    case F::kLcm: return lcm_of(a, arguments[1]);
    case F::kBitCount: return std::int64_t{std::popcount(bits_of(a))};
    case F::kXor: {
      const std::uint64_t bits = bits_of(a) ^ bits_of(arguments[1]);
      if (a.type() == ValueType::kUint64) return bits;
      return static_cast<std::int64_t>(bits);
    }
    default: return one_double(function, a.as_double());
  }
}

}  // namespace moraine::query
