// DiskEngine: carries out single disk operations, by io_uring or by a pool of threads.
//
// Promise    Every request is completed exactly once, on the lane, never inside submit().
// Invariants A request, its pieces and their memory stay at their addresses until it completes.
// Threading  The lane's thread.
#pragma once

#include <sys/uio.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "io/real/lane.h"
#include "io/real/uring.h"

namespace moraine {

struct DiskRequest : UringOperation {
  enum class Kind : std::uint8_t { kRead, kWrite, kWriteDurable, kSync, kAllocate, kDiscard };

  Kind kind = Kind::kRead;
  int fd = -1;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // kAllocate and kDiscard only.
  // One piece for a read, 1..IOV_MAX for a write.
  iovec* pieces = nullptr;
  unsigned pieces_count = 0;

  int result = 0;  // As the system call, or a negative errno.
  std::coroutine_handle<> waiter;
};

class DiskEngine {
 public:
  virtual ~DiskEngine() = default;
  virtual void submit(DiskRequest& request) = 0;
};

// co_await perform(engine, request): submits it and returns its result.
inline auto perform(DiskEngine& engine, DiskRequest& request) {
  struct Awaiter {
    DiskEngine& engine;
    DiskRequest& request;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) {
      request.waiter = self;
      engine.submit(request);
    }
    int await_resume() const noexcept { return request.result; }
  };
  return Awaiter{engine, request};
}

// Requires: lane.uring() is not null.
std::unique_ptr<DiskEngine> make_uring_disk_engine(Lane& lane);
// Destroying it joins its threads; requires that no request is in flight.
std::unique_ptr<DiskEngine> make_thread_disk_engine(Lane& lane);

}  // namespace moraine
