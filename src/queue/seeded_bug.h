// Bugs on demand (base/seeded_bug.h) of partitions: each breaks one rule that the rest of the code
// keeps.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/seeded_bug.h"

namespace moraine::queue {

enum class SeededBug : std::uint8_t {
  kNone,
  kAckBeforeCommit,     // A write is answered before its transaction is durable.
  kForgetSources,       // The state of producers is not stored.
  kShowBeforeCommit,    // The end moves, and readers see, before the transaction is durable.
  kIgnoreImportant,     // Retention removes what an important consumer has not read.
  kServeBehindRefused,  // Writes behind a refused one are kept, and stored later.
  kForgetWindow,        // A restart forgets the batches of Kafka producers.
  kDeleteHeadFirst,     // Merged head blobs are deleted before their replacement is durable.
  kAckConsumerEarly,    // A consumer's offset is answered before it is durable.
  kCacheBeforeCommit,   // The cache keeps pieces of transactions that fail.
  kForgetStart,         // The start offset is not stored.
  kForgetRefused,       // Numbers above a refused one are stored before it is sent again.
};

inline constexpr int kSeededBugs = 12;
std::string_view to_string(SeededBug bug);

}  // namespace moraine::queue
