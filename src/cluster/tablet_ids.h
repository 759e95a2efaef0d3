// The ids of the system tablets, and the first id of tablets of topics.
#pragma once

#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::uint64_t kTabletIdBase = std::uint64_t{1} << 56;
inline constexpr TabletId kSchemeTabletId{kTabletIdBase | 1};
// A key-value tablet for the state of gateways.
inline constexpr TabletId kGatewayTabletId{kTabletIdBase | 2};
// The timestamp oracle; the coordinator of transactions over several tablets.
inline constexpr TabletId kTimestampTabletId{kTabletIdBase | 3};
inline constexpr TabletId kCoordinatorTabletId{kTabletIdBase | 4};
// No tablets: blobs under these ids record the groups of the others, and which node serves topics.
inline constexpr TabletId kPlacesTabletId{kTabletIdBase | 5};
inline constexpr TabletId kTopicsClaimTabletId{kTabletIdBase | 6};
inline constexpr TabletId kFirstTopicTabletId{kTabletIdBase | 1'000};

inline constexpr std::size_t kKeyValueChannels = 3;

}  // namespace moraine
