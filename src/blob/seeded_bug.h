// Bugs on demand (base/seeded_bug.h) of blobs and tablets: each breaks one rule that the rest of
// the code keeps.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/seeded_bug.h"

namespace moraine::blob {

enum class SeededBug : std::uint8_t {
  kNone,
  kAckBeforeSync,        // A put answers before its record is durable.
  kIgnoreBlockOnPut,     // A disk takes writes of fenced generations.
  kForgetBlock,          // A block is not written to the log.
  kDropKeepInMerge,      // A Keep flag received by sync is lost.
  kLonelyBarrier,        // A soft barrier takes effect before a quorum has it.
  kBarrierBeforeFlags,   // The barrier of a collect takes effect without its flags.
  kSkipReplication,      // A replaced disk reports itself as replicated at once.
  kForgetTombstone,      // A DoNotKeep mark is dropped before all disks have it.
  kServeBeforeRecovery,  // A wiped disk acknowledges as if nothing had happened.
  kSkipForcedBlock,      // A forced read does not fence.
  kDropHandoffEarly,     // A handoff part is dropped before its main has it.
  kSkipChecksum,         // Corrupted data is served.
  kSkipOneQuorumMember,  // Proxy: a put needs one part less.
  kNoDataOnError,        // Proxy: an unreachable blob is reported as absent.
  kCountStaleAck,        // Proxy: acknowledgements of a wiped disk still count.
  kSkipTabletBlock,      // Tablet: a leader boots without blocking the generations before it.
  kSkipZeroEntry,        // Tablet: a leader boots without settling the end of the log.
  kCollectUnflagged,     // Tablet: leftovers are collected without Keep flags for what is alive.
};

inline constexpr int kSeededBugs = 19;
std::string_view to_string(SeededBug bug);

}  // namespace moraine::blob
