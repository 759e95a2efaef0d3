// Plan: what a query does to rows, independent of its dialect.
//
// clang-format off
//   A tree of steps; rows flow from the leaves to the root.
//   Scan     rows of a table with keys in `ranges`, the columns `columns`
//   Filter   rows for which the predicate is true
//   Join     left ++ right for each pair of rows with equal keys; with `left` also rows of the left
//            input without a match, the right columns null
//   ArrayJoin  row ++ items for each place of its lists, null where a list is shorter; of these the
//            rows for which the predicate is true; with `left` also rows without any, items null
//   Group    one row per distinct keys: keys ++ aggregates; `having` sees that row
//   Order    sorted by the keys, null first; rows with equal keys in any order
//   Limit    `offset` rows left out, then at most `limit`
//   Project  computed columns
//   The YT dialect makes Scan > Filter > (Join | ArrayJoin).. > Filter > Group > Order > Limit >
//   Project, and leaves out what a query has not.
// clang-format on
//
// Promise    Plain data. Expressions of a step are over the columns of its input (Join keys: of
//            either input; having: of its output). Aggregates skip null arguments; with totals a
//            row for all groups follows, with null keys, which Order puts first and Limit does not
//            count.
// Threading  Immutable once made; literals borrow `texts`, which copies of a Plan share.
// Tests      bind_test.cpp, query/model/run_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "moraine/schema.h"
#include "query/plan/expression.h"
#include "table/model/text_memory.h"

namespace moraine::query {

struct PlanColumn {
  std::string name;
  ValueType type = ValueType::kNull;
  LogicalTypePtr logical{};  // See Expression.
  bool operator==(const PlanColumn&) const = default;
};

// A place between keys: before or after all keys that begin with `prefix`.
struct KeyBound {
  std::vector<Value> prefix;
  bool after = false;
};
struct KeyRange {
  KeyBound from;
  KeyBound to{.prefix = {}, .after = true};
};

struct Scan {
  std::string path;
  std::shared_ptr<const TableSchema> schema;
  std::vector<std::size_t> columns;  // By position in the schema.
  // Sorted, disjoint; every row that the filter above keeps is in one of them.
  std::vector<KeyRange> ranges{KeyRange()};
  bool exact = false;  // Every row in the ranges passes that filter.
};
struct Filter {
  Expression predicate;
};
struct Join {
  bool left = false;
  bool null_equals_null = true;
  std::vector<Expression> left_keys;
  std::vector<Expression> right_keys;
  std::size_t key_prefix = 0;  // Key columns of the right table that the keys determine.
};
struct ArrayJoin {
  bool left = false;
  std::vector<Expression> lists;  // Over the input; the types of items are those of the columns.
  std::optional<Expression> predicate;
};
struct AggregateCall {
  AggregateFunction function = AggregateFunction::kSum;
  ValueType type = ValueType::kNull;
  std::uint8_t precision = 0;  // Of a sketch (query/function/sketch.h).
  std::vector<Expression> arguments;
};
struct Group {
  std::vector<Expression> keys;
  std::vector<AggregateCall> aggregates;
  std::optional<Expression> having;
  Totals totals = Totals::kNone;
  std::size_t key_prefix = 0;  // Key columns of the first table that the keys determine.
};
struct OrderKey {
  Expression expression;
  bool descending = false;
};
struct Order {
  std::vector<OrderKey> keys;
};
struct Limit {
  std::uint64_t offset = 0;
  std::uint64_t limit = 0;
};
struct Project {
  std::vector<Expression> columns;
};

struct PlanNode {
  std::variant<Scan, Filter, Join, ArrayJoin, Group, Order, Limit, Project> step;
  std::vector<PlanColumn> columns;  // Of its rows.
  std::vector<PlanNode> inputs;     // Join: two. Scan: none. Others: one.
};

struct Plan {
  PlanNode root;
  std::shared_ptr<table::TextMemory> texts;
};

// Leaves out the columns of scans that nothing above them uses.
void prune_columns(PlanNode& root);
// One line per step, indented by depth: for EXPLAIN and tests.
std::string describe(const PlanNode& root);
std::string describe(const Expression& expression, std::span<const PlanColumn> columns);
std::string describe(const KeyRange& range);

}  // namespace moraine::query
