#include "gateway/kafka/server/budget.h"

#include "base/invariant.h"

namespace moraine::kafka {

void ByteBudget::Lease::release() {
  if (budget_ != nullptr) std::exchange(budget_, nullptr)->give(*this);
}

ByteBudget::~ByteBudget() {
  INVARIANT(waiting() == 0, "{} wait for a budget that goes away", waiting());
}

bool ByteBudget::try_grow(Lease& lease, std::size_t bytes) {
  if (used_ > 0 && used_ + bytes > limit_ && !lease.overdraws_) {
    if (lease.bytes_ == 0 || overdrawn_) return false;
    lease.overdraws_ = overdrawn_ = true;
  }
  lease.budget_ = this;
  lease.bytes_ += bytes;
  used_ += bytes;
  return true;
}

bool ByteBudget::grow_now(Lease& lease, std::size_t bytes) {
  if (!lease.overdraws_ && !queue_of(lease).empty()) return false;
  return try_grow(lease, bytes);
}

ByteBudget::Lease ByteBudget::force(std::size_t bytes) {
  Lease lease;
  lease.budget_ = this;
  lease.bytes_ = bytes;
  used_ += bytes;
  return lease;
}

void ByteBudget::give(Lease& lease) {
  INVARIANT(lease.bytes_ <= used_, "{} bytes given back of {}", lease.bytes_, used_);
  used_ -= std::exchange(lease.bytes_, 0);
  if (std::exchange(lease.overdraws_, false)) overdrawn_ = false;
  serve(begun_);
  if (begun_.empty()) serve(fresh_);
}

void ByteBudget::serve(std::deque<Waiting>& queue) {
  while (!queue.empty() && try_grow(*queue.front().lease, queue.front().bytes)) {
    executor_.post([self = queue.front().self] { self.resume(); });
    queue.pop_front();
  }
}

}  // namespace moraine::kafka
