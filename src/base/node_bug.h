// Bugs on demand (base/seeded_bug.h) of a whole node: each breaks one rule between lanes, groups or
// nodes.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/seeded_bug.h"

namespace moraine {

enum class NodeBug : std::uint8_t {
  kNone,
  kAckLaneWriteEarly,    // A write from another lane is answered before the partition's own lane.
  kAckLaneCommitEarly,   // An offset committed from another lane is answered before it is durable.
  kKeepStalePartitions,  // A lane keeps the partitions of a tablet that has ended.
  kRepeatProducerIds,    // Lanes allocate producer ids independently.
  kAcceptOldGeneration,  // Members of earlier generations of a group may commit offsets.
  kAnswerSyncEarly,      // The assignment of a group is answered before it is stored.
  kKeepLostClaim,        // A node whose claim was taken over continues to serve.
  kMixPipelined,         // A pipelined HTTP request gets the answer to the one before it.
  kCommitRowsAtOnce,     // Rows that HTTP clients write in a transaction are committed at once.
};

inline constexpr int kNodeBugs = 10;
std::string_view to_string(NodeBug bug);

}  // namespace moraine
