#include "table/tablet/read/deleted_range.h"

#include <algorithm>

#include "base/epoch.h"

namespace moraine::table {

DeletedRange::~DeletedRange() {
  replace(nullptr);
}

void DeletedRange::replace(std::unique_ptr<const Range> next) {
  published_.store(next.get(), std::memory_order_release);
  std::unique_ptr<const Range> old = std::exchange(owned_, std::move(next));
  if (old) retire([range = std::move(old)] {});
}

std::uint64_t DeletedRange::begin_write(std::string_view first, std::string_view last) {
  const std::uint64_t number = next_++;
  Write& write = place(number);
  write.first.assign(first);
  write.last.assign(last);
  open_.push_back(number);
  if (owned_ && owned_->from <= last && first < owned_->to) replace(nullptr);
  return number;
}

void DeletedRange::end_write(std::uint64_t number) {
  const auto found = std::ranges::lower_bound(open_, number);
  if (found != open_.end() && *found == number) open_.erase(found);
  settled_.store(open_.empty() ? next_ : open_.front(), std::memory_order_release);
}

void DeletedRange::publish(std::uint64_t ticket, std::string from, std::string to,
                           Timestamp since) {
  if (to.empty() || from >= to) return;
  if (next_ - ticket > kRecentWritesMax) return;
  for (std::uint64_t number = ticket; number < next_; ++number) {
    const Write& write = place(number);
    if (from <= write.last && write.first < to) return;
  }
  auto range = std::make_unique<Range>();
  range->from = std::move(from);
  range->to = std::move(to);
  range->since = since;
  if (owned_ && owned_->from <= range->to && range->from <= owned_->to) {
    range->from = std::min(range->from, owned_->from);
    range->to = std::max(range->to, owned_->to);
    range->since = std::max(since, owned_->since);
  }
  replace(std::move(range));
}

void DeletedRange::forget() {
  replace(nullptr);
}

void DeletedRange::skip(std::string& key, Timestamp timestamp) const {
  if (published_.load(std::memory_order_relaxed) == nullptr) return;
  const EpochGuard guard;
  const Range* range = published_.load(std::memory_order_acquire);
  if (range == nullptr || timestamp < range->since) return;
  if (range->from <= key && key < range->to) key = range->to;
}

}  // namespace moraine::table
