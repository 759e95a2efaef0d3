// Reads of a tablet that runs here, as TabletReads says.
//
// Threading  The tablet's executor.
// Tests      tablet_forms_test.cpp.
#pragma once

#include "table/tablet/table_tablet.h"
#include "transaction/tablet_reads.h"

namespace moraine {

// The tablet and what the request refers to outlive the calls.
Task<Result<void>> read_rows(const table::TableTablet& tablet, SchemaPtr schema,
                             table::LookupRequest request, Rowset& rows, Instant deadline);
Task<Result<table::OwnedVersionedRow>> read_versions(const table::TableTablet& tablet,
                                                     SchemaPtr schema, std::string key,
                                                     Timestamp timestamp, Instant deadline);
Task<Result<ScanPage>> read_page(const table::TableTablet& tablet, SchemaPtr schema,
                                 table::ScanRequest request, Instant deadline);

}  // namespace moraine
