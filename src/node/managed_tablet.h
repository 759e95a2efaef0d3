// ManagedTablet: a tablet that TabletReconciler starts and stops, any number of times.
//
// Threading  The control lane.
#pragma once

#include <optional>

#include "base/result.h"
#include "io/executor.h"
#include "io/task.h"

namespace moraine {

class ManagedTablet {
 public:
  virtual ~ManagedTablet() = default;
  // Keeps it running from here on. Requires: it was not started, or stop() has ended.
  virtual void start() = 0;
  // Passes what its record says now to the running incarnation. Later ones have it anyway.
  virtual void configure() = 0;
  // Placement has another place for it than before. It is started and stopped by others.
  virtual void note_moved() {}
  virtual Task<void> stop() = 0;
  // Requests it to end, without waiting.
  virtual void abandon() = 0;
  // False: the deadline has passed, or it was stopped.
  virtual Task<bool> wait_running(Instant deadline) = 0;
  virtual bool running() const = 0;
  // Why the last boot failed. nullopt: it runs, or was not booted yet.
  virtual const std::optional<Error>& boot_error() const = 0;
};

}  // namespace moraine
