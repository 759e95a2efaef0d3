// The table of aggregates.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>

#include "query/function/functions.h"
#include "query/function/sketch.h"

namespace moraine::query {
namespace {

using A = AggregateFunction;

constexpr AggregateInfo kPlain[] = {
    {"sum", A::kSum, "n -> n"},         {"min", A::kMin, "t -> t"},
    {"max", A::kMax, "t -> t"},         {"avg", A::kAvg, "N -> d"},
    {"first", A::kFirst, "t -> t"},     {"argmin", A::kArgmin, "t v -> t"},
    {"argmax", A::kArgmax, "t v -> t"}, {"array_agg", A::kArrayAgg, "w b -> y"},
    {"xdelta", A::kXdelta, "s -> s"},   {"dict_sum", A::kDictSum, "y -> y"},
};

class Table {
 public:
  Table() : infos_(std::begin(kPlain), std::end(kPlain)) {
    add_sketches("cardinality", kPrecisionMax);
    for (std::uint8_t precision = kPrecisionMin; precision <= kPrecisionMax; ++precision) {
      add_sketches(fmt::format("hll_{}", precision), precision);
    }
    add_sketches("uniq", kUniq);
  }
  std::span<const AggregateInfo> infos() const { return infos_; }

 private:
  void add_sketches(const std::string& name, std::uint8_t precision) {
    const std::string_view values = precision == kUniq ? "w+" : "w";
    add(name, A::kDistinct, values, "u", precision);
    add(name + "_state", A::kDistinctState, values, "s", precision);
    add(name + "_merge", A::kDistinctMerge, "s", "u", precision);
    add(name + "_merge_state", A::kDistinctMergeState, "s", "s", precision);
  }
  void add(std::string name, A function, std::string_view parameters, std::string_view result,
           std::uint8_t precision) {
    infos_.push_back({.name = texts_.emplace_back(std::move(name)),
                      .function = function,
                      .signature = texts_.emplace_back(fmt::format("{} -> {}", parameters, result)),
                      .precision = precision});
  }

  std::deque<std::string> texts_;
  std::vector<AggregateInfo> infos_;
};

}  // namespace

std::span<const AggregateInfo> all_aggregates() {
  static const Table kTable;
  return kTable.infos();
}

const AggregateInfo* find_aggregate(std::string_view name) {
  const auto all = all_aggregates();
  const auto found = std::ranges::find_if(
      all, [&](const AggregateInfo& info) { return same_name(name, info.name); });
  return found == all.end() ? nullptr : &*found;
}

std::string_view name_of(AggregateFunction function, std::uint8_t precision) {
  const auto found = std::ranges::find_if(all_aggregates(), [&](const AggregateInfo& info) {
    return info.function == function && info.precision == precision;
  });
  return found->name;
}

}  // namespace moraine::query
