// Bugs on demand: deliberate mistakes that prove that the checkers of the simulator find real ones.
//
//   if (has_bug(SeededBug::kForgetBlock)) ...     // One line that the code otherwise keeps.
//
// Promise    Nothing but a simulation can switch one on: the only writer is `SwitchedOn`
//            (io/sim/switched_on.h), which scripts/check_layers keeps out of everything but sim/
//            and tests. A program without it has a constant zero here. No option, argument or
//            message carries a bug.
// Cost       One byte of a constant-initialised global, compared with a constant: no guard, no
//            call, a branch that is never taken. Still it is tested once per request or batch,
//            never per row or message.
// Threading  Read on any thread; written while no other thread runs.
#pragma once

namespace moraine {

template <class Bug>
class SwitchedOn;

// Bug is an enum whose kNone is 0; at most one bug of each enum is on.
template <class Bug>
class SeededBugs {
 public:
  static Bug on() { return on_; }

 private:
  friend class SwitchedOn<Bug>;
  static inline constinit Bug on_{};
};

template <class Bug>
bool has_bug(Bug bug) {
  return __builtin_expect(SeededBugs<Bug>::on() == bug, 0);
}

}  // namespace moraine
