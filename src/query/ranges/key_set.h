// KeySet: a set of keys as a tree of intervals, one level per key column.
//
// clang-format off
//   set  = all keys | { column, edges }        edges: sorted, disjoint, none is empty
//   edge = values of `column` in [from, to), and the keys that `below` has for later columns
// clang-format on
//
// Promise    Immutable, subtrees are shared. Union and intersection are exact. Null is an ordinary
//            least value.
// Limits     A KeySetBuilder makes at most kKeySetEdgesMax edges; then exceeded() is true, and what
//            it returns means nothing.
// Threading  A set may be read on any thread.
// Tests      infer_test.cpp, infer_model_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "moraine/value.h"

namespace moraine::query {

inline constexpr std::size_t kKeySetEdgesMax = 20'000'000;

// A place between values: before or after `value`; `end`: after all.
struct Cut {
  Value value{};
  bool after = false;
  bool end = false;
};
std::strong_ordering compare(const Cut& a, const Cut& b);

struct KeySetNode;
using KeySet = std::shared_ptr<const KeySetNode>;  // Null: all keys.

struct KeyEdge {
  Cut from;
  Cut to;
  KeySet below;
  // The one value that lies in [from, to).
  std::optional<Value> only() const;
};
struct KeySetNode {
  std::size_t column = 0;
  std::vector<KeyEdge> edges;
};

inline bool is_all(const KeySet& set) {
  return set == nullptr;
}
inline bool is_empty(const KeySet& set) {
  return set != nullptr && set->edges.empty();
}

class KeySetBuilder {
 public:
  bool exceeded() const { return edges_ > kKeySetEdgesMax; }

  KeySet none() { return node(0, {}); }
  // Keys whose `column` is in [from, to).
  KeySet interval(std::size_t column, const Cut& from, const Cut& to);
  KeySet node(std::size_t column, std::vector<KeyEdge> edges);

  KeySet unite(const KeySet& a, const KeySet& b);
  KeySet intersect(const KeySet& a, const KeySet& b);
  // By halves, so that n sets of one edge take n log n steps.
  KeySet unite_all(std::vector<KeySet> sets);
  KeySet intersect_all(std::vector<KeySet> sets);

 private:
  std::size_t edges_ = 0;
};

}  // namespace moraine::query
