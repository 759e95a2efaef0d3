// QueryBinder: clauses to steps. Internal to bind.h; joins are in bind_join.cpp and
// bind_array_join.cpp.
#pragma once

#include <string>
#include <vector>

#include "query/plan/bind_expression.h"

namespace moraine::query {

class QueryBinder {
 public:
  QueryBinder(Binding& binding, const Schemas& schemas, const SelectQuery& query)
      : binding_(binding), schemas_(schemas), query_(query) {}

  Result<PlanNode> run();

 private:
  Result<void> check_clauses() const;
  Result<void> collect_all_aliases();
  Result<PlanNode> source(const Source& source);
  Result<PlanNode> table(const Source& source);
  void add_table(const PlanNode& node, std::string_view alias);
  Result<PlanNode> rows();

  Result<void> join(const JoinClause& clause);
  Result<void> array_join(const JoinClause& clause);
  Result<void> join_keys(const JoinClause& clause, Join& join, Scope& right, const Node& where);
  Result<void> using_keys(const JoinClause& clause, Join& join, Scope& right);
  Result<void> check_key_prefix(const JoinClause& clause, const PlanNode& right, Join& join) const;

  Result<Group> group_keys();
  std::size_t grouped_key_prefix(const Group& group) const;
  Result<void> having(Group& group);
  Result<Order> order(bool grouped);
  Result<Project> projections(bool grouped, std::vector<PlanColumn>& columns);
  Result<void> add_column(const Node* node, std::string name, Expression expression,
                          Project& project, std::vector<PlanColumn>& columns) const;
  std::unexpected<Error> refuse(std::string_view what, Errc code = Errc::kInvalidArgument) const;

  Binding& binding_;
  const Schemas& schemas_;
  const SelectQuery& query_;
  Scope scope_;
  struct Joined {
    decltype(PlanNode::step) step;    // Join or ArrayJoin.
    std::vector<PlanNode> right;      // Of Join: one.
    std::vector<PlanColumn> columns;  // That it adds.
  };
  std::vector<Joined> joins_;
};

// So many first key columns are known, or computed from known columns.
std::size_t known_key_prefix(const TableSchema& schema, const std::vector<bool>& known);
// A step over one input whose rows have the columns of the input.
PlanNode add_step(PlanNode input, decltype(PlanNode::step) step);

}  // namespace moraine::query
