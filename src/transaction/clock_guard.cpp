#include "transaction/clock_guard.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace moraine {
namespace {

using std::chrono::milliseconds;

std::string date_of(milliseconds since_epoch) {
  constexpr milliseconds kShownMax = std::chrono::hours{24 * 365 * 7'000};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(std::min(since_epoch, kShownMax));
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<time_t>(seconds.count())));
}

std::string span_of(milliseconds span) {
  const auto hours = std::chrono::floor<std::chrono::hours>(span).count();
  return fmt::format("{} days {} hours", hours / 24, hours % 24);
}

Error refuse(milliseconds wall, milliseconds expected, milliseconds most) {
  return {Errc::kUnavailable,
          fmt::format("the wall clock says {}, {} ahead of {}, the time expected from the last "
                      "timestamps; at most {} are accepted. No timestamps are issued, and no rows "
                      "of tables expire by this clock: correct the clock, or confirm it "
                      "(accept_clock, docs/operations.md)",
                      date_of(wall), span_of(wall - expected), date_of(expected), span_of(most))};
}

}  // namespace

ClockGuard::ClockGuard(const WallClock& clock, const Executor& executor, ClockLimits limits)
    : clock_(clock), executor_(executor), limits_(limits), accepts_(limits.accept) {}

milliseconds ClockGuard::expected() const {
  return accepted_->time + std::chrono::floor<milliseconds>(executor_.now() - accepted_->at);
}

milliseconds ClockGuard::since_epoch() const {
  const std::lock_guard lock(mutex_);
  if (!accepted_) return milliseconds(0);
  const milliseconds wall = clock_.since_epoch();
  const milliseconds sum = expected();
  return wall - sum > limits_.jump_max ? sum : wall;
}

Result<void> ClockGuard::check(Timestamp durable) {
  const std::lock_guard lock(mutex_);
  const milliseconds wall = clock_.since_epoch();
  const milliseconds made = std::chrono::seconds(unix_seconds(durable));
  if (!accepted_) accepted_ = Accepted{durable == 0 ? wall : made, executor_.now()};
  const milliseconds sum = std::max(made, expected());
  const milliseconds most = started_ ? limits_.jump_max : limits_.jump_at_start_max;
  if (!accepts_ && wall - sum > most) {
    const bool reported = refusal_.has_value();
    refusal_ = refuse(wall, sum, most);
    if (!reported) log_warning("timestamps are refused", {{"why", refusal_->context}});
    return std::unexpected(*refusal_);
  }
  if (refusal_) log_info("timestamps are issued again", {{"clock", date_of(wall)}});
  refusal_.reset();
  accepts_ = false;
  started_ = true;
  accepted_ = Accepted{wall, executor_.now()};
  return {};
}

void ClockGuard::accept() {
  const std::lock_guard lock(mutex_);
  accepts_ = true;
}

std::optional<Error> ClockGuard::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

}  // namespace moraine
