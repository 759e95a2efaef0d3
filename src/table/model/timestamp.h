// Timestamps of row versions (moraine/timestamp.h), and who gives them out.
#pragma once

#include "base/result.h"
#include "io/task.h"
#include "moraine/timestamp.h"

namespace moraine {

// Gives out timestamps. Each is above every one given before, by whomever, over restarts.
class TimestampSource {
 public:
  virtual ~TimestampSource() = default;
  virtual Task<Result<Timestamp>> next() = 0;
};

}  // namespace moraine
