// concatenate(): the rows of static tables, one table after the other, in another one.
//
// Promise    In one step: readers see all rows or none. Rows are checked against the schema of the
//            destination, by the names of their columns, and must be in the order of its keys. The
//            destination may be one of the sources.
// Threading  Any lane.
// Limits     kConcatenatedTablesMax tables; kBatchBytes of rows in memory, and a batch of a scan.
// Errors     kInvalidArgument: a table is dynamic; a row does not fit, with its table. Those of
//            Scan and of Tables::write_batches(). Nothing was written then.
// Tests      node/stored_tables_static_test.cpp.
#pragma once

#include <memory>
#include <vector>

#include "client/table.h"

namespace moraine::client {

inline constexpr std::size_t kBatchBytes = std::size_t{8} << 20;
inline constexpr std::size_t kConcatenatedTablesMax = 1'000;

using SharedTable = std::shared_ptr<const Table>;

Task<Result<void>> concatenate(std::vector<SharedTable> sources, SharedTable destination,
                               table::StaticWrite how);

}  // namespace moraine::client
