#include "blob/vdisk/forget_rule.h"

#include <algorithm>

namespace moraine::blob {

std::uint64_t ForgetRule::read_by_all(DiskSet neighbours) const {
  std::uint64_t all = ~std::uint64_t{0};
  for (std::uint32_t order = 0; order < kGroupDisksMax; ++order) {
    if (contains(neighbours, order)) all = std::min(all, read_by_[order]);
  }
  return all;
}

void ForgetRule::read_by(std::uint32_t order, std::uint64_t position, DiskSet neighbours) {
  read_by_[order] = position;
  // The neighbour lost its data: what it had does not count any more.
  if (unread_ != 0 && position < upto_) unread_ = 0;
  if (unread_ != 0) return;
  const std::uint64_t all = read_by_all(neighbours);
  if (all <= settled_) return;
  ++round_;
  upto_ = all;
  unread_ = neighbours;
}

std::uint64_t ForgetRule::has_read(std::uint32_t order, std::uint64_t round) {
  if (unread_ == 0 || round != round_) return 0;
  unread_ &= ~disk_bit(order);
  if (unread_ != 0) return 0;
  settled_ = upto_;
  return upto_;
}

}  // namespace moraine::blob
