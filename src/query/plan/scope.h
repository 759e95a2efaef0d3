// What names mean at a place of a query. Internal to bind.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/plan/bind.h"
#include "query/plan/plan.h"

namespace moraine::query {

// One query text and what is shared by its subqueries.
struct Binding {
  std::string_view text;
  const BindOptions& options;
  table::TextMemory& texts;
  std::size_t nodes = 0;

  // `what`, with the place in the text.
  std::unexpected<Error> refuse(const Node& node, std::string_view what,
                                Errc code = Errc::kInvalidArgument) const;
};

// The columns of one source: columns first, first + 1, ... of the row that expressions see.
struct ScopeTable {
  std::string alias;  // Empty: columns are visible by their names alone.
  std::size_t first = 0;
  std::vector<PlanColumn> columns{};
  std::vector<bool> hidden{};  // From `*`: the other side of USING has it.
};

struct GroupScope {
  std::vector<const Node*> keys;  // What they stand for: aliases are resolved.
  std::vector<std::string> names;
  std::vector<ValueType> types;
  std::vector<LogicalTypePtr> logical;
  std::vector<Node> aggregate_nodes;
  std::vector<AggregateCall> aggregates;
};

class Scope {
 public:
  std::vector<ScopeTable> tables;
  std::map<std::string, const Node*, std::less<>> aliases;
  std::optional<GroupScope> group;

  std::size_t column_count() const;
  // nullopt: no such column. kInvalidArgument: in several tables.
  Result<std::optional<Expression>> find(std::string_view table, std::string_view column) const;
};

// Collects aliases of the node and below it. Errors: `Alias "x" has been already used`.
Result<void> collect_aliases(const Binding& binding, const Node& node, Scope& scope);
bool same_but_alias(const Node& a, const Node& b);

}  // namespace moraine::query
