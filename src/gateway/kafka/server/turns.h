// Turns: a step that the requests of one connection take in their order.
//
// Promise    wait() continues when every turn taken before has ended. A turn ends with its object,
//            whether it was waited for or not.
// Threading  The connection's lane. A waiter is resumed inside the end of the turn before.
// Limits     The requests in flight of a connection: kPipelinedRequestsMax.
// Tests      produce_test.cpp
#pragma once

#include <coroutine>
#include <cstdint>
#include <map>
#include <set>

#include "base/invariant.h"

namespace moraine::kafka {

class Turns {
 public:
  Turns() = default;
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;
  ~Turns() { INVARIANT(live_.empty(), "{} turns have not ended", live_.size()); }

  class Turn {
   public:
    // The next turn; `turns` outlives it.
    explicit Turn(Turns& turns) : turns_(turns), number_(turns.next_++) {
      turns_.live_.insert(number_);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { end(); }

    auto wait() {
      struct Awaiter {
        Turn& turn;
        bool await_ready() const { return *turn.turns_.live_.begin() == turn.number_; }
        void await_suspend(std::coroutine_handle<> self) {
          turn.turns_.waiting_.emplace(turn.number_, self);
        }
        void await_resume() const noexcept {}
      };
      return Awaiter{*this};
    }
    // Once or not at all: before the destructor does.
    void end() {
      if (turns_.live_.erase(number_) > 0) turns_.resume_first();
    }

   private:
    Turns& turns_;
    const std::uint64_t number_;
  };

 private:
  void resume_first() {
    if (live_.empty() || waiting_.empty() || waiting_.begin()->first != *live_.begin()) return;
    waiting_.extract(waiting_.begin()).mapped().resume();
  }

  std::uint64_t next_ = 0;
  std::set<std::uint64_t> live_;
  std::map<std::uint64_t, std::coroutine_handle<>> waiting_;
};

}  // namespace moraine::kafka
