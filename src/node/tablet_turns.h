// TabletTurns: one incarnation at a time of tablets that are booted for a while, by whatever table.
//
// Threading  The control lane.
// Tests      table_copies_test.cpp, unmounted_reads_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "io/sync.h"
#include "tablet/tablet_info.h"

namespace moraine {

class TabletTurns {
 public:
  explicit TabletTurns(Executor& executor) : executor_(executor) {}

  // The turn, until it is destroyed. Empty: no turn.
  class Held {
   public:
    Held() = default;
    explicit Held(std::shared_ptr<Semaphore> turn) : turn_(std::move(turn)) {}
    Held(Held&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Held& operator=(Held&& other) noexcept {
      std::swap(turn_, other.turn_);
      return *this;
    }
    ~Held() {
      if (turn_) turn_->release();
    }

   private:
    std::shared_ptr<Semaphore> turn_;
  };

  Task<Held> take(TabletId tablet) {
    std::erase_if(turns_, [](const auto& known) { return known.second.expired(); });
    std::shared_ptr<Semaphore> turn = turns_[tablet].lock();
    if (!turn) turns_[tablet] = turn = std::make_shared<Semaphore>(executor_, 1);
    co_await turn->acquire();
    co_return Held(std::move(turn));
  }
  // Others wait for the tablet's turn.
  bool is_wanted(TabletId tablet) const {
    const auto known = turns_.find(tablet);
    const auto turn = known == turns_.end() ? nullptr : known->second.lock();
    return turn && turn->waiting() > 0;
  }

 private:
  Executor& executor_;
  std::map<TabletId, std::weak_ptr<Semaphore>> turns_;  // Those that somebody has or waits for.
};

}  // namespace moraine
