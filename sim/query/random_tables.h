// Random tables: schemas and rows of small domains, so that conditions, groups and joins meet.
//
// Promise    The same random numbers give the same tables. `main` has columns of all types, also of
//            composite ones (random_values.cpp says which); the
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
  // Of values of type any.
  std::shared_ptr<table::TextMemory> texts = std::make_shared<table::TextMemory>();

  query::Schemas schemas() const;
  query::TableRows rows() const;
};

QueryTables random_tables(SeededRandom& random);
// A value of the small domain of the type, never null.
Value random_value(SeededRandom& random, ValueType type, bool wrapping);
// A value of a column of type any, by its name.
Value random_any(SeededRandom& random, const std::string& column, table::TextMemory& texts);
// Fills the computed key columns of a row.
void compute_columns(const TableSchema& schema, query::Row& row);

}  // namespace moraine::sim
