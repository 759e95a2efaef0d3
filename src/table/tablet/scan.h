// Scans: visible rows of a key range in batches of columns.
//
// The range is cut into segments. Where one chunk of the scan format has all the rows, it is read
// column by column; elsewhere the rows of all stores are merged.
//
// Promise    As TabletScan. One call looks at kRowsPerCallMax rows at most: it may give a batch
//            without rows, and the scan goes on.
// Tests      tablet_scan_test.cpp.
#pragma once

#include "table/tablet/gone_range.h"
#include "table/tablet/tablet_reader.h"

namespace moraine::table {

inline constexpr std::size_t kRowsPerCallMax = 65'536;

// All outlive the scan.
struct ScanSources {
  Executor& executor;
  const ViewHolder& views;
  UndecidedRows& undecided;
  BlobReader& blobs;
  ReadStatistics& statistics;
  Duration undecided_timeout = 10s;
  std::shared_ptr<GoneRange> gone{};  // May be null.
};

Result<std::unique_ptr<TabletScan>> open_scan(ScanRequest request, const ScanSources& sources);

}  // namespace moraine::table
