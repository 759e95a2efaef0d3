#include "table/tablet/view.h"

#include <algorithm>

#include "base/invariant.h"
#include "table/model/key.h"

namespace moraine::table {

const PartitionView& TabletView::partition_of(ByteSpan key) const {
  const auto above = std::upper_bound(partitions.begin() + 1, partitions.end(), key,
                                      [](ByteSpan wanted, const PartitionView& partition) {
                                        return compare_keys(wanted, as_bytes(partition.from)) < 0;
                                      });
  return *(above - 1);
}

ViewHolder::ViewHolder(std::shared_ptr<const TabletView> first)
    : owned_(std::move(first)), published_(owned_.get()) {
  INVARIANT(owned_, "a tablet always has a view");
}

ViewHolder::~ViewHolder() {
  retire([view = std::move(owned_)] {});
}

std::shared_ptr<const TabletView> ViewHolder::hold() const {
  const EpochGuard guard;
  return get().shared_from_this();
}

void ViewHolder::publish(std::shared_ptr<const TabletView> next) {
  std::shared_ptr<const TabletView> old = std::exchange(owned_, std::move(next));
  published_.store(owned_.get(), std::memory_order_release);
  retire([view = std::move(old)] {});
}

}  // namespace moraine::table
