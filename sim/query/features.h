// Features of the YT query language that the generator of queries uses, each counted.
//
// Promise    Plain data.
// Tests      query_campaign_test.cpp: every feature is reached.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace moraine::sim {

enum class Feature : std::uint8_t {
  kStar,
  kAlias,
  kQuotedName,
  kSyntaxVersion2,
  kProjectionNumber,
  kUpperCaseKeywords,
  kPlaceholder,
  kPlaceholderList,
  kAdaptedLiteral,
  kNullLiteral,
  kWhere,
  kAliasInWhere,
  kAnd,
  kOr,
  kNot,
  kComparison,
  kTupleComparison,
  kIn,
  kNotIn,
  kTupleIn,
  kEmptyIn,
  kBetween,
  kNotBetween,
  kBetweenList,
  kTupleBetween,
  kPrefixBetween,
  kLike,
  kNotLike,
  kIlike,
  kLikeEscape,
  kRegexp,
  kIsNull,
  kIf,
  kIfNull,
  kCoalesce,
  kGreatest,
  kCase,
  kCaseSubject,
  kTransform,
  kCast,
  kArithmetic,
  kDivision,
  kBits,
  kShift,
  kUnary,
  kConcat,
  kTextFunction,
  kNumberFunction,
  kTimeFunction,
  kHashFunction,
  kConversion,
  kGroupBy,
  kGroupByExpression,
  kGroupByConstant,
  kHaving,
  kTotals,
  kTotalsThenHaving,
  kHavingThenTotals,
  kSum,
  kMinMax,
  kAvg,
  kFirst,
  kArgminArgmax,
  kCardinality,
  kOrderBy,
  kDescending,
  kOffset,
  kLimit,
  kLimitInKeyOrder,
  kJoinUsing,
  kJoinOn,
  kLeftJoin,
  kJoinPredicate,
  kJoinKeyPrefix,
  kJoinComputedKey,
  kTwoJoins,
  kSubquery,
  kGroupedSubquery,
  kSubqueryWithJoin,
  kJoinOfSubquery,
  kComputedKey,
  kCanonicalNulls,
  kWrappingNumbers,
  kAnyGet,
  kAnyCast,
  kAnyMake,
  kAnyComparison,
  kAnyIn,
  kAnyBetween,
  kAnyGroupBy,
  kAnyOrderBy,
  kAnyMinMax,
  kListLength,
  kListContains,
  kListsIntersect,
  kArrayJoin,
  kLeftArrayJoin,
  kArrayJoinPredicate,
  kParallelArrays,
  kMember,
  kElement,
};
inline constexpr std::size_t kFeatures = static_cast<std::size_t>(Feature::kElement) + 1;
std::string_view to_string(Feature feature);

// How many queries used each.
struct FeatureCounts {
  std::array<std::uint64_t, kFeatures> queries{};

  std::uint64_t& operator[](Feature feature) { return queries[static_cast<std::size_t>(feature)]; }
  FeatureCounts& operator+=(const FeatureCounts& other);
  // Lines of names and counts; features that were not reached are marked.
  std::string to_string() const;
};

// Of one query.
class FeatureSet {
 public:
  void add(Feature feature) { used_[static_cast<std::size_t>(feature)] = true; }
  void count_in(FeatureCounts& counts) const;

 private:
  std::array<bool, kFeatures> used_{};
};

}  // namespace moraine::sim
