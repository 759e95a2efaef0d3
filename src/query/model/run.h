// Runs a plan on rows in memory: one row after another, each step to its end. It is the model that
// executors are compared with, so it is plain rather than fast.
//
// Promise    Scans give rows in key order; a query without ORDER BY keeps that order, and groups
//            come in the order of their first rows. The row of WITH TOTALS is last, first with
//            ORDER BY, and not counted by LIMIT; a query without input rows has none.
//            Rows with equal keys of ORDER BY keep their order.
// Limits     kModelRowsMax rows in any step.
// Errors     Those of evaluate.h; kInvalidArgument for null keys with totals, and for too many
//            rows. kNotFound: a table without rows given.
// Threading  Any thread.
// Tests      run_test.cpp (cases of the dialect), run_model_test.cpp (random queries: ranges and
//            partitions of a condition change nothing), run_fuzz.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/plan/plan.h"

namespace moraine::query {

inline constexpr std::size_t kModelRowsMax = 1'000'000;

using Row = std::vector<Value>;
// By path; cells by position in the schema, computed columns included; in any order.
using TableRows = std::map<std::string, std::vector<Row>, std::less<>>;

struct RunOptions {
  bool use_ranges = true;  // False: scans read whole tables.
};

struct Rowset {
  std::vector<PlanColumn> columns;
  std::vector<Row> rows;
  std::shared_ptr<table::TextMemory> texts;  // Of computed values.
  std::size_t rows_read = 0;                 // By scans.
};

// The result borrows the texts of the plan and of the tables.
Result<Rowset> run_plan(const Plan& plan, const TableRows& tables, const RunOptions& options = {});

}  // namespace moraine::query
