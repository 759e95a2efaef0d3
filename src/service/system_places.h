// Where the system's own tablets are: the group of each, recorded in every group of the cluster.
//
//   record = version u8, count u8, (tablet u64, group u32) * count, crc32c u32
//
// Promise    The places are chosen once, when nothing of the system is there yet (the first group
//            of the config), and never change: whatever order the config has later, and whatever
//            groups are added, the tablets are found where they were made. A config that lacks a
//            group of the record is refused. Data from before the record was kept is recognised by
//            the blocks of its tablets, and recorded then.
// Invariants The record of a cluster is the same bytes in all its groups; a group that is new gets
//            it. One group with the record suffices to know it; to know that there is none all
//            groups have to answer.
// Threading  The world's executor.
// Errors     kConflict: the config and the record disagree, or two groups have different records;
//            says what to change. kTimeout: groups do not answer by the deadline. kCorrupt.
// Tests      system_places_test.cpp, system_places_fuzz.cpp.
#pragma once

#include <map>
#include <vector>

#include "io/world.h"
#include "tablet/groups.h"
#include "tablet/tablet_info.h"

namespace moraine {

using SystemPlaces = std::map<TabletId, GroupId>;

Slice encode_places(const SystemPlaces& places);
Result<SystemPlaces> decode_places(ByteSpan bytes);

// `configured`: the groups of the config, in its order. Requires: not empty. `groups` outlives it.
Task<Result<SystemPlaces>> find_system_places(World world, BlobGroups& groups,
                                              std::vector<GroupId> configured, Instant deadline);

}  // namespace moraine
