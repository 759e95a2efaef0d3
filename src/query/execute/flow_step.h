// One step of a Flow. Internal to flow.h.
#pragma once

#include "query/execute/flow.h"

namespace moraine::query {

class Flow::Step {
 public:
  virtual ~Step() = default;
  // Passes its rows on to step `next`.
  virtual Result<void> run(Flow& flow, std::size_t next, const Batch& batch, const Selection& rows,
                           std::uint64_t position) = 0;

 protected:
  static Result<void> pass(Flow& flow, std::size_t next, const Batch& batch, const Selection& rows,
                           std::uint64_t position) {
    return flow.pass(next, batch, rows, position);
  }
  static bool needs_rows(const Flow& flow) { return flow.sink_.needs_rows(); }
};

}  // namespace moraine::query
