// ChannelGarbage: which flags and which barrier a channel needs next. Pure bookkeeping.
//
// Promise    A blob that is alive when a barrier passes it has its Keep flag in the same command. A
//            deleted blob gets DoNotKeep if it ever had Keep, and nothing if a barrier takes it
//            anyway.
#pragma once

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
  // All up to `at` is dead, and has no flag: the barrier alone has to move.
  void passed(GenStep at);
  bool wanted() const { return dirty_; }

  struct Command {
    std::vector<BlobId> keep;
    std::vector<BlobId> do_not_keep;
  };
  // What to send with a barrier at `barrier`; call done() when it was carried out.
  Command next(GenStep barrier) const;
  void done(const Command& command, GenStep barrier);

 private:
  GenStep highest_deleted_;  // Of blobs without a flag: a barrier there takes them.
  std::set<BlobId> fresh_;   // Alive, above the last barrier.
  std::set<BlobId> kept_;    // Alive, below it.
  std::set<BlobId> doomed_;  // Deleted, with a Keep flag to be taken back.
  bool dirty_ = false;       // Something was deleted since the last command.
};

}  // namespace moraine
