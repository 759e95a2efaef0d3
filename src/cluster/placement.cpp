#include "cluster/placement.h"

#include "cluster/tablet_ids.h"

namespace moraine {
namespace {

// The first lane has the devices and the system's tablets to run: it gets one of the others'
// tablets after so many rounds over the other lanes.
constexpr std::size_t kRounds = 3;

}  // namespace

TabletPlace StaticPlacement::place_of(TabletId tablet) const {
  if (tablet < kFirstTopicTabletId || lanes_ == 1) return TabletPlace::here(0);
  const std::size_t others = lanes_ - 1;
  const std::uint64_t turn = (tablet.value - kFirstTopicTabletId.value) % (kRounds * others + 1);
  return TabletPlace::here(turn == 0 ? 0 : 1 + (turn - 1) % others);
}

Task<bool> StaticPlacement::still_here(TabletId) {
  if (!confirm_) co_return true;
  co_return co_await confirm_();
}

}  // namespace moraine
