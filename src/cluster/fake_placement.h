// FakePlacement: a placement that a test changes. Tablets that were not moved are where
// StaticPlacement has them.
#pragma once

#include <map>

#include "cluster/placement.h"

namespace moraine {

class FakePlacement final : public Placement {
 public:
  explicit FakePlacement(std::size_t lanes) : first_(lanes) {}

  // To a lane of this node. nullopt: nowhere known.
  void move(TabletId tablet, std::optional<std::size_t> lane) {
    move(tablet, lane ? TabletPlace::here(*lane) : TabletPlace());
  }
  void move(TabletId tablet, TabletPlace place) {
    moved_[tablet] = place;
    const auto watchers = watchers_;
    for (const auto& [watcher, changed] : watchers) changed(tablet);
  }
  // Watchers are not called yet.
  void move_silently(TabletId tablet, std::optional<std::size_t> lane) {
    moved_[tablet] = lane ? TabletPlace::here(*lane) : TabletPlace();
  }
  std::size_t watchers() const { return watchers_.size(); }
  std::size_t asked() const { return asked_; }  // How often still_here() was called.

  TabletPlace place_of(TabletId tablet) const override {
    const auto found = moved_.find(tablet);
    return found == moved_.end() ? first_.place_of(tablet) : found->second;
  }
  Task<bool> still_here(TabletId tablet) override {
    ++asked_;
    co_return place_of(tablet).lane().has_value();
  }
  std::uint64_t watch(Watcher changed) override {
    watchers_[++last_] = std::move(changed);
    return last_;
  }
  void unwatch(std::uint64_t watcher) override { watchers_.erase(watcher); }

 private:
  StaticPlacement first_;
  std::map<TabletId, TabletPlace> moved_;
  std::map<std::uint64_t, Watcher> watchers_;
  std::uint64_t last_ = 0;
  std::size_t asked_ = 0;
};

}  // namespace moraine
