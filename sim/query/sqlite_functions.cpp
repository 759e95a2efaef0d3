#include "sim/query/sqlite_functions.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <bit>
#include <regex>
#include <string>

#include "base/invariant.h"
#include "expression/farm_hash.h"
#include "sim/query/term.h"

namespace moraine::sim {
namespace {

using Arguments = sqlite3_value**;
using Unsigned = std::uint64_t;

Unsigned bits(sqlite3_value* value) {
  return static_cast<Unsigned>(sqlite3_value_int64(value));
}
Unsigned number(sqlite3_value* value) {
  return unflip(sqlite3_value_int64(value));
}
std::string text(sqlite3_value* value) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return {bytes, static_cast<std::size_t>(sqlite3_value_bytes(value))};
}
void answer_int(sqlite3_context* context, Unsigned value) {
  sqlite3_result_int64(context, static_cast<std::int64_t>(value));
}
void answer_uint(sqlite3_context* context, Unsigned value) {
  sqlite3_result_int64(context, flip(value));
}
void answer_text(sqlite3_context* context, const std::string& value) {
  sqlite3_result_text(context, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
}

bool any_null(int count, Arguments arguments) {
  for (int i = 0; i < count; ++i) {
    if (sqlite3_value_type(arguments[i]) == SQLITE_NULL) return true;
  }
  return false;
}

// Calls `Body` unless an argument is null, which gives null.
template <auto Body>
void scalar(sqlite3_context* context, int count, Arguments arguments) {
  if (any_null(count, arguments)) {
    sqlite3_result_null(context);
  } else {
    Body(context, arguments);
  }
}
using Scalar = void (*)(sqlite3_context*, int, Arguments);

template <auto Apply>
void signed_two(sqlite3_context* context, Arguments a) {
  answer_int(context, Apply(bits(a[0]), bits(a[1])));
}
template <auto Apply>
void unsigned_two(sqlite3_context* context, Arguments a) {
  answer_uint(context, Apply(number(a[0]), number(a[1])));
}

constexpr auto kAdd = [](Unsigned a, Unsigned b) { return a + b; };
constexpr auto kSub = [](Unsigned a, Unsigned b) { return a - b; };
constexpr auto kMul = [](Unsigned a, Unsigned b) { return a * b; };
constexpr auto kDiv = [](Unsigned a, Unsigned b) { return b == 0 ? 0 : a / b; };
constexpr auto kMod = [](Unsigned a, Unsigned b) { return b == 0 ? 0 : a % b; };
constexpr auto kAnd = [](Unsigned a, Unsigned b) { return a & b; };
constexpr auto kOr = [](Unsigned a, Unsigned b) { return a | b; };
constexpr auto kXor = [](Unsigned a, Unsigned b) { return a ^ b; };
constexpr auto kShl = [](Unsigned a, Unsigned b) { return a << (b & 63); };
constexpr auto kShr = [](Unsigned a, Unsigned b) { return a >> (b & 63); };

void negate_int(sqlite3_context* context, Arguments a) {
  answer_int(context, 0 - bits(a[0]));
}
void negate_uint(sqlite3_context* context, Arguments a) {
  answer_uint(context, 0 - number(a[0]));
}
void not_uint(sqlite3_context* context, Arguments a) {
  answer_uint(context, ~number(a[0]));
}
void uint_text(sqlite3_context* context, Arguments a) {
  answer_text(context, fmt::format("{}", number(a[0])));
}
void uint_to_int(sqlite3_context* context, Arguments a) {
  answer_int(context, number(a[0]));
}
void int_to_uint(sqlite3_context* context, Arguments a) {
  answer_uint(context, bits(a[0]));
}
void uint_to_double(sqlite3_context* context, Arguments a) {
  sqlite3_result_double(context, static_cast<double>(number(a[0])));
}
void double_to_uint(sqlite3_context* context, Arguments a) {
  answer_uint(context, static_cast<Unsigned>(sqlite3_value_double(a[0])));
}
void count_bits(sqlite3_context* context, Arguments a) {
  const bool is_unsigned = sqlite3_value_int64(a[1]) != 0;
  const Unsigned word = is_unsigned ? number(a[0]) : bits(a[0]);
  sqlite3_result_int64(context, std::popcount(word));
}
void regexp_full(sqlite3_context* context, Arguments a) {
  const std::regex pattern(text(a[0]));
  sqlite3_result_int(context, std::regex_match(text(a[1]), pattern) ? 1 : 0);
}

// The first argument has a letter for the type of each other one.
void hash(sqlite3_context* context, int count, Arguments arguments) {
  const std::string types = text(arguments[0]);
  FarmHasher hasher;
  for (int i = 1; i < count; ++i) {
    sqlite3_value* const argument = arguments[i];
    if (sqlite3_value_type(argument) == SQLITE_NULL) {
      hasher.add(Value());
      continue;
    }
    switch (types.at(static_cast<std::size_t>(i) - 1)) {
      case 'i': hasher.add(static_cast<std::int64_t>(bits(argument))); break;
      case 'u': hasher.add(number(argument)); break;
      case 'd': hasher.add(sqlite3_value_double(argument)); break;
      case 'b': hasher.add(sqlite3_value_int64(argument) != 0); break;
      default: {
        const std::string bytes = text(argument);
        hasher.add(Value(bytes));
        break;
      }
    }
  }
  answer_uint(context, hasher.finish());
}

// Sums; zeroed by SQLite.
struct Sum {
  Unsigned total = 0;
  Unsigned count = 0;
};

template <bool kIsUnsigned>
void sum_step(sqlite3_context* context, int /*count*/, Arguments a) {
  if (sqlite3_value_type(a[0]) == SQLITE_NULL) return;
  auto* sum = static_cast<Sum*>(sqlite3_aggregate_context(context, sizeof(Sum)));
  sum->total += kIsUnsigned ? number(a[0]) : bits(a[0]);
  ++sum->count;
}
template <bool kIsUnsigned, bool kAverage>
void sum_end(sqlite3_context* context) {
  const auto* sum = static_cast<Sum*>(sqlite3_aggregate_context(context, 0));
  if (sum == nullptr || sum->count == 0) return sqlite3_result_null(context);
  if (kAverage) {
    return sqlite3_result_double(context,
                                 static_cast<double>(sum->total) / static_cast<double>(sum->count));
  }
  kIsUnsigned ? answer_uint(context, sum->total) : answer_int(context, sum->total);
}

// The first argument of the row whose second one is least or greatest.
struct Best {
  sqlite3_value* value;
  sqlite3_value* by;
};

template <bool kGreatest>
void best_step(sqlite3_context* context, int count, Arguments a) {
  if (any_null(count, a)) return;
  auto* best = static_cast<Best*>(sqlite3_aggregate_context(context, sizeof(Best)));
  if (best->value != nullptr) {
    // `by` is an int64 in all queries.
    const std::int64_t now = sqlite3_value_int64(best->by);
    const std::int64_t other = sqlite3_value_int64(a[1]);
    if (kGreatest ? other <= now : other >= now) return;
    sqlite3_value_free(best->value);
    sqlite3_value_free(best->by);
  }
  best->value = sqlite3_value_dup(a[0]);
  best->by = sqlite3_value_dup(a[1]);
}
void best_end(sqlite3_context* context) {
  auto* best = static_cast<Best*>(sqlite3_aggregate_context(context, 0));
  if (best == nullptr || best->value == nullptr) return sqlite3_result_null(context);
  sqlite3_result_value(context, best->value);
  sqlite3_value_free(best->value);
  sqlite3_value_free(best->by);
}

constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

void add_scalar(sqlite3* database, const char* name, int arguments, Scalar function) {
  const int done = sqlite3_create_function(database, name, arguments, kFlags, nullptr, function,
                                           nullptr, nullptr);
  INVARIANT(done == SQLITE_OK, "SQLite does not take the function {}", name);
}
void add_aggregate(sqlite3* database, const char* name, int arguments, Scalar step,
                   void (*end)(sqlite3_context*)) {
  const int done =
      sqlite3_create_function(database, name, arguments, kFlags, nullptr, nullptr, step, end);
  INVARIANT(done == SQLITE_OK, "SQLite does not take the aggregate {}", name);
}

}  // namespace

void register_functions(sqlite3* database) {
  const auto two = [&](const char* name, Scalar function) {
    add_scalar(database, name, 2, function);
  };
  const auto one = [&](const char* name, Scalar function) {
    add_scalar(database, name, 1, function);
  };
  two("i_add", scalar<signed_two<kAdd>>);
  two("i_sub", scalar<signed_two<kSub>>);
  two("i_mul", scalar<signed_two<kMul>>);
  one("i_neg", scalar<negate_int>);
  two("u_add", scalar<unsigned_two<kAdd>>);
  two("u_sub", scalar<unsigned_two<kSub>>);
  two("u_mul", scalar<unsigned_two<kMul>>);
  two("u_div", scalar<unsigned_two<kDiv>>);
  two("u_mod", scalar<unsigned_two<kMod>>);
  two("u_and", scalar<unsigned_two<kAnd>>);
  two("u_or", scalar<unsigned_two<kOr>>);
  two("u_xor", scalar<unsigned_two<kXor>>);
  two("u_shl", scalar<unsigned_two<kShl>>);
  two("u_shr", scalar<unsigned_two<kShr>>);
  one("u_not", scalar<not_uint>);
  one("u_neg", scalar<negate_uint>);
  one("u_text", scalar<uint_text>);
  one("u_to_i", scalar<uint_to_int>);
  one("i_to_u", scalar<int_to_uint>);
  one("u_to_d", scalar<uint_to_double>);
  one("d_to_u", scalar<double_to_uint>);
  two("bit_count", scalar<count_bits>);
  two("regexp_full", scalar<regexp_full>);
  add_scalar(database, "farm_hash", -1, hash);
  add_aggregate(database, "i_sum", 1, sum_step<false>, sum_end<false, false>);
  add_aggregate(database, "u_sum", 1, sum_step<true>, sum_end<true, false>);
  add_aggregate(database, "u_avg", 1, sum_step<true>, sum_end<true, true>);
  add_aggregate(database, "argmin", 2, best_step<false>, best_end);
  add_aggregate(database, "argmax", 2, best_step<true>, best_end);
}

}  // namespace moraine::sim
