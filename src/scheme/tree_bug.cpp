#include "scheme/tree_bug.h"

#include <array>

namespace moraine {

std::span<const TreeBug> all_tree_bugs() {
  using enum TreeBug;
  static constexpr std::array kAll = {
      kAbortKeepsChanges,   kNestedCommitLeaks, kIgnoreLocks, kGrantAtOnce,   kRestartEndsLocks,
      kSnapshotSeesChanges, kLeaseNeverEnds,    kForgetPings, kForgetAnswers, kAnswersNotDurable,
      kRunRepeated,         kIgnoreAccesses,    kKeepExpired, kShowUndurable};
  return kAll;
}

std::string_view to_string(TreeBug bug) {
  switch (bug) {
    case TreeBug::kNone: return "none";
    case TreeBug::kAbortKeepsChanges: return "abort-keeps-changes";
    case TreeBug::kNestedCommitLeaks: return "nested-commit-leaks";
    case TreeBug::kIgnoreLocks: return "ignore-locks";
    case TreeBug::kGrantAtOnce: return "grant-at-once";
    case TreeBug::kRestartEndsLocks: return "restart-ends-locks";
    case TreeBug::kSnapshotSeesChanges: return "snapshot-sees-changes";
    case TreeBug::kLeaseNeverEnds: return "lease-never-ends";
    case TreeBug::kForgetPings: return "forget-pings";
    case TreeBug::kForgetAnswers: return "forget-answers";
    case TreeBug::kAnswersNotDurable: return "answers-not-durable";
    case TreeBug::kRunRepeated: return "run-repeated";
    case TreeBug::kIgnoreAccesses: return "ignore-accesses";
    case TreeBug::kKeepExpired: return "keep-expired";
    case TreeBug::kShowUndurable: return "show-undurable";
  }
  return "unknown";
}

}  // namespace moraine
