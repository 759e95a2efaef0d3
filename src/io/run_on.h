// run_on: a coroutine on another executor.
//
// Promise    `body` is called on `there`, runs there, and its result is returned on `back`. Nothing
//            is posted when both are the current one. `body` and its result are destroyed on
//            `back`: what belongs to `there` is released inside the body.
#pragma once

#include <type_traits>

#include "io/sync.h"

namespace moraine {

template <class Body>
std::invoke_result_t<Body> run_on(Executor& there, Executor& back, Body body) {
  using Awaited = decltype(body().await_resume());
  co_await hop(there);
  if constexpr (std::is_void_v<Awaited>) {
    co_await body();
    co_await hop(back);
  } else {
    Awaited result = co_await body();
    co_await hop(back);
    co_return result;
  }
}

// The same, and back to the executor that awaits it.
template <class Body>
std::invoke_result_t<Body> run_there(Executor& there, Body body) {
  Executor* const here = Executor::current();
  return run_on(there, here != nullptr ? *here : there, std::move(body));
}

}  // namespace moraine
