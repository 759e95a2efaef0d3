// Who waits for a transaction that is being decided.
#pragma once

#include "table/memory/memory_store.h"

namespace moraine::table {

// Might the change that the mark announces be visible to a reader at the timestamp?
inline bool concerns(const PreparedMark& mark, Timestamp timestamp) {
  if (mark.since == 0 || timestamp == kAsyncLastCommitted) return false;
  if (timestamp == kSyncLastCommitted) return mark.two_phase;
  return mark.since <= timestamp;
}

}  // namespace moraine::table
