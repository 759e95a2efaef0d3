#include "blob/seeded_bug.h"

namespace moraine::blob {

std::string_view to_string(SeededBug bug) {
  switch (bug) {
    case SeededBug::kNone: return "none";
    case SeededBug::kAckBeforeSync: return "ack-before-sync";
    case SeededBug::kIgnoreBlockOnPut: return "ignore-block-on-put";
    case SeededBug::kForgetBlock: return "forget-block";
    case SeededBug::kDropKeepInMerge: return "drop-keep-in-merge";
    case SeededBug::kLonelyBarrier: return "lonely-barrier";
    case SeededBug::kBarrierBeforeFlags: return "barrier-before-flags";
    case SeededBug::kSkipReplication: return "skip-replication";
    case SeededBug::kForgetTombstone: return "forget-tombstone";
    case SeededBug::kServeBeforeRecovery: return "serve-before-recovery";
    case SeededBug::kSkipForcedBlock: return "skip-forced-block";
    case SeededBug::kDropHandoffEarly: return "drop-handoff-early";
    case SeededBug::kSkipChecksum: return "skip-checksum";
    case SeededBug::kSkipOneQuorumMember: return "skip-one-quorum-member";
    case SeededBug::kNoDataOnError: return "nodata-on-error";
    case SeededBug::kCountStaleAck: return "count-stale-ack";
    case SeededBug::kSkipTabletBlock: return "skip-tablet-block";
    case SeededBug::kSkipZeroEntry: return "skip-zero-entry";
    case SeededBug::kCollectUnflagged: return "collect-unflagged";
  }
  return "unknown";
}

}  // namespace moraine::blob
