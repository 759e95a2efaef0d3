#include "gateway/kafka/server/slow_readers.h"

#include <algorithm>
#include <utility>

#include "gateway/kafka/server/options.h"

namespace moraine::kafka {
namespace {

Duration patience(const ByteBudget& budget) {
  const auto limit = static_cast<double>(budget.limit());
  const double share = limit / (limit + static_cast<double>(budget.waiting_bytes()));
  const auto shorter = std::chrono::duration_cast<Duration>(kCrowdedStallTimeout * share);
  return std::max(shorter, Duration(kContendedStallTimeout));
}

// The bytes to free so that nothing waits and memory is not crowded.
std::size_t in_the_way(const ByteBudget& budget) {
  const std::size_t fair = budget.limit() / 2;
  return std::max(budget.waiting_bytes(), budget.used() - std::min(budget.used(), fair));
}

}  // namespace

void SlowReaders::Writer::begin(std::span<const ByteBudget::Lease> leases) {
  end();
  held_ = {};
  for (const ByteBudget::Lease& lease : leases) {
    if (lease.budget() != nullptr) held(*lease.budget()) += lease.bytes();
  }
  writing_ = true;
  progress_at_ = all_.executor_.now();
  at_ = all_.writers_.insert(all_.writers_.end(), this);
  all_.arm();
}

void SlowReaders::Writer::progressed() {
  if (!writing_) return;
  progress_at_ = all_.executor_.now();
  all_.writers_.splice(all_.writers_.end(), all_.writers_, at_);
}

void SlowReaders::Writer::end() {
  if (std::exchange(writing_, false)) all_.writers_.erase(at_);
}

void SlowReaders::arm() {
  if (std::exchange(armed_, true)) return;
  timer_ = executor_.schedule(executor_.now() + kSlowReadersPeriod, [this] { sweep(); });
}

void SlowReaders::sweep() {
  timer_ = {};
  armed_ = false;
  for (const ByteBudget* const budget : {&common_, &reserved_}) {
    const std::size_t bytes = in_the_way(*budget);
    const std::size_t freed = make_room(*budget, bytes, kProgressBytes);
    if (freed < bytes) make_room(*budget, bytes - freed, 1);
  }
  if (!writers_.empty()) arm();
}

std::size_t SlowReaders::make_room(const ByteBudget& budget, std::size_t bytes, std::size_t least) {
  const Instant now = executor_.now();
  const Duration stall = patience(budget);
  std::size_t freed = 0;
  for (auto next = writers_.begin(); next != writers_.end() && freed < bytes;) {
    Writer& writer = **next++;
    if (now - writer.progress_at_ < stall) break;
    if (writer.held(budget) < least) continue;
    freed += writer.held(budget);
    writer.end();
    writer.close_();
  }
  return freed;
}

}  // namespace moraine::kafka
