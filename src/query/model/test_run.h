// Plans and runs queries in tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "query/model/run.h"
#include "query/plan/bind.h"
#include "query/ranges/infer.h"

namespace moraine::query {

inline std::string text_of(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return "null";
    case ValueType::kInt64: return fmt::format("{}", value.as_int64());
    case ValueType::kUint64: return fmt::format("{}u", value.as_uint64());
    case ValueType::kDouble: return fmt::format("{}", value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
    default: return std::string(value.text());
  }
}
inline std::string text_of(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) {
    out += "{";
    for (std::size_t i = 0; i < row.size(); ++i) out += (i > 0 ? "," : "") + text_of(row[i]);
    out += "}";
  }
  return out;
}

inline Result<std::string> run_text(std::string_view text, const Schemas& schemas,
                                    const TableRows& tables, const BindOptions& options = {},
                                    const RunOptions& run_options = {}) {
  TRY(Plan plan, plan_query(text, schemas, options));
  add_ranges(plan);
  TRY(const Rowset result, run_plan(plan, tables, run_options));
  return text_of(result.rows);
}

}  // namespace moraine::query
