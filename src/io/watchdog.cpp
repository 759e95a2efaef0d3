#include "io/watchdog.h"

#include <algorithm>

namespace moraine {

void Watchdog::set(Deadline& deadline, Duration within, std::string_view reason) {
  deadline = {executor_.now() + within, reason};
  if (deadline.at < timer_at_) arm();
}

void Watchdog::arm() {
  if (timer_.value != 0) executor_.cancel(timer_);
  timer_ = {};
  timer_at_ = std::min(read_.at, write_.at);
  if (timer_at_ == Instant::never()) return;
  timer_ = executor_.schedule(timer_at_, [this] { fire(); });
}

void Watchdog::fire() {
  timer_ = {};
  timer_at_ = Instant::never();
  const Instant now = executor_.now();
  for (Deadline* const deadline : {&read_, &write_}) {
    if (deadline->at > now) continue;
    deadline->at = Instant::never();
    expired_(deadline->reason);
  }
  if (timer_at_ == Instant::never()) arm();
}

}  // namespace moraine
