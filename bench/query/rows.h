// Rows of the query benchmark: a table of page views, and orders with their lines and customers.
//
// Promise    The same number gives the same row on every run. Rows are made in the order of their
//            keys. Shapes: views have zipf-like users, phrases and addresses (ClickBench), orders
//            and lines the value ranges of TPC-H, with prices in cents and dates in days.
// Threading  Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "moraine/row.h"
#include "moraine/schema.h"

namespace moraine::bench {

// Views of a counter follow each other.
inline constexpr std::uint64_t kViewsPerCounter = 10'000;

struct BenchTable {
  std::string_view name;
  TableSchema schema;
  std::uint64_t rows = 0;
  // Cells in the order of the schema; texts live until the next call.
  std::vector<Value> (*row)(std::uint64_t number, std::string& memory) = nullptr;
};

// `rows` views and about as many lines of orders.
std::vector<BenchTable> bench_tables(std::uint64_t rows);

struct BenchQuery {
  std::string_view name;
  std::string_view ours;   // In the YT dialect.
  std::string_view peers;  // In SQL.
};
const std::vector<BenchQuery>& bench_queries();

}  // namespace moraine::bench
