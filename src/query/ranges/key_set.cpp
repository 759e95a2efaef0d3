#include "query/ranges/key_set.h"

#include <algorithm>

#include "query/seeded_bug.h"

namespace moraine::query {
namespace {

Cut least() {
  return {};
}
Cut greatest() {
  return {.value = {}, .after = true, .end = true};
}

// A set whose first constrained column comes later has all values of this one.
std::vector<KeyEdge> edges_at(const KeySet& set, std::size_t column) {
  if (set->column == column) return set->edges;
  return {{.from = least(), .to = greatest(), .below = set}};
}

bool is_below(const Cut& a, const Cut& b) {
  return compare(a, b) < 0;
}

// Joins neighbours that share what is below them.
void append_edge(std::vector<KeyEdge>& edges, KeyEdge edge) {
  if (!is_below(edge.from, edge.to) || is_empty(edge.below)) return;
  if (!edges.empty() && edges.back().below == edge.below &&
      compare(edges.back().to, edge.from) == 0) {
    edges.back().to = edge.to;
    return;
  }
  edges.push_back(std::move(edge));
}

}  // namespace

std::strong_ordering compare(const Cut& a, const Cut& b) {
  if (a.end || b.end) return a.end <=> b.end;
  const std::strong_ordering order = moraine::compare(a.value, b.value);
  return order != 0 ? order : a.after <=> b.after;
}

std::optional<Value> KeyEdge::only() const {
  const bool one = !from.end && !to.end && !from.after && to.after &&
                   moraine::compare(from.value, to.value) == 0;
  if (!one) return std::nullopt;
  return from.value;
}

KeySet KeySetBuilder::node(std::size_t column, std::vector<KeyEdge> edges) {
  edges_ += edges.size() + 1;
  // All values, and nothing known of later columns.
  if (edges.size() == 1 && is_all(edges[0].below) && compare(edges[0].from, least()) == 0 &&
      edges[0].to.end) {
    return nullptr;
  }
  return std::make_shared<const KeySetNode>(
      KeySetNode{.column = column, .edges = std::move(edges)});
}

KeySet KeySetBuilder::interval(std::size_t column, const Cut& from, const Cut& to) {
  std::vector<KeyEdge> edges;
  append_edge(edges, {.from = from, .to = to, .below = nullptr});
  return node(column, std::move(edges));
}

KeySet KeySetBuilder::unite(const KeySet& a, const KeySet& b) {
  if (is_all(a) || is_all(b) || exceeded()) return nullptr;
  if (is_empty(a) || a == b) return b;
  if (is_empty(b)) return a;
  const std::size_t column = std::min(a->column, b->column);
  std::vector<KeyEdge> left = edges_at(a, column);
  std::vector<KeyEdge> right = edges_at(b, column);
  std::vector<KeyEdge> edges;
  std::size_t i = 0;
  std::size_t j = 0;
  // What is left of each first edge is cut off from below, piece by piece.
  while (i < left.size() && j < right.size() && !exceeded()) {
    KeyEdge& x = left[i];
    KeyEdge& y = right[j];
    if (compare(x.from, y.from) != 0) {
      KeyEdge& first = is_below(x.from, y.from) ? x : y;
      const Cut& other = &first == &x ? y.from : x.from;
      const Cut stop = is_below(first.to, other) ? first.to : other;
      append_edge(edges, {.from = first.from, .to = stop, .below = first.below});
      first.from = stop;
    } else {
      const Cut stop = is_below(x.to, y.to) ? x.to : y.to;
      const KeySet below = has_bug(SeededBug::kOverlapOfOne) ? x.below : unite(x.below, y.below);
      append_edge(edges, {.from = x.from, .to = stop, .below = below});
      x.from = y.from = stop;
    }
    if (compare(x.from, x.to) == 0) ++i;
    if (compare(y.from, y.to) == 0) ++j;
  }
  for (; i < left.size(); ++i) append_edge(edges, left[i]);
  for (; j < right.size(); ++j) append_edge(edges, right[j]);
  return node(column, std::move(edges));
}

KeySet KeySetBuilder::intersect(const KeySet& a, const KeySet& b) {
  if (is_all(a) || is_empty(b) || a == b) return b;
  if (is_all(b) || is_empty(a) || exceeded()) return a;
  const std::size_t column = std::min(a->column, b->column);
  const std::vector<KeyEdge> left = edges_at(a, column);
  const std::vector<KeyEdge> right = edges_at(b, column);
  std::vector<KeyEdge> edges;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() && j < right.size() && !exceeded()) {
    const Cut from = is_below(left[i].from, right[j].from) ? right[j].from : left[i].from;
    const Cut to = is_below(left[i].to, right[j].to) ? left[i].to : right[j].to;
    if (is_below(from, to)) {
      append_edge(edges,
                  {.from = from, .to = to, .below = intersect(left[i].below, right[j].below)});
    }
    if (is_below(left[i].to, right[j].to)) {
      ++i;
    } else {
      ++j;
    }
  }
  return node(column, std::move(edges));
}

KeySet KeySetBuilder::unite_all(std::vector<KeySet> sets) {
  if (sets.empty()) return none();
  for (std::size_t step = 1; step < sets.size(); step *= 2) {
    for (std::size_t i = 0; i + step < sets.size(); i += 2 * step) {
      sets[i] = unite(sets[i], sets[i + step]);
    }
  }
  return sets[0];
}

KeySet KeySetBuilder::intersect_all(std::vector<KeySet> sets) {
  if (sets.empty()) return nullptr;
  for (std::size_t step = 1; step < sets.size(); step *= 2) {
    for (std::size_t i = 0; i + step < sets.size(); i += 2 * step) {
      sets[i] = intersect(sets[i], sets[i + step]);
    }
  }
  return sets[0];
}

}  // namespace moraine::query
