#include "cluster/placement.h"

#include "cluster/tablet_ids.h"

namespace moraine {

std::optional<std::size_t> StaticPlacement::lane_of(TabletId tablet) const {
  if (tablet < kFirstTopicTabletId) return 0;
  return (tablet.value - kFirstTopicTabletId.value) % lanes_;
}

Task<bool> StaticPlacement::still_here(TabletId) {
  if (!confirm_) co_return true;
  co_return co_await confirm_();
}

}  // namespace moraine
