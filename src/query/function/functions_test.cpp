#include "query/function/functions.h"

#include <gtest/gtest.h>

namespace moraine::query {
namespace {

constexpr ArgumentType kInt{ValueType::kInt64};
constexpr ArgumentType kUint{ValueType::kUint64};
constexpr ArgumentType kText{ValueType::kString};
constexpr ArgumentType kNull{};
constexpr ArgumentType kOne{ValueType::kInt64, 0b1110};  // The literal 1.
constexpr ArgumentType kHalf{ValueType::kDouble, 0b1000};

std::string match(std::string_view signature, std::vector<ArgumentType> arguments) {
  const auto result = match_signature("f", signature, arguments);
  if (!result) return result.error().context;
  std::string text;
  for (const ValueType type : result->parameters) text.append(to_string(type)).append(" ");
  return text.append("-> ").append(to_string(result->result));
}

TEST(QuerySignature, FixedTypesTakeLiteralsThatAdapt) {
  EXPECT_EQ(match("s -> i", {kText}), "string -> int64");
  EXPECT_EQ(match("u -> u", {kOne}), "uint64 -> uint64");
  EXPECT_EQ(match("s -> i", {kInt}), "No matching function \"f\"(int64)");
  EXPECT_EQ(match("u -> u", {kInt}), "No matching function \"f\"(int64)");
}

TEST(QuerySignature, VariablesUnify) {
  EXPECT_EQ(match("t t -> t", {kInt, kInt}), "int64 int64 -> int64");
  EXPECT_EQ(match("t t -> t", {kUint, kOne}), "uint64 uint64 -> uint64");
  EXPECT_EQ(match("t t -> t", {kOne, kHalf}), "double double -> double");
  EXPECT_EQ(match("t t -> t", {kOne, kOne}), "int64 int64 -> int64");
  EXPECT_EQ(match("t t -> t", {kInt, kUint}), "No matching function \"f\"(int64, uint64)");
  EXPECT_EQ(match("t t -> t", {kNull, kText}), "string string -> string");
  EXPECT_EQ(match("t t -> t", {kNull, kNull}), "null null -> null");
  EXPECT_EQ(match("t v -> t", {kInt, kText}), "int64 string -> int64");
  EXPECT_EQ(match("e e -> e", {kHalf, kHalf}), "No matching function \"f\"(double, double)");
}

TEST(QuerySignature, CountsArguments) {
  EXPECT_EQ(match("t+ -> t", {kInt, kInt, kOne}), "int64 int64 int64 -> int64");
  EXPECT_EQ(match("t+ -> t", {}), "No matching function \"f\"()");
  EXPECT_EQ(match("s s -> s", {kText}), "No matching function \"f\"(string)");
  EXPECT_EQ(match("-> y", {}), "-> any");
}

TEST(QuerySignature, ValuesOfTypeAny) {
  const ArgumentType any{ValueType::kAny};
  EXPECT_EQ(match("w -> b", {any}), "any -> boolean");
  EXPECT_EQ(match("A -> i", {any}), "any -> int64");
  EXPECT_EQ(match("A -> i", {kNull}), "null -> int64");
  EXPECT_EQ(match("S -> s", {kInt}), "No matching function \"f\"(int64)");
  EXPECT_EQ(match("N -> i", {any}), "No matching function \"f\"(any)");
  EXPECT_EQ(match("w* -> y", {}), "-> any");
  EXPECT_EQ(match("w* -> y", {kInt, any}), "int64 any -> any");
}

}  // namespace
}  // namespace moraine::query
