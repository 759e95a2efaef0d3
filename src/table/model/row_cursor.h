// RowCursor: the rows of one store, or of several merged, in key order.
//
// Promise    next() never blocks. When it returns kNeedsData, await load() on the tablet's executor
//            and call next() again.
// Threading  One thread at a time; load() on the tablet's executor.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "io/task.h"
#include "table/model/key.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

class RowCursor {
 public:
  enum class Step : std::uint8_t { kRow, kEnd, kNeedsData };

  virtual ~RowCursor() = default;
  virtual Step next() = 0;
  // The row that next() moved to; valid until the next call.
  virtual const VersionedRow& row() const = 0;
  // A transaction that might be visible is about to change this row: the reader must wait, then
  // read the key again. Only memory stores return true.
  virtual bool prepared() const { return false; }
  // Reads the row again without folded values (ReadSpec::may_fold).
  virtual void unfold() {}
  virtual Task<Result<void>> load() = 0;
};

}  // namespace moraine::table
