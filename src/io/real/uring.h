// Uring: the io_uring of one lane.
//
// Promise    Operations are submitted with few system calls: when kSubmitEarly are prepared, at
//            once when the caller asks for it, and otherwise by the next turn(). Completions run
//            inside turn().
// Invariants An operation stays at its address until it completes.
// Threading  Created and used by one thread only; another thread may destroy it after that. No
//            operation except polls may be in flight at destruction.
// Limits     kUringEntries prepared operations; past it they are submitted early.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "io/executor.h"

struct io_uring;
struct io_uring_sqe;

namespace moraine {

inline constexpr unsigned kUringEntries = 256;
inline constexpr unsigned kUringCompletions = 4096;
inline constexpr unsigned kSubmitEarly = 8;

struct UringOperation {
  // `result` is what the system call would have returned, or a negative errno.
  void (*complete)(UringOperation& self, int result) = nullptr;
};

class Uring {
 public:
  // kUnsupported when the kernel has no io_uring, forbids it, or lacks what is used here.
  static Result<std::unique_ptr<Uring>> create();
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // An entry for the caller to fill by an io_uring_prep_*() call and then to pass to commit().
  io_uring_sqe* next_entry();
  void commit(io_uring_sqe* entry, UringOperation& operation, bool at_once = false);

  // Submits what is prepared, waits up to `wait` for a completion (not at all when zero, without
  // limit when Duration::max()) and runs the completions that have arrived. Completions past
  // kCompletionsPerTurn wait for the next turn.
  void turn(Duration wait);

 private:
  static constexpr unsigned kCompletionsPerTurn = 128;

  explicit Uring(std::unique_ptr<io_uring> ring);
  void enter(Duration wait);

  std::unique_ptr<io_uring> ring_;
};

}  // namespace moraine
