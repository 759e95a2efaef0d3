#include "query/ranges/infer.h"

#include <algorithm>
#include <utility>

#include "query/ranges/computed.h"
#include "query/ranges/condition.h"
#include "query/ranges/key_set.h"
#include "query/seeded_bug.h"

namespace moraine::query {
namespace {

bool same_bound(const KeyBound& a, const KeyBound& b) {
  return a.after == b.after && a.prefix == b.prefix;
}

// Walks a set in key order and makes ranges of its first `depth` columns.
class RangeMaker {
 public:
  RangeMaker(std::size_t depth, std::size_t ranges_max) : depth_(depth), ranges_max_(ranges_max) {}

  // False: more than ranges_max.
  bool walk(const KeySet& keys) {
    const std::size_t column = prefix_.size();
    if (is_empty(keys)) return true;
    if (is_all(keys)) return add({.prefix = prefix_}, {.prefix = prefix_, .after = true});
    if (keys->column > column || column >= depth_) {
      complete_ = false;
      return add({.prefix = prefix_}, {.prefix = prefix_, .after = true});
    }
    for (const KeyEdge& edge : keys->edges) {
      if (const auto value = edge.only()) {
        prefix_.push_back(*value);
        const bool fits = walk(edge.below);
        prefix_.pop_back();
        if (!fits) return false;
        continue;
      }
      if (!is_all(edge.below)) complete_ = false;
      if (!add(bound(edge.from), bound(edge.to))) return false;
    }
    return true;
  }

  RangeSet take(bool exact) {
    const bool complete = complete_ || has_bug(SeededBug::kInexactTaken);
    return {.ranges = std::move(ranges_), .exact = exact && complete};
  }

 private:
  KeyBound bound(const Cut& cut) const {
    KeyBound result{.prefix = prefix_, .after = cut.after};
    // Before null is before all keys with this prefix.
    const bool least = !cut.end && !cut.after && cut.value.is_null();
    if (!cut.end && !least) result.prefix.push_back(cut.value);
    return result;
  }

  bool add(KeyBound from, KeyBound to) {
    if (!ranges_.empty() && same_bound(ranges_.back().to, from)) {
      ranges_.back().to = std::move(to);
      return true;
    }
    if (ranges_.size() == ranges_max_) return false;
    ranges_.push_back({.from = std::move(from), .to = std::move(to)});
    return true;
  }

  const std::size_t depth_;
  const std::size_t ranges_max_;
  std::vector<Value> prefix_;
  std::vector<KeyRange> ranges_;
  bool complete_ = true;  // No condition was left out.
};

RangeSet all_keys(bool exact) {
  return {.ranges = {KeyRange()}, .exact = exact};
}

std::string encode_bound(const KeyBound& bound) {
  std::string key = table::encode_key(bound.prefix);
  if (bound.after) key.push_back('\xff');  // Above the tag of any further column.
  return key;
}

void add_ranges(PlanNode& node, table::TextMemory& texts, std::size_t ranges_max) {
  for (PlanNode& input : node.inputs) add_ranges(input, texts, ranges_max);
  const auto* filter = std::get_if<Filter>(&node.step);
  if (filter == nullptr) return;
  auto* scan = std::get_if<Scan>(&node.inputs[0].step);
  if (scan == nullptr) return;
  RangeSet set = infer_ranges(filter->predicate, scan->columns, *scan->schema, texts, ranges_max);
  scan->ranges = std::move(set.ranges);
  scan->exact = set.exact;
}

}  // namespace

RangeSet infer_ranges(const Expression& predicate, std::span<const std::size_t> columns,
                      const TableSchema& schema, table::TextMemory& texts, std::size_t ranges_max) {
  KeySetBuilder builder;
  Condition condition = ConditionReader(columns, schema, builder, texts).read(predicate, true);
  if (builder.exceeded()) return all_keys(false);
  KeySet keys = restrict_computed(condition.keys, schema, builder, texts, ranges_max);
  if (builder.exceeded()) keys = condition.keys;
  for (std::size_t depth = schema.key_count(); depth > 0; --depth) {
    RangeMaker maker(depth, ranges_max);
    if (maker.walk(keys)) return maker.take(condition.exact);
  }
  return all_keys(false);
}

void add_ranges(Plan& plan, std::size_t ranges_max) {
  add_ranges(plan.root, *plan.texts, ranges_max);
}

table::KeyBounds encode_range(const KeyRange& range) {
  const bool open = range.to.prefix.empty() && range.to.after;
  return {.from = encode_bound(range.from), .to = open ? std::string() : encode_bound(range.to)};
}

bool scans_whole_table(const PlanNode& root) {
  const auto* scan = std::get_if<Scan>(&root.step);
  if (scan != nullptr) {
    return std::ranges::any_of(scan->ranges, [](const KeyRange& range) {
      return range.from.prefix.empty() && range.to.prefix.empty();
    });
  }
  const auto* join = std::get_if<Join>(&root.step);
  if (join != nullptr && join->key_prefix > 0) return scans_whole_table(root.inputs[0]);
  return std::ranges::any_of(root.inputs, scans_whole_table);
}

Result<void> refuse_full_scan(const PlanNode& root) {
  if (!scans_whole_table(root)) return {};
  return fail(Errc::kInvalidArgument, "Primary table key is not used in the where clause");
}

}  // namespace moraine::query
