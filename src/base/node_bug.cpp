#include "base/node_bug.h"

namespace moraine {

std::string_view to_string(NodeBug bug) {
  switch (bug) {
    case NodeBug::kNone: return "none";
    case NodeBug::kAckLaneWriteEarly: return "ack lane write early";
    case NodeBug::kAckLaneCommitEarly: return "ack lane commit early";
    case NodeBug::kKeepStalePartitions: return "keep stale partitions";
    case NodeBug::kRepeatProducerIds: return "repeat producer ids";
    case NodeBug::kAcceptOldGeneration: return "accept old generation";
    case NodeBug::kAnswerSyncEarly: return "answer sync early";
    case NodeBug::kKeepLostClaim: return "keep lost claim";
    case NodeBug::kMixPipelined: return "mix pipelined";
    case NodeBug::kCommitRowsAtOnce: return "commit rows at once";
  }
  return "unknown";
}

}  // namespace moraine
