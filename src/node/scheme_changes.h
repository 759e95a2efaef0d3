// SchemeChanges: the changes of one kind of nodes of the scheme, one at a time.
//
// Threading  The control lane.
// Limits     kSchemeChangesMax waiting; kOverloaded beyond.
// Tests      stored_topics_test.cpp, stored_tables_test.cpp.
#pragma once

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "base/result.h"
#include "io/sync.h"
#include "scheme/scheme.h"

namespace moraine {

class SchemeChanges {
 public:
  explicit SchemeChanges(Executor& executor) : turn_(executor, 1) {}

  // The result of `change`, called when it is its turn.
  template <class Change>
  std::invoke_result_t<Change&> run(Change change) {
    if (turn_.waiting() >= kSchemeChangesMax) {
      co_return fail(Errc::kOverloaded, fmt::format("{} changes are waiting", turn_.waiting()));
    }
    co_await turn_.acquire();
    auto done = co_await change();
    turn_.release();
    co_return done;
  }

 private:
  Semaphore turn_;
};

// Another incarnation of the scheme has taken over: the caller gets kUnavailable.
template <class T>
Result<T> unless_superseded(Result<T> done) {
  if (!done && done.error().code == Errc::kConflict) done.error().code = Errc::kUnavailable;
  return done;
}

}  // namespace moraine
