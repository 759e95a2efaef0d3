// Bugs on demand (base/seeded_bug.h) of tables: in each one line is deliberately left out.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/seeded_bug.h"

namespace moraine::table {

enum class SeededBug : std::uint8_t {
  kNone = 0,
  kCommitBeforePrepareDurable,  // A participant answers before its prepare is in the log.
  kTimestampGoesBack,           // The ceiling is not kept over restarts.
  kConflictForgottenAtFlush,    // A flush drops lock history and leaves the horizon.
  kTombstoneDroppedEarly,       // Compaction drops tombstones above older data.
  kRowCacheNotUpdated,          // A flush does not update cached rows.
  kFoldPastSnapshot,            // Deltas are folded although a snapshot lies between them.
  kAckBeforeDurable,            // A commit is applied and answered before its log entry is durable.
  kPreparedForgotten,           // Snapshots omit prepared transactions.
  kReadersDoNotWait,            // Sync readers do not wait for prepared rows.
  kLockGroupIgnored,            // Read locks are not checked against writers.
  kFlushLosesTail,              // A flush does not wait for unconfirmed commits of its store.
  kOutcomeGuessed,      // A coordinator that has no record of an undecided transaction commits it.
  kGroupLocksNotTaken,  // Writers take no locks of lock groups.
  kReshardLosesPivot,  // A tablet takes over the keys above its pivot key, but not that key itself.
  kRetiredTooEarly,    // Tablets that others borrow blobs from are deleted.
  kDeletedUnheard,     // Merges skip what tombstones cover, even if it was written after them.
};
std::span<const SeededBug> all_seeded_bugs();
std::string_view to_string(SeededBug bug);

}  // namespace moraine::table
