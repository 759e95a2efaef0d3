// Timestamps of row versions (moraine/timestamp.h), and their source.
#pragma once

#include "base/result.h"
#include "io/task.h"
#include "moraine/timestamp.h"

namespace moraine {

// Issues timestamps. Each is above every one issued before, by any node, across restarts.
class TimestampSource {
 public:
  virtual ~TimestampSource() = default;
  virtual Task<Result<Timestamp>> next() = 0;
};

}  // namespace moraine
