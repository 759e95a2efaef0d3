// TabletReads: how readers reach the tablets of tables, wherever they run. A read has one meaning
// and three forms:
//
//   same lane, and what is in memory  plain calls of OpenRange::running (client/lookup.h, scan.h)
//   other lane                        LocalTablets: a hop to the tablet's lane and back
//   other node                        RemoteTablets: a message
//
// Fragments of query plans, once there are any, are a call beside lookup() and scan(), with the
// same forms.
//
// Promise    As TabletReader. A scan is read in pages, and the position of the next page is a key:
//            the tablet keeps nothing between two pages. Each page is read anew at the timestamp of
//            the request, so a timestamp that has left the tablet's retention since fails a scan
//            that is continued. Reads change nothing and may be repeated.
// Threading  Any lane; the result is returned on the caller's.
// Limits     A page has at most kPageRowsMax rows, and kPageBytesMax unless it is one row. It ends,
//            maybe without rows, when it was read for kPageReadTime or half of the time until the
//            deadline, so that a scan that finds nothing for long moves on.
// Errors     Those of TabletReader. kNotHere: the tablet does not run where it was called.
//            kTimeout: the deadline has passed; of a scan: and its position has not moved.
//            kInvalidArgument: the schema is not that of the tablet, or the request does not fit
//            it.
// Tests      tablet_forms_test.cpp.
#pragma once

#include <memory>
#include <string>

#include "moraine/rowset.h"
#include "table/tablet/read/tablet_reader.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kPageRowsMax = 10'000;
inline constexpr std::size_t kPageBytesMax = std::size_t{4} << 20;
inline constexpr Duration kPageReadTime = 5s;

using SchemaPtr = std::shared_ptr<const TableSchema>;

struct ScanPage {
  table::ColumnBatch batch;  // Its memory has all texts.
  std::string next;          // Where the next page begins. Empty: the range has no more rows.
};

// `schema` is that of the request's columns and keys; null: it is not compared with the tablet's.
class TabletReads {
 public:
  virtual ~TabletReads() = default;
  // What the request refers to, and `rows`, outlive the call.
  virtual Task<Result<void>> lookup(TabletId tablet, SchemaPtr schema, table::LookupRequest request,
                                    Rowset& rows, Instant deadline) = 0;
  // All versions of a row at or below the timestamp.
  virtual Task<Result<table::OwnedVersionedRow>> lookup_versions(TabletId tablet, SchemaPtr schema,
                                                                 std::string key,
                                                                 Timestamp timestamp,
                                                                 Instant deadline) = 0;
  // The first page of the request's range. Texts of its filters outlive the call.
  virtual Task<Result<ScanPage>> scan(TabletId tablet, SchemaPtr schema, table::ScanRequest request,
                                      Instant deadline) = 0;
};

}  // namespace moraine
