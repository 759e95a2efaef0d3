#include "table/tablet/seeded_bug.h"

#include <array>

namespace moraine::table {

std::span<const SeededBug> all_seeded_bugs() {
  using enum SeededBug;
  static constexpr std::array kAll = {kCommitBeforePrepareDurable,
                                      kTimestampGoesBack,
                                      kConflictForgottenAtFlush,
                                      kTombstoneDroppedEarly,
                                      kRowCacheNotUpdated,
                                      kFoldPastSnapshot,
                                      kAckBeforeDurable,
                                      kPreparedForgotten,
                                      kReadersDoNotWait,
                                      kLockGroupIgnored,
                                      kFlushLosesTail,
                                      kOutcomeGuessed,
                                      kGroupLocksNotTaken,
                                      kReshardLosesPivot,
                                      kRetiredTooEarly,
                                      kDeletedUnheard};
  return kAll;
}

std::string_view to_string(SeededBug bug) {
  switch (bug) {
    case SeededBug::kNone: return "none";
    case SeededBug::kCommitBeforePrepareDurable: return "commit-before-prepare-durable";
    case SeededBug::kTimestampGoesBack: return "timestamp-goes-back";
    case SeededBug::kConflictForgottenAtFlush: return "conflict-forgotten-at-flush";
    case SeededBug::kTombstoneDroppedEarly: return "tombstone-dropped-early";
    case SeededBug::kRowCacheNotUpdated: return "row-cache-not-updated";
    case SeededBug::kFoldPastSnapshot: return "fold-past-snapshot";
    case SeededBug::kAckBeforeDurable: return "ack-before-durable";
    case SeededBug::kPreparedForgotten: return "prepared-forgotten";
    case SeededBug::kReadersDoNotWait: return "readers-do-not-wait";
    case SeededBug::kLockGroupIgnored: return "lock-group-ignored";
    case SeededBug::kFlushLosesTail: return "flush-loses-tail";
    case SeededBug::kOutcomeGuessed: return "outcome-guessed";
    case SeededBug::kGroupLocksNotTaken: return "group-locks-not-taken";
    case SeededBug::kReshardLosesPivot: return "reshard-loses-pivot";
    case SeededBug::kRetiredTooEarly: return "retired-too-early";
    case SeededBug::kDeletedUnheard: return "deleted-unheard";
  }
  return "unknown";
}

}  // namespace moraine::table
