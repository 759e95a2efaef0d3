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

// The result of a change of the scheme for those who asked for it. When the incarnation of the
// scheme ended meanwhile, or another one has taken over, the change may have been made: such errors
// become kUnknownOutcome, and no caller repeats it by itself.
template <class T>
Result<T> with_outcome(Result<T> done) {
  const bool unknown =
      !done && (done.error().code == Errc::kUnavailable || done.error().code == Errc::kConflict);
  if (unknown) done.error().code = Errc::kUnknownOutcome;
  return done;
}

}  // namespace moraine
