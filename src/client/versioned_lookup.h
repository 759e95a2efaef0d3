// Lookups that return more than the newest values of rows: all versions, or the timestamps of the
// values.
//
// Promise    Row i answers key i. All keys are read at one timestamp; at kSyncLastCommitted and
//            kAsyncLastCommitted tablets may see different moments, as in lookup.h, except with
//            timestamps of values, which are read at a new timestamp.
// Threading  Any lane; the awaiting lane goes on. The calls hold the table; texts of keys outlive
//            the tasks.
// Limits     kLookupTimeout for each key of a tablet on another node.
// Errors     As lookup.h.
// Tests      node/versioned_lookup_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "client/lookup.h"

namespace moraine::client {

struct VersionedLookupOptions {
  Columns columns;  // Versions of others are left out; rows have all their timestamps.
  Timestamp timestamp = kSyncLastCommitted;        // Nothing newer is returned.
  Timestamp retention_timestamp = kNullTimestamp;  // Nothing older is returned.
  // Returns what compaction with these options would keep. nullopt: everything that is stored.
  std::optional<RetentionConfig> retention;
};

// A row that is deleted, or has no version of a wanted column, is found as long as it has a
// timestamp.
Task<Result<std::vector<VersionedResult>>> lookup_versions(std::shared_ptr<const Table> table,
                                                           std::vector<std::vector<Value>> keys,
                                                           VersionedLookupOptions options);

// A lookup, and for each cell of `rows`, row after row, the timestamp at which its value was
// written: of an aggregated column the newest one that was folded. 0: of key columns, nulls that
// nobody wrote, and missing rows. `rows` outlives the task.
Task<Result<std::vector<Timestamp>>> lookup_timestamps(std::shared_ptr<const Table> table,
                                                       std::vector<std::vector<Value>> keys,
                                                       ReadOptions options, bool in_transaction,
                                                       Rowset& rows);

}  // namespace moraine::client
