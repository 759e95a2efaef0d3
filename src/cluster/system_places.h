// The groups of the system tablets, recorded in every group of the cluster.
//
//   record = version u8, count u8, (tablet u64, group u32) * count, crc32c u32
//
// Promise    The places are chosen once, when no system tablet exists yet (the first group of the
//            config), and never change: whatever order the config has later, and whatever groups
//            are added, the tablets are found where they were created. A config that lacks a group
//            of the record is refused. When tablets exist without a record, their places are found
//            by their blocked generations, and recorded.
// Invariants The record of a cluster is the same bytes in all its groups; a new group gets a copy.
//            One group with the record suffices to know it; to know that there is none all groups
//            have to answer.
// Threading  The world's executor.
// Errors     kConflict: the config and the record disagree, or two groups have different records;
//            the text says what to change. kTimeout: groups did not answer in time. kCorrupt.
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

// `configured`: the groups of the config, in its order. Requires: not empty. `groups` outlives the
// task.
Task<Result<SystemPlaces>> find_system_places(World world, BlobGroups& groups,
                                              std::vector<GroupId> configured, Instant deadline);

}  // namespace moraine
