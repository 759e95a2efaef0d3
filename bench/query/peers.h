// Peers of the query benchmark: SQLite in this process, DuckDB in a Python process.
//
// Promise    The same rows and queries; times are medians of kQueryRounds rounds after one that
//            does not count. Results are the cells of the first row, for comparison with ours.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/query/rows.h"

namespace moraine::bench {

inline constexpr int kQueryRounds = 5;

struct QueryTime {
  double seconds = 0;
  std::string first_row;  // Cells with a bar between them; doubles with three digits.
};

Result<std::vector<QueryTime>> run_sqlite(const std::vector<BenchTable>& tables);

// nullopt, and the reason in `why`: DuckDB cannot be had here. `folder` has the rows as CSV files
// of the names of the tables.
Result<std::optional<std::vector<QueryTime>>> run_duckdb(const std::filesystem::path& folder,
                                                         std::size_t threads, std::string& why);
Result<void> write_csv(const std::vector<BenchTable>& tables, const std::filesystem::path& folder);

std::string cell_text(const Value& value);

}  // namespace moraine::bench
