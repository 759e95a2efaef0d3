#include "sim/query/features.h"

#include <fmt/format.h>

namespace moraine::sim {

namespace {

// In the order of Feature.
constexpr std::array<std::string_view, kFeatures> kNames = {"star",
                                                            "alias",
                                                            "quoted name",
                                                            "syntax version 2",
                                                            "projection number",
                                                            "upper case keywords",
                                                            "placeholder",
                                                            "placeholder list",
                                                            "adapted literal",
                                                            "null literal",
                                                            "where",
                                                            "alias in where",
                                                            "and",
                                                            "or",
                                                            "not",
                                                            "comparison",
                                                            "tuple comparison",
                                                            "in",
                                                            "not in",
                                                            "tuple in",
                                                            "empty in",
                                                            "between",
                                                            "not between",
                                                            "between list",
                                                            "tuple between",
                                                            "prefix between",
                                                            "like",
                                                            "not like",
                                                            "ilike",
                                                            "like escape",
                                                            "regexp",
                                                            "is null",
                                                            "if",
                                                            "if null",
                                                            "coalesce",
                                                            "greatest",
                                                            "case",
                                                            "case subject",
                                                            "transform",
                                                            "cast",
                                                            "arithmetic",
                                                            "division",
                                                            "bits",
                                                            "shift",
                                                            "unary",
                                                            "concat",
                                                            "text function",
                                                            "number function",
                                                            "time function",
                                                            "hash function",
                                                            "conversion",
                                                            "group by",
                                                            "group by expression",
                                                            "group by constant",
                                                            "having",
                                                            "totals",
                                                            "totals then having",
                                                            "having then totals",
                                                            "sum",
                                                            "min max",
                                                            "avg",
                                                            "first",
                                                            "argmin argmax",
                                                            "cardinality",
                                                            "order by",
                                                            "descending",
                                                            "offset",
                                                            "limit",
                                                            "limit in key order",
                                                            "join using",
                                                            "join on",
                                                            "left join",
                                                            "join predicate",
                                                            "join key prefix",
                                                            "join computed key",
                                                            "two joins",
                                                            "subquery",
                                                            "grouped subquery",
                                                            "subquery with join",
                                                            "join of subquery",
                                                            "computed key",
                                                            "canonical nulls",
                                                            "wrapping numbers",
                                                            "any: get",
                                                            "any: cast",
                                                            "any: make",
                                                            "any: comparison",
                                                            "any: in",
                                                            "any: between",
                                                            "any: group by",
                                                            "any: order by",
                                                            "any: min, max",
                                                            "list length",
                                                            "list contains",
                                                            "lists intersect",
                                                            "array join",
                                                            "left array join",
                                                            "array join predicate",
                                                            "parallel arrays",
                                                            "member",
                                                            "element"};

}  // namespace

std::string_view to_string(Feature feature) {
  return kNames[static_cast<std::size_t>(feature)];
}

FeatureCounts& FeatureCounts::operator+=(const FeatureCounts& other) {
  for (std::size_t i = 0; i < kFeatures; ++i) queries[i] += other.queries[i];
  return *this;
}

std::string FeatureCounts::to_string() const {
  constexpr std::size_t kPerLine = 4;
  std::string out;
  std::size_t reached = 0;
  for (std::size_t i = 0; i < kFeatures; ++i) {
    reached += queries[i] > 0 ? 1 : 0;
    fmt::format_to(std::back_inserter(out), "  {:<21}{:>8}{}{}", sim::to_string(Feature(i)),
                   queries[i], queries[i] == 0 ? " NOT REACHED" : "",
                   (i + 1) % kPerLine == 0 || i + 1 == kFeatures ? "\n" : "");
  }
  return fmt::format("features of queries: {} of {} reached\n{}", reached, kFeatures, out);
}

void FeatureSet::count_in(FeatureCounts& counts) const {
  for (std::size_t i = 0; i < kFeatures; ++i) counts.queries[i] += used_[i] ? 1 : 0;
}

}  // namespace moraine::sim
