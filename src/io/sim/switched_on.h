// SwitchedOn: a seeded bug (base/seeded_bug.h) is on as long as this object lives.
//
// Invariants Bugs of one enum are switched on one after the other, not inside each other; kNone
//            changes nothing.
// Threading  The thread of the simulation.
#pragma once

#include "base/invariant.h"
#include "base/seeded_bug.h"

namespace moraine {

template <class Bug>
class SwitchedOn {
 public:
  explicit SwitchedOn(Bug bug) : bug_(bug) {
    if (bug == Bug{}) return;
    INVARIANT(SeededBugs<Bug>::on_ == Bug{}, "two bugs are switched on at once");
    SeededBugs<Bug>::on_ = bug;
  }
  SwitchedOn(const SwitchedOn&) = delete;
  SwitchedOn& operator=(const SwitchedOn&) = delete;
  ~SwitchedOn() {
    if (bug_ != Bug{}) SeededBugs<Bug>::on_ = Bug{};
  }

 private:
  const Bug bug_;
};

}  // namespace moraine
