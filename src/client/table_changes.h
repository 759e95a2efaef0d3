// Changes of tables that need more than one call of Tables.
//
// Promise    Paths are those of the scheme (tables.h). Pivots are keys or prefixes of keys, given
//            as values of the table's key columns.
// Threading  That of `tables`: any lane for LaneTables. `tables` outlives the call.
// Errors     Those of Tables.
// Tests      embed/: refusals_test.cpp, database_test.cpp, table_rules_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "client/tables.h"
#include "moraine/value.h"

namespace moraine::client {

// `pivots` take the place of those in `table`.
Task<Result<void>> create_table(Tables& tables, std::string path, NewTable table,
                                std::vector<std::vector<Value>> pivots);
Task<Result<void>> reshard_table(Tables& tables, std::string path,
                                 std::vector<std::vector<Value>> pivots);
// Returns the resulting number of tablets.
Task<Result<std::size_t>> reshard_table(Tables& tables, std::string path, std::size_t tablets);

// Mounted tables only (kReadOnly): writes memory stores to chunks; compacts all chunks.
Task<Result<void>> flush_table(Tables& tables, std::string path);
Task<Result<void>> compact_table(Tables& tables, std::string path);
// Waits until flush and compaction have no work left.
Task<Result<void>> settle_table(Tables& tables, std::string path);

}  // namespace moraine::client
