#include "queue/partition.h"

namespace moraine::queue {

std::string_view to_string(WriteStatus status) {
  switch (status) {
    case WriteStatus::kOk: return "ok";
    case WriteStatus::kDuplicate: return "duplicate";
    case WriteStatus::kOutOfOrder: return "out of order";
    case WriteStatus::kStaleEpoch: return "stale epoch";
    case WriteStatus::kInvalid: return "invalid";
    case WriteStatus::kOverloaded: return "overloaded";
    case WriteStatus::kFullByCount: return "too many messages";
    case WriteStatus::kFullByBytes: return "too many bytes";
    case WriteStatus::kDiskFull: return "disk full";
    case WriteStatus::kFailedBefore: return "an earlier write failed";
    case WriteStatus::kUnknown: return "unknown outcome";
    case WriteStatus::kStopped: return "stopped";
  }
  return "?";
}

}  // namespace moraine::queue
