// Rebuilding a tablet's log from its blobs.
//
// Promise    The newest entry records which entries before it may not have been confirmed. Which
//            of those count is decided by restoring reads under the block of the new generation:
//            all up to the first that is missing, or lacks a blob that it refers to. Every older
//            entry is confirmed, so a missing one is an error and never skipped.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "io/world.h"
#include "tablet/groups.h"
#include "tablet/log_entry.h"
#include "tablet/tablet_info.h"

namespace moraine {

struct RebuiltEntry {
  GenStep at;
  std::vector<ByteChain> bodies;
};

struct RebuiltLog {
  GenStep last;      // The last accepted entry; (0, 0): the log is empty.
  GenStep snapshot;  // The entry of `pages`; (0, 0): there is no snapshot.
  std::vector<BlobId> page_ids;
  std::vector<Slice> pages;
  GenStep begin;  // First entry that was read: what the snapshot leaves out, or the snapshot.
  std::vector<RebuiltEntry> entries;  // From `begin` on, in order; without those that have no body.
  std::uint64_t log_bytes = 0;        // From the snapshot on.
};

// Reads the log as it is once generations up to `fence` cannot write any more: every disk that is
// read stores that block first.
Task<Result<RebuiltLog>> rebuild_log(World world, BlobGroups& groups, const TabletInfo& info,
                                     Generation fence, Duration timeout);

}  // namespace moraine
