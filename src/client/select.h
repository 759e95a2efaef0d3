// Select: runs a query of the YT dialect over the tables of a node.
//
//   text -> plan (query/plan) -> key ranges (query/ranges) -> parts of the plan beside the readers
//   of the tablets -> merged by the caller
//
// Promise    Rows are those of the plan on the tables at one timestamp. Filters, projections,
//            partial groups and the first rows of an order are computed beside the readers, in
//            parallel over lanes. A query that is over a limit, cancelled or late ends soon, and
//            releases what it holds.
// Threading  Any lane; one call at a time. The client outlives the selection.
// Limits     SelectOptions; those of scans (client/scan.h).
// Errors     kInvalidArgument: the text is wrong (with the position), or computing it fails;
//            kNotFound: no such table; kOverloaded: over a limit of rows or memory, the text says
//            which; kTimeout; those of scans.
// Tests      node/select_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/table_client.h"
#include "query/plan/bind.h"
#include "yson/node.h"

namespace moraine::client {

inline constexpr std::uint64_t kSelectInputRowsDefault = 1'000'000'000;
inline constexpr std::uint64_t kSelectOutputRowsDefault = 1'000'000;

// Opens a table by its path in the text of a query.
using OpenTableOfQuery = std::function<Task<Result<std::shared_ptr<const Table>>>(std::string)>;

struct SelectOptions {
  OpenTableOfQuery open_table{};  // Empty: paths are those of the scheme. Used by select() only.
  query::BindOptions bind;        // `placeholders` outlives the call of select() only.
  Timestamp timestamp = kSyncLastCommitted;
  Timestamp retention_timestamp = kNullTimestamp;
  std::uint64_t input_rows_max = kSelectInputRowsDefault;
  std::uint64_t output_rows_max = kSelectOutputRowsDefault;
  std::size_t ranges_max = 200'000;
  std::size_t memory_bytes_max = std::size_t{1} << 30;
  // Tables have a column "$timestamp:NAME" (uint64) for each value column: when the value was
  // written. Tables that use one are read row by row.
  bool latest_timestamps = false;
  bool allow_full_scan = true;
  // False: a query over a limit of rows returns what it has.
  bool fail_on_incomplete_result = true;
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  bool columnar = true;  // False: rows are merged one by one (tests compare both).
  // False: ranges and filters of conditions are left to the executor (tests).
  bool pushdown = true;
  std::size_t lanes_max = ~std::size_t{0};  // Parts that run at once.
  bool analyze = false;  // explain() also runs the query, and has rows and time of each step.
};

struct SelectStatistics {
  std::uint64_t rows_read = 0;   // Also those that conditions left out.
  std::uint64_t bytes_read = 0;  // Of the blocks that were read, unpacked.
  std::uint64_t blocks_read = 0;
  std::uint64_t blocks_skipped = 0;  // Whose values or timestamps exclude all rows.
  std::uint64_t rows_merged = 0;     // Read one by one from several stores.
  std::uint64_t rows_written = 0;
  std::uint64_t rows_grouped = 0;
  std::uint64_t memory_bytes = 0;  // The most at one time.
  std::uint64_t ranges = 0;
  std::uint64_t parts = 0;  // Pieces of ranges that were read independently.
  bool full_scan = false;
  bool incomplete_input = false;
  bool incomplete_output = false;
  std::chrono::nanoseconds read_time{0};
  std::chrono::nanoseconds execute_time{0};
  std::chrono::nanoseconds total_time{0};
};

// The answer of a query, in batches.
class Selection {
 public:
  virtual ~Selection() = default;
  virtual const std::vector<query::PlanColumn>& columns() const = 0;
  // False: no more rows. Texts of the batch live until the next call.
  virtual Task<Result<bool>> next(ScanBatch& batch) = 0;
  // Complete once next() has returned false.
  virtual const SelectStatistics& statistics() const = 0;
  // next() fails with kAborted soon, on any thread.
  virtual void cancel() = 0;
};

// Plans the query; rows are read by next(). Reads of a transaction have its start as timestamp.
Task<Result<std::unique_ptr<Selection>>> select(TableClient& client, std::string query,
                                                SelectOptions options);

// The plan with its ranges, without running it: the answer of explain_query.
Task<Result<YsonNode>> explain(TableClient& client, std::string query, SelectOptions options);

}  // namespace moraine::client
