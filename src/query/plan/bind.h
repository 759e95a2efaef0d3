// Binds a query of the YT dialect: names become columns, operands get their types, clauses become
// the steps of a plan.
//
// Promise    Pure. A name means the alias of an expression, unless it stands in that expression (or
//            the expression is an aggregate and no aggregate may stand there), else a column.
//            Columns of a table with an alias are visible as alias.column only. After GROUP BY only
//            keys and aggregates are visible. Column and table names have a case, functions have
//            none. Constants are computed, unless that fails.
// Limits     kPlanDepthMax, kPlanNodesMax (expression.h).
// Errors     kInvalidArgument, with the texts of YTsaurus and the position: `Undefined reference`,
//            `Undefined function`, `No matching function`, `Type mismatch in expression`, `ORDER BY
//            used without LIMIT`, ... kNotFound: a table without a schema. kUnsupported: what
//            docs/limits.md lists.
// Threading  Any thread.
// Tests      bind_test.cpp, bind_error_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "moraine/schema.h"
#include "query/plan/plan.h"
#include "query/syntax/parse.h"
#include "yson/yson.h"

namespace moraine::query {

using Schemas = std::map<std::string, std::shared_ptr<const TableSchema>, std::less<>>;

struct BindOptions {
  int syntax_version = 1;
  // 1 refuses CAST, and items of IN and BETWEEN that are not constant.
  int expression_builder_version = 1;
  bool canonical_null_relations = false;
  bool allow_join_without_index = false;
  std::uint8_t hyper_log_log_precision = 0;  // Of cardinality(), 7 to 14; 0: its own.
  const YsonMap* placeholders = nullptr;     // Scalars, or lists for tuples.
};

// The tables that the query names, each once: their schemas are needed to bind it.
std::vector<std::string> table_paths(const SelectQuery& query);
// `text`: what the query was parsed from.
Result<Plan> bind_query(const SelectQuery& query, std::string_view text, const Schemas& schemas,
                        const BindOptions& options = {});
// Parses and binds.
Result<Plan> plan_query(std::string_view text, const Schemas& schemas,
                        const BindOptions& options = {});
// One expression over these columns; its texts are kept in `texts`.
Result<Expression> bind_expression(const Node& node, std::string_view text,
                                   std::span<const PlanColumn> columns, table::TextMemory& texts,
                                   const BindOptions& options = {});

}  // namespace moraine::query
