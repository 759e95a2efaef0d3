// Placement: where the tablets of a cluster run, as this node has to know it.
//
// Promise    Watchers are called after every change of lane_of(), once it returns the new value.
// Threading  The control lane of the node; watchers are called on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "io/task.h"
#include "tablet/tablet_info.h"

namespace moraine {

class Placement {
 public:
  using Watcher = std::function<void(TabletId)>;

  virtual ~Placement() = default;

  // The lane of this node that is to run the tablet. nullopt: another node runs it.
  virtual std::optional<std::size_t> lane_of(TabletId tablet) const = 0;
  // Whether this node is still to run the tablet. Asked when another incarnation has fenced it: a
  // node that does not ask would fence the new owner in turn.
  virtual Task<bool> still_here(TabletId tablet) = 0;

  // Calls `changed` with every tablet whose lane_of() has changed, until unwatch().
  virtual std::uint64_t watch(Watcher changed) = 0;
  virtual void unwatch(std::uint64_t watcher) = 0;
};

// All tablets are on this node: those of the system on its first lane, the others on all lanes, a
// third as many on the first, which has the devices, as on each other. It never changes. `confirm`
// may be absent; it is awaited for a tablet that was fenced.
class StaticPlacement final : public Placement {
 public:
  // Requires: lanes > 0.
  explicit StaticPlacement(std::size_t lanes) : lanes_(lanes) {}

  void set_confirm(std::function<Task<bool>()> confirm) { confirm_ = std::move(confirm); }

  std::optional<std::size_t> lane_of(TabletId tablet) const override;
  Task<bool> still_here(TabletId tablet) override;
  std::uint64_t watch(Watcher) override { return 0; }
  void unwatch(std::uint64_t) override {}

 private:
  const std::size_t lanes_;
  std::function<Task<bool>()> confirm_;
};

}  // namespace moraine
