// Scans: visible rows of a key range in batches of columns.
//
// The range is cut into scan segments. Where chunks of the scan format have rows, these are read
// column by column, and merged with those of other stores (column_merge.h). Where one chunk of the
// lookup format has all rows, they become columns without being merged; elsewhere the rows of all
// stores are merged.
//
// Promise    As TabletScan. One call visits at most kRowsPerCallMax rows: it may return a batch
//            without rows, and the scan continues.
// Tests      tablet_scan_test.cpp.
#pragma once

#include "table/tablet/read/deleted_range.h"
#include "table/tablet/read/tablet_reader.h"

namespace moraine::table {

inline constexpr std::size_t kRowsPerCallMax = 65'536;

// All must outlive the scan.
struct ScanSources {
  Executor& executor;
  const ViewHolder& views;
  UndecidedRows& undecided;
  BlobReader& blobs;
  ReadStatistics& statistics;
  Duration undecided_timeout = 10s;
  std::shared_ptr<DeletedRange> deleted_range{};  // May be null.
};

Result<std::unique_ptr<TabletScan>> open_scan(ScanRequest request, const ScanSources& sources);

}  // namespace moraine::table
