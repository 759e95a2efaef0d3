#include "base/thread_counters.h"

#include <limits>
#include <mutex>
#include <vector>

namespace moraine::detail {
namespace {

// A thread that has ended, while its last objects are destroyed, uses the shared shard.
constexpr std::uint32_t kEndedThread = std::numeric_limits<std::uint32_t>::max();

// Lives as long as the process: threads may end after static objects.
struct Numbers {
  std::mutex mutex;
  std::vector<std::uint32_t> free;
  std::uint32_t next = 0;
};

Numbers& numbers() {
  static auto* all = new Numbers();
  return *all;
}

// The mutex orders what the last owner of a number wrote before what the next one reads.
struct OwnNumber {
  OwnNumber() {
    Numbers& all = numbers();
    const std::lock_guard lock(all.mutex);
    if (all.free.empty()) {
      number = all.next++;
    } else {
      number = all.free.back();
      all.free.pop_back();
    }
  }
  ~OwnNumber() {
    thread_number_plus_one = kEndedThread;
    Numbers& all = numbers();
    const std::lock_guard lock(all.mutex);
    all.free.push_back(number);
  }
  OwnNumber(const OwnNumber&) = delete;
  OwnNumber& operator=(const OwnNumber&) = delete;
  std::uint32_t number = 0;
};

}  // namespace

std::uint32_t assign_thread_number() {
  thread_local const OwnNumber own;
  thread_number_plus_one = own.number + 1;
  return own.number;
}

}  // namespace moraine::detail
