// UnmountedTablets: tablets that are not mounted, booted for readers.
//
// Promise    A tablet runs while somebody reads it and kUnmountedIdle longer, until it is wanted
//            elsewhere: to be mounted, copied, resharded. Then it stops; who reads it at that time
//            reads on what its view has, as long as the blobs are there.
// Threading  The control lane; what open() returns is for readers on any thread.
// Limits     kUnmountedTabletsMax run at once. Others wait for kUnmountedWait.
// Errors     kOverloaded: none has become free. Those of the boot.
// Tests      unmounted_reads_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "io/event.h"
#include "node/lane_table.h"
#include "node/tablet_turns.h"

namespace moraine {

inline constexpr std::size_t kUnmountedTabletsMax = 16;
inline constexpr Duration kUnmountedIdle = 5s;
inline constexpr Duration kUnmountedWait = 30s;
inline constexpr Duration kUnmountedPoll = 50ms;  // Between looks whether a tablet is still read.

class UnmountedTablets {
 public:
  // Boots the tablet, which keeps its turn (LaneTable::keep_turn()).
  using Boot = std::function<Task<Result<std::unique_ptr<LaneTable>>>()>;

  // `turns` outlives the object.
  UnmountedTablets(Executor& executor, TabletTurns& turns) : executor_(executor), turns_(turns) {}

  // It runs at least while the result is held, but see above.
  Task<Result<std::shared_ptr<table::TableTablet>>> open(TabletId tablet, Boot boot);
  // Requests it to stop: later calls of open() boot it anew.
  void end(TabletId tablet);
  std::size_t size() const { return entries_.size(); }

  Task<void> stop();
  void abandon();

 private:
  struct Entry {
    explicit Entry(Executor& executor) : changed(executor) {}
    // Readers have this object by way of the tablet: nobody reads when it has one owner.
    std::shared_ptr<std::shared_ptr<table::TableTablet>> lease;
    std::shared_ptr<LaneTable> booted;
    std::optional<Error> error;
    bool ending = false;
    Event changed;
  };
  using EntryPtr = std::shared_ptr<Entry>;

  static bool is_read(const Entry& entry) { return entry.lease && entry.lease.use_count() > 1; }
  bool end_an_idle_one();
  Task<void> serve(TabletId tablet, EntryPtr entry, Boot boot);
  Task<void> keep(TabletId tablet, Entry& entry);

  Executor& executor_;
  TabletTurns& turns_;
  std::map<TabletId, EntryPtr> entries_;
  Event freed_{executor_};
  TaskScope scope_;
};

}  // namespace moraine
