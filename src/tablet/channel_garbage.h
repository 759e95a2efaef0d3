// ChannelGarbage: which flags and which barrier a channel needs next. Pure bookkeeping.
//
// Promise    A blob that is alive when a barrier passes it has its Keep flag in the same command or
//            in an earlier one. A deleted blob gets DoNotKeep if it ever had Keep, and no flag if
//            the barrier collects it anyway.
// Limits     A command has as many flags as its caller allows; the rest are in later ones.
#pragma once

#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "tablet/tablet_info.h"

namespace moraine {

class ChannelGarbage {
 public:
  // A blob of a confirmed commit.
  void created(const BlobId& id) { fresh_.insert(id); }
  // A blob of an earlier incarnation: its Keep flag is set before any barrier passes it.
  void adopted(const BlobId& id) { kept_.insert(id); }
  void deleted(const BlobId& id);
  // Everything up to `at` is dead and has no flag: only the barrier has to move.
  void passed(GenStep at);
  bool wanted() const { return dirty_; }

  struct Command {
    std::vector<BlobId> keep;
    std::vector<BlobId> do_not_keep;
    // Not set: more commands with Keep flags are needed before the barrier may pass their blobs.
    std::optional<GenStep> barrier;

    std::size_t flags() const { return keep.size() + do_not_keep.size(); }
  };
  // The next command to reach a barrier at `barrier`, with at most `flags_max` flags; call done()
  // when it has succeeded. After a command with flags_max flags there may be more.
  Command next(GenStep barrier, std::size_t flags_max = std::numeric_limits<std::size_t>::max());
  void done(const Command& command);

 private:
  GenStep highest_deleted_;  // Of blobs without a flag: a barrier there collects them.
  std::set<BlobId> fresh_;   // Alive, above the last barrier.
  std::set<BlobId> sent_;    // Alive; a Keep flag was sent, and may or may not have arrived.
  std::set<BlobId> kept_;    // Alive, below the barrier.
  std::set<BlobId> doomed_;  // Deleted, with a Keep flag that DoNotKeep must override.
  bool dirty_ = false;       // Something was deleted since the last command.
};

}  // namespace moraine
