// What answers a query, and how answers are compared.
//
// Promise    compare_answers() says nothing when the answers are the same: rows in order where the
//            order is determined, else as sets; the row of WITH TOTALS at its place.
// Threading  One thread.
// Tests      query_campaign_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/query/random_query.h"
#include "sim/query/sqlite.h"

namespace moraine::sim {

struct QueryAnswer {
  std::vector<ValueType> types;
  std::vector<query::Row> rows;
  std::shared_ptr<void> memory;  // Keeps texts alive.
};

// An engine of the YT dialect over some tables.
class QueryEngine {
 public:
  virtual ~QueryEngine() = default;
  virtual std::string name() const = 0;
  virtual Result<QueryAnswer> run(const QueryCase& query) = 0;
};

// The model of src/query/model: parser, binder, ranges (or none), steps.
std::unique_ptr<QueryEngine> model_engine(const QueryTables& tables, bool use_ranges);

// client::select() over a simulated node; the seed decides the physical layout and the options of
// each query. Its name has both.
std::unique_ptr<QueryEngine> select_engine(const QueryTables& tables, std::uint64_t seed);

// How the answer of an engine differs from SQLite's.
std::optional<std::string> compare_answers(const QueryCase& query,
                                           const Result<QueryAnswer>& answer, Sqlite& sqlite);

query::BindOptions bind_options(const QueryCase& query);
std::string rows_text(const std::vector<query::Row>& rows);

}  // namespace moraine::sim
