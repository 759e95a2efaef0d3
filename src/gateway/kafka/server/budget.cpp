#include "gateway/kafka/server/budget.h"

#include "base/invariant.h"

namespace moraine::kafka {

void ByteBudget::Lease::release() {
  if (budget_ == nullptr) return;
  ByteBudget& budget = *std::exchange(budget_, nullptr);
  if (std::exchange(overdraws_, false)) budget.overdrawn_ = false;
  budget.give(std::exchange(bytes_, 0));
}

void ByteBudget::Lease::settle(std::size_t bytes) {
  INVARIANT(budget_ != nullptr, "a lease of no budget");
  const std::size_t before = std::exchange(bytes_, bytes);
  if (bytes >= before) {
    budget_->used_ += bytes - before;
    return;
  }
  if (budget_->used_ - (before - bytes) <= budget_->limit_ && std::exchange(overdraws_, false)) {
    budget_->overdrawn_ = false;
  }
  budget_->give(before - bytes);
}

ByteBudget::~ByteBudget() {
  INVARIANT(waiting() == 0, "{} wait for a budget that is destroyed", waiting());
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

void ByteBudget::wait(Lease& lease, std::size_t bytes, std::coroutine_handle<> self) {
  waiting_bytes_ += bytes;
  queue_of(lease).push_back({&lease, bytes, self});
}

ByteBudget::Lease ByteBudget::force(std::size_t bytes) {
  Lease lease;
  lease.budget_ = this;
  lease.bytes_ = bytes;
  used_ += bytes;
  return lease;
}

void ByteBudget::give(std::size_t bytes) {
  INVARIANT(bytes <= used_, "{} bytes released of {}", bytes, used_);
  used_ -= bytes;
  serve(holding_);
  if (holding_.empty()) serve(fresh_);
}

void ByteBudget::serve(std::deque<Waiting>& queue) {
  while (!queue.empty() && try_grow(*queue.front().lease, queue.front().bytes)) {
    executor_.post([self = queue.front().self] { self.resume(); });
    waiting_bytes_ -= queue.front().bytes;
    queue.pop_front();
  }
}

}  // namespace moraine::kafka
