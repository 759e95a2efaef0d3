#include "io/real/thread_priority.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace moraine {
namespace {

constexpr std::int32_t kNice = 10;
// A long time slice: threads with shorter slices preempt this one before its slice ends.
constexpr std::uint64_t kSliceNanoseconds = 50'000'000;

// The first version of the sched_setattr(2) argument.
struct SchedulerAttributes {
  std::uint32_t size = sizeof(SchedulerAttributes);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = kNice;
  std::uint32_t priority = 0;
  std::uint64_t runtime = kSliceNanoseconds;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(SchedulerAttributes) == 48);

}  // namespace

void lower_thread_priority() {
  const SchedulerAttributes attributes;
  (void)syscall(SYS_sched_setattr, 0, &attributes, 0u);
}

}  // namespace moraine
