// BootTurns: bounds how many tablets of one group boot concurrently. Groups do not wait for each
// other: one that does not answer delays its own tablets only.
//
// Threading  The control lane.
// Tests      tables_boot_test.cpp, stored_topics_test.cpp.
#pragma once

#include <map>
#include <type_traits>

#include "io/sync.h"
#include "tablet/tablet_info.h"

namespace moraine {

class BootTurns {
 public:
  BootTurns(Executor& executor, std::size_t per_group)
      : executor_(executor), per_group_(per_group) {}

  // The result of `boot`, called from a callback when there is a turn for the tablet.
  template <class Boot>
  std::invoke_result_t<Boot&> run(GroupId group, Boot boot) {
    Semaphore& turns = groups_.try_emplace(group, executor_, per_group_).first->second;
    co_await turns.acquire();
    co_await yield(executor_);
    auto booted = co_await boot();
    turns.release();
    co_return booted;
  }

 private:
  Executor& executor_;
  const std::size_t per_group_;
  std::map<GroupId, Semaphore> groups_;
};

}  // namespace moraine
