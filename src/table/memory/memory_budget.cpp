#include "table/memory/memory_budget.h"

#include <algorithm>

#include "base/invariant.h"

namespace moraine::table {

struct MemoryBudget::Share::State {
  explicit State(Executor& its_executor) : executor(its_executor) {}

  Executor& executor;
  std::mutex mutex;              // Held while shrink is called: a share does not end meanwhile.
  std::function<void()> shrink;  // Guarded by mutex; null after the end of the share.
  // Written by the owner.
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> freeable{0};
  std::atomic<std::uint64_t> rank{0};
  // Guarded by the budget's mutex.
  bool asked = false;
  std::uint64_t expected = 0;  // Bytes that it will free.
};

MemoryBudget::Share::Share(MemoryBudget* budget, Executor& executor, std::function<void()> shrink)
    : budget_(budget), state_(std::make_shared<State>(executor)) {
  state_->shrink = std::move(shrink);
  if (budget_ == nullptr) return;
  const std::lock_guard lock(budget_->mutex_);
  budget_->shares_.push_back(state_);
}

MemoryBudget::Share::~Share() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->shrink = nullptr;
  }
  if (budget_ == nullptr) return;
  const std::lock_guard lock(budget_->mutex_);
  std::erase(budget_->shares_, state_);
  budget_->bytes_.fetch_sub(state_->bytes.load(std::memory_order_relaxed),
                            std::memory_order_relaxed);
  // What it was to free is no longer expected: compared again at the next growth.
  budget_->ask_above_.store(budget_->mark_, std::memory_order_relaxed);
}

void MemoryBudget::Share::set(const Usage& usage) {
  if (budget_ == nullptr) return;
  state_->freeable.store(usage.freeable, std::memory_order_relaxed);
  state_->rank.store(usage.rank, std::memory_order_relaxed);
  const std::uint64_t bytes =
      (usage.bytes + kShareStepBytes - 1) / kShareStepBytes * kShareStepBytes;
  const std::uint64_t before = state_->bytes.load(std::memory_order_relaxed);
  if (bytes == before) return;
  state_->bytes.store(bytes, std::memory_order_relaxed);
  if (bytes < before) {
    budget_->bytes_.fetch_sub(before - bytes, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t more = bytes - before;
  const std::uint64_t sum = budget_->bytes_.fetch_add(more, std::memory_order_relaxed) + more;
  if (sum > budget_->ask_above_.load(std::memory_order_relaxed)) budget_->ask();
}

void MemoryBudget::Share::answer() {
  if (budget_ == nullptr) return;
  const std::lock_guard lock(budget_->mutex_);
  state_->asked = false;
  state_->expected = 0;
  budget_->ask_locked();
}

void MemoryBudget::Share::decline() {
  if (budget_ == nullptr) return;
  const std::lock_guard lock(budget_->mutex_);
  state_->asked = true;
  state_->expected = 0;
  budget_->ask_locked();
}

MemoryBudget::MemoryBudget(std::uint64_t mark, std::uint64_t bytes_max)
    : mark_(mark), bytes_max_(bytes_max), ask_above_(mark) {
  INVARIANT(mark <= bytes_max, "the mark {} is above the limit {}", mark, bytes_max);
}

MemoryBudget::~MemoryBudget() {
  INVARIANT(shares_.empty(), "a budget is destroyed before {} of its shares", shares_.size());
}

void MemoryBudget::ask() {
  const std::lock_guard lock(mutex_);
  ask_locked();
}

// Shares that may be asked, by index; the highest rank first, of equal ones the oldest.
std::vector<std::size_t> MemoryBudget::by_rank() const {
  if (shares_.empty()) return {};
  const std::uint64_t least = bytes_max_ / kSmallShareParts / shares_.size();
  // Ranks may change meanwhile: each is read once.
  std::vector<std::pair<std::uint64_t, std::size_t>> ranked;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const Share::State& share = *shares_[i];
    if (share.asked || share.freeable.load(std::memory_order_relaxed) == 0) continue;
    if (share.bytes.load(std::memory_order_relaxed) < least) continue;
    ranked.emplace_back(~share.rank.load(std::memory_order_relaxed), i);
  }
  std::ranges::sort(ranked);
  std::vector<std::size_t> indexes;
  for (const auto& [rank, index] : ranked) indexes.push_back(index);
  return indexes;
}

void MemoryBudget::ask_locked() {
  const std::uint64_t sum = bytes();
  std::uint64_t expected = 0;
  for (const StatePtr& share : shares_) {
    expected += std::min(share->expected, share->bytes.load(std::memory_order_relaxed));
  }
  if (sum > mark_ + expected) {
    for (const std::size_t index : by_rank()) {
      if (sum <= mark_ + expected) break;
      const StatePtr& share = shares_[index];
      share->asked = true;
      share->expected = share->freeable.load(std::memory_order_relaxed);
      expected += share->expected;
      asked_.fetch_add(1, std::memory_order_relaxed);
      share->executor.post([share] { call_shrink(*share); });
    }
  }
  // When all were asked, they are compared again only after some growth.
  const std::uint64_t pause = bytes_max_ / kPressureParts;
  const bool enough = sum <= mark_ + expected;
  ask_above_.store(enough ? mark_ + expected : sum + pause, std::memory_order_relaxed);
}

void MemoryBudget::call_shrink(Share::State& state) {
  const std::lock_guard lock(state.mutex);
  if (state.shrink) state.shrink();
}

}  // namespace moraine::table
