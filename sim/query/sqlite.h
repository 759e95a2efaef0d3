// Sqlite: an engine that shares no code with ours, given the same rows.
//
// Differences of the dialects that are bridged here or in the texts of queries (term.h):
//   uint64       stored with its highest bit flipped; arithmetic through the functions u_*
//   overflow     where tables hold ends of 64 bits, i_* and u_* wrap around
//   null         relations without canonical nulls are written with IS and coalesce()
//   LIKE         with case (a pragma), '\' as escape
//   regular expressions: regexp_full(), by std::regex; patterns are in the common subset
//   farm_hash    the function of this program: SQLite has none
//   any, composite types: JSON, or the scalar (json_values.h); ARRAY JOIN is a join with the table
//                `places` of small numbers
//   argmin, argmax: aggregates of this file; i_sum, u_sum, u_avg likewise
// Not compared, since results are not determined or are errors here: division by zero, NaN and
// infinity, sums of doubles that depend on the order, casts out of range.
//
// Promise    Rows come as Values of the given types. Texts live as long as the answer.
// Errors     kInvalidArgument with SQLite's message and the text.
// Threading  One thread.
// Tests      sqlite_test.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "query/model/run.h"
#include "sim/query/random_tables.h"

struct sqlite3;

namespace moraine::sim {

class Sqlite {
 public:
  Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;
  ~Sqlite();

  // Makes and fills table t0, t1, ... of each of the tables.
  Result<void> load(const QueryTables& tables);
  Result<std::vector<query::Row>> run(const std::string& sql, std::span<const ValueType> types,
                                      table::TextMemory& texts);

 private:
  Result<void> execute(const std::string& sql);

  sqlite3* database_ = nullptr;
};

// A column's name as SQL: quoted.
std::string sql_name(std::string_view name);

}  // namespace moraine::sim
