#include "table/model/value_set.h"

#include <algorithm>

namespace moraine::table {
namespace {

const ValueCut& lower(const ValueCut& a, const ValueCut& b) {
  return compare(a, b) <= 0 ? a : b;
}
const ValueCut& upper(const ValueCut& a, const ValueCut& b) {
  return compare(a, b) >= 0 ? a : b;
}

}  // namespace

std::strong_ordering compare(const ValueCut& a, const ValueCut& b) {
  if (a.end || b.end) return a.end <=> b.end;
  const std::strong_ordering order = moraine::compare(a.value, b.value);
  return order != 0 ? order : a.after <=> b.after;
}

bool ValueInterval::is_point() const {
  return !from.after && to.after && !to.end && from.value == to.value;
}

ValueSet ValueSet::all() {
  return of(std::vector<ValueInterval>{{.from = ValueCut::below({})}});
}

ValueSet ValueSet::all_but_null() {
  return of(std::vector<ValueInterval>{{.from = ValueCut::above({})}});
}

ValueSet ValueSet::matching(Filter::Op op, const Value& value) {
  using Op = Filter::Op;
  if (op == Op::kIsNull) return of(std::vector<Value>{Value()});
  if (op == Op::kIsNotNull) return all_but_null();
  const ValueCut first = ValueCut::above({});
  const ValueCut below = upper(first, ValueCut::below(value));
  const ValueCut above = ValueCut::above(value);
  const ValueCut end = ValueCut::at_end();
  switch (op) {
    case Op::kEqual: return of(std::vector<ValueInterval>{{below, above}});
    case Op::kNotEqual: return of(std::vector<ValueInterval>{{first, below}, {above, end}});
    case Op::kLess: return of(std::vector<ValueInterval>{{first, below}});
    case Op::kLessOrEqual: return of(std::vector<ValueInterval>{{first, above}});
    case Op::kGreater: return of(std::vector<ValueInterval>{{above, end}});
    case Op::kGreaterOrEqual: return of(std::vector<ValueInterval>{{below, end}});
    case Op::kIsNull:
    case Op::kIsNotNull: break;
  }
  return {};
}

ValueSet ValueSet::of(std::vector<Value> values) {
  std::vector<ValueInterval> points;
  points.reserve(values.size());
  for (const Value& value : values) {
    points.push_back({ValueCut::below(value), ValueCut::above(value)});
  }
  return of(std::move(points));
}

ValueSet ValueSet::of(std::vector<ValueInterval> intervals) {
  std::erase_if(intervals, [](const ValueInterval& i) { return compare(i.from, i.to) >= 0; });
  std::ranges::sort(intervals, [](const ValueInterval& a, const ValueInterval& b) {
    return compare(a.from, b.from) < 0;
  });
  ValueSet set;
  for (const ValueInterval& interval : intervals) {
    std::vector<ValueInterval>& kept = set.intervals_;
    if (!kept.empty() && compare(interval.from, kept.back().to) <= 0) {
      kept.back().to = upper(kept.back().to, interval.to);
    } else {
      kept.push_back(interval);
    }
  }
  return set;
}

bool ValueSet::contains(const Value& value) const {
  const ValueCut below = ValueCut::below(value);
  const auto beyond = std::ranges::partition_point(
      intervals_, [&](const ValueInterval& i) { return compare(i.from, below) <= 0; });
  return beyond != intervals_.begin() && compare(below, std::prev(beyond)->to) < 0;
}

ValueSet unite(const ValueSet& a, const ValueSet& b) {
  std::vector<ValueInterval> both = a.intervals_;
  both.insert(both.end(), b.intervals_.begin(), b.intervals_.end());
  return ValueSet::of(std::move(both));
}

ValueSet intersect(const ValueSet& a, const ValueSet& b) {
  std::vector<ValueInterval> shared;
  std::size_t at_a = 0;
  std::size_t at_b = 0;
  while (at_a < a.intervals_.size() && at_b < b.intervals_.size()) {
    const ValueInterval& left = a.intervals_[at_a];
    const ValueInterval& right = b.intervals_[at_b];
    shared.push_back({upper(left.from, right.from), lower(left.to, right.to)});
    ++(compare(left.to, right.to) < 0 ? at_a : at_b);
  }
  return ValueSet::of(std::move(shared));
}

ValueSet complement(const ValueSet& set) {
  std::vector<ValueInterval> gaps;
  ValueCut from = ValueCut::below({});
  for (const ValueInterval& interval : set.intervals_) {
    gaps.push_back({from, interval.from});
    from = interval.to;
  }
  gaps.push_back({from, ValueCut::at_end()});
  return ValueSet::of(std::move(gaps));
}

}  // namespace moraine::table
