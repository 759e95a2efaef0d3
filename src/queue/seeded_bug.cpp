#include "queue/seeded_bug.h"

namespace moraine::queue {

std::string_view to_string(SeededBug bug) {
  switch (bug) {
    case SeededBug::kNone: return "none";
    case SeededBug::kAckBeforeCommit: return "ack-before-commit";
    case SeededBug::kForgetSources: return "forget-sources";
    case SeededBug::kShowBeforeCommit: return "show-before-commit";
    case SeededBug::kIgnoreImportant: return "ignore-important";
    case SeededBug::kServeBehindRefused: return "serve-behind-refused";
    case SeededBug::kForgetWindow: return "forget-window";
    case SeededBug::kDeleteHeadFirst: return "delete-head-first";
    case SeededBug::kAckConsumerEarly: return "ack-consumer-early";
    case SeededBug::kCacheBeforeCommit: return "cache-before-commit";
    case SeededBug::kForgetStart: return "forget-start";
    case SeededBug::kForgetRefused: return "forget-refused";
  }
  return "unknown";
}

}  // namespace moraine::queue
