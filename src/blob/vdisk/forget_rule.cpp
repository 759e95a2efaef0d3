#include "blob/vdisk/forget_rule.h"

#include <algorithm>

namespace moraine::blob {

std::uint64_t ForgetRule::acknowledged_by_all(DiskSet neighbours) const {
  std::uint64_t all = ~std::uint64_t{0};
  for (std::uint32_t order = 0; order < kGroupDisksMax; ++order) {
    if (contains(neighbours, order)) all = std::min(all, acknowledged_[order]);
  }
  return all;
}

void ForgetRule::acknowledged(std::uint32_t order, std::uint64_t position, DiskSet neighbours) {
  acknowledged_[order] = position;
  // The neighbour restarted from an older position, or lost its data: what it acknowledged before
  // does not count.
  if (unpulled_ != 0 && position < upto_) unpulled_ = 0;
  if (unpulled_ != 0) return;
  const std::uint64_t all = acknowledged_by_all(neighbours);
  if (all <= settled_) return;
  ++round_;
  upto_ = all;
  unpulled_ = neighbours;
}

std::uint64_t ForgetRule::pulled(std::uint32_t order, std::uint64_t round) {
  if (unpulled_ == 0 || round != round_) return 0;
  unpulled_ &= ~disk_bit(order);
  if (unpulled_ != 0) return 0;
  settled_ = upto_;
  return upto_;
}

}  // namespace moraine::blob
