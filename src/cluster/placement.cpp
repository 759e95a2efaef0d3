#include "cluster/placement.h"

#include "cluster/tablet_ids.h"

namespace moraine {

TabletPlace StaticPlacement::place_of(TabletId tablet) const {
  if (tablet < kFirstTopicTabletId) return TabletPlace::here(0);
  return TabletPlace::here((tablet.value - kFirstTopicTabletId.value) % lanes_);
}

Task<bool> StaticPlacement::still_here(TabletId) {
  if (!confirm_) co_return true;
  co_return co_await confirm_();
}

}  // namespace moraine
