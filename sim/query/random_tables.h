// Random tables: schemas and rows of small domains, so that conditions, groups and joins meet.
//
// Promise    The same random numbers give the same tables. `main` has columns of all types; the
//            other two are for joins: their key columns (or those after a computed one) have the
//            names and types of columns of `main`. Keys are distinct. Texts are UTF-8.
// Threading  One thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "io/random.h"
#include "query/model/run.h"
#include "query/plan/bind.h"

namespace moraine::sim {

inline constexpr std::size_t kQueryTables = 3;
inline constexpr std::size_t kTableRowsMax = 60;

struct QueryTable {
  std::string path;
  std::shared_ptr<const TableSchema> schema;
  std::vector<query::Row> rows;  // Computed columns included.
  std::string unique{};          // A value column without equal values.
};

struct QueryTables {
  std::array<QueryTable, kQueryTables> tables;
  // Numbers reach the ends of 64 bits: sums wrap around.
  bool wrapping = false;

  query::Schemas schemas() const;
  query::TableRows rows() const;
};

QueryTables random_tables(SeededRandom& random);
// A value of the small domain of the type, never null.
Value random_value(SeededRandom& random, ValueType type, bool wrapping);
// Fills the computed key columns of a row.
void compute_columns(const TableSchema& schema, query::Row& row);

}  // namespace moraine::sim
