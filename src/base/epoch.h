// Epochs: memory that readers on any thread may use is freed when the last of them has finished.
//
//   EpochGuard guard;                       // reader: a few nanoseconds, never waits
//   const View* view = published.load();
//
//   const View* old = published.exchange(next);
//   retire([old] { delete old; });          // writer
//
// Promise    An object that a guard's thread could load before the object was retired lives until
//            that guard ends. Guards nest.
// Threading  Any thread. Retired callbacks run on some thread that calls retire() or
//            run_retired(), under no lock, and must not take a guard that they wait on.
// Limits     Any number of threads: memory is one cache line for each of the largest number of
//            threads that ever held guards at once. Past kRetiredMax retired callbacks every
//            retire() looks for callbacks to run; it never waits for readers.
// Traps      A guard must not live across a co_await.
// Tests      epoch_test.cpp, epoch_threads_test.cpp.
#pragma once

#include <cstddef>
#include <functional>

namespace moraine {

inline constexpr std::size_t kRetiredMax = 65'536;

class EpochGuard {
 public:
  EpochGuard();
  ~EpochGuard();
  EpochGuard(const EpochGuard&) = delete;
  EpochGuard& operator=(const EpochGuard&) = delete;
};

void retire(std::move_only_function<void()> free);
// Runs the callbacks that may run now; true when none is left. For tests and for shutting down.
bool run_retired();

}  // namespace moraine
