// BackgroundWork: long work on one executor of low priority, the most urgent first.
//
// Promise    Of the callbacks that wait, one of the most urgent runs next; those of one urgency run
//            in the order of posting, one at a time. A callback that runs is not interrupted: long
//            work yields on its executor, so that more urgent work comes between.
// Threading  of(), post() and waiting() on any thread. Timers run when they are due, whatever their
//            urgency.
// Limits     The posting code bounds the queues; waiting() lets it do the work elsewhere.
// Tests      background_work_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "io/executor.h"

namespace moraine {

enum class Urgency : std::uint8_t {
  kRequest,  // A client waits for it: unpacking, compressing.
  kFlush,    // Writers wait when it falls behind.
  kMerge,
};

class BackgroundWork {
 public:
  // `executor` outlives everything that is posted.
  explicit BackgroundWork(Executor& executor);
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  ~BackgroundWork();

  // Lives as long as the object; what was posted to it may run later than that.
  Executor& of(Urgency urgency);
  // Callbacks of this urgency that have not begun.
  std::size_t waiting(Urgency urgency) const;

 private:
  static constexpr std::size_t kUrgencies = 3;
  struct Queues;
  class Posts;

  const std::shared_ptr<Queues> queues_;
  std::array<std::unique_ptr<Posts>, kUrgencies> executors_;
};

}  // namespace moraine
