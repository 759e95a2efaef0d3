// run_on_lane(): a call on a lane of a simulated machine, from the test's own executor. For tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "io/sim/sim_world.h"
#include "io/sync.h"

namespace moraine {

// `body` ends on the lane that it began on.
template <class T>
Task<T> hop_and_run(SimWorld& world, Executor& lane, std::function<Task<T>()> body) {
  co_await yield(lane);
  T result = co_await body();
  EXPECT_EQ(Executor::current(), &lane);
  co_await yield(world.executor());
  co_return result;
}

// Runs `body` on the lane and returns its result.
template <class T>
T run_on_lane(SimWorld& world, Executor& lane, std::function<Task<T>()> body) {
  return world.run(hop_and_run<T>(world, lane, std::move(body)));
}

}  // namespace moraine
