#include "client/end_watch.h"

namespace moraine {

void EndWatch::add(const HomePartition& home, Signal& waiting) {
  waiting_.insert(&waiting);
  if (partition_) return;
  partition_ = home.for_lane(executor_);
  watch_ = partition_->watch([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->moved();
  });
}

void EndWatch::moved() {
  for (Signal* const waiting : waiting_) waiting->set();
  if (partition_ && (waiting_.empty() || partition_->stopped())) release();
}

// It may be called by the partition: that is not destroyed inside its own call.
void EndWatch::release() {
  if (!partition_) return;
  partition_->unwatch(watch_);
  executor_.post([held = std::move(partition_)] {});
  partition_ = nullptr;
}

}  // namespace moraine
