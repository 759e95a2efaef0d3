#include "io/real/os_random.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/invariant.h"

namespace moraine {

std::uint64_t OsRandom::next() {
  if (used_ == batch_.size()) {
    // Up to 256 bytes are returned whole; during early boot the call blocks.
    static_assert(sizeof(batch_) <= 256);
    ssize_t count = 0;
    do {
      count = getrandom(batch_.data(), sizeof(batch_), 0);
    } while (count < 0 && errno == EINTR);
    INVARIANT(count == sizeof(batch_), "getrandom: {}", std::strerror(errno));
    used_ = 0;
  }
  const std::uint64_t value = batch_[used_];
  batch_[used_++] = 0;
  return value;
}

}  // namespace moraine
