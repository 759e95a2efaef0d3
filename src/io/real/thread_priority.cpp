#include "io/real/thread_priority.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace moraine {
namespace {

constexpr std::int32_t kNice = 10;
// Of the longest turns: threads with shorter ones need not wait for its end.
constexpr std::uint64_t kTurnNanoseconds = 50'000'000;

// The first version of what sched_setattr(2) takes.
struct SchedulerWish {
  std::uint32_t size = sizeof(SchedulerWish);
  std::uint32_t policy = SCHED_OTHER;
  std::uint64_t flags = 0;
  std::int32_t nice = kNice;
  std::uint32_t priority = 0;
  std::uint64_t runtime = kTurnNanoseconds;
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(SchedulerWish) == 48);

}  // namespace

void give_way() {
  const SchedulerWish wish;
  (void)syscall(SYS_sched_setattr, 0, &wish, 0u);
}

}  // namespace moraine
