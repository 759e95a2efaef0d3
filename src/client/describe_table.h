// describe_table: a table with its options, its tablets and their statistics, for users to read.
//
// Threading  That of `tables`: any lane for LaneTables. `tables` outlives the call.
// Errors     Those of Tables.
// Tests      embed/: database_test.cpp, maintenance_options_test.cpp.
#pragma once

#include <string>

#include "client/tables.h"
#include "moraine/table_report.h"

namespace moraine::client {

// `path`: of the scheme.
Task<Result<TableReport>> describe_table(Tables& tables, std::string path);

}  // namespace moraine::client
