// Bugs on demand (base/seeded_bug.h) of the tree of clients: each breaks one rule of transactions,
// locks, mutations or expiry.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/seeded_bug.h"

namespace moraine {

enum class TreeBug : std::uint8_t {
  kNone,
  kAbortKeepsChanges,    // An aborted transaction is committed.
  kNestedCommitLeaks,    // The commit of a nested transaction is seen outside of all.
  kIgnoreLocks,          // No lock conflicts with another.
  kGrantAtOnce,          // Locks that wait get what others still have, when any lock ends.
  kRestartEndsLocks,     // Locks are gone after a restart of the scheme's tablet.
  kSnapshotSeesChanges,  // A node that a transaction has a snapshot of is shown as it is.
  kLeaseNeverEnds,       // Transactions without pings stay open.
  kForgetPings,          // Pings do not renew a lease.
  kForgetAnswers,        // Results of mutations are not remembered.
  kAnswersNotDurable,    // Results of mutations are in memory only.
  kRunRepeated,          // A repeated mutation gets its old result, and is made again.
  kIgnoreAccesses,       // expiration_timeout counts from the last change.
  kKeepExpired,          // Expired nodes are not removed.
  kShowUndurable,        // Changes are seen before they are durable.
};
std::span<const TreeBug> all_tree_bugs();
std::string_view to_string(TreeBug bug);

}  // namespace moraine
