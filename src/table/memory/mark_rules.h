// Which readers wait for a transaction that is being committed.
#pragma once

#include "table/memory/memory_store.h"

namespace moraine::table {

// Might a reader at the timestamp see the change that the mark announces?
inline bool concerns(const PreparedMark& mark, Timestamp timestamp) {
  if (mark.since == 0 || timestamp == kAsyncLastCommitted) return false;
  if (timestamp == kSyncLastCommitted) return mark.two_phase;
  return mark.since <= timestamp;
}

}  // namespace moraine::table
