#include "io/background_work.h"

#include <deque>
#include <mutex>

namespace moraine {

struct BackgroundWork::Queues {
  explicit Queues(Executor& its_executor) : executor(its_executor) {}

  // The most urgent callback. Requires: one waits.
  Callback take() {
    const std::lock_guard lock(mutex);
    for (std::deque<Callback>& queue : waiting) {
      if (queue.empty()) continue;
      Callback next = std::move(queue.front());
      queue.pop_front();
      return next;
    }
    return {};
  }

  Executor& executor;
  mutable std::mutex mutex;
  std::array<std::deque<Callback>, kUrgencies> waiting;  // Guarded by mutex.
};

// For every callback that waits, the executor has one that runs the most urgent of them.
class BackgroundWork::Posts final : public Executor {
 public:
  Posts(std::shared_ptr<Queues> queues, std::size_t urgency)
      : queues_(std::move(queues)), urgency_(urgency) {}

  void post(Callback callback) override {
    {
      const std::lock_guard lock(queues_->mutex);
      queues_->waiting[urgency_].push_back(std::move(callback));
    }
    queues_->executor.post([queues = queues_] { queues->take()(); });
  }
  Instant now() const override { return queues_->executor.now(); }
  TimerId schedule(Instant when, Callback callback) override {
    return queues_->executor.schedule(when, std::move(callback));
  }
  void cancel(TimerId timer) override { queues_->executor.cancel(timer); }
  bool on_this_thread() const override { return queues_->executor.on_this_thread(); }

 private:
  const std::shared_ptr<Queues> queues_;
  const std::size_t urgency_;
};

BackgroundWork::BackgroundWork(Executor& executor) : queues_(std::make_shared<Queues>(executor)) {
  for (std::size_t i = 0; i < kUrgencies; ++i) {
    executors_[i] = std::make_unique<Posts>(queues_, i);
  }
}

BackgroundWork::~BackgroundWork() = default;

Executor& BackgroundWork::of(Urgency urgency) {
  return *executors_[static_cast<std::size_t>(urgency)];
}

std::size_t BackgroundWork::waiting(Urgency urgency) const {
  const std::lock_guard lock(queues_->mutex);
  return queues_->waiting[static_cast<std::size_t>(urgency)].size();
}

}  // namespace moraine
