// Placement: where the tablets of a cluster run, as this node has to know it.
//
// Promise    Watchers are called after every change of place_of(), once it returns the new value.
// Threading  The control lane of the node; watchers are called on it.
// Tests      placement_test.cpp; node/placement_test.cpp, node/two_nodes_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "io/network.h"
#include "io/task.h"
#include "tablet/tablet_info.h"

namespace moraine {

// Where a tablet runs: on a lane of this node, on another node, or nowhere that is known.
class TabletPlace {
 public:
  TabletPlace() = default;  // Nowhere known.
  static TabletPlace here(std::size_t lane) { return {lane, std::nullopt}; }
  static TabletPlace on(NodeId node) { return {std::nullopt, node}; }

  // The lane of this node. nullopt: it does not run here.
  std::optional<std::size_t> lane() const { return lane_; }
  // The other node. nullopt: it runs here, or its place is unknown.
  std::optional<NodeId> node() const { return node_; }
  bool operator==(const TabletPlace&) const = default;

 private:
  TabletPlace(std::optional<std::size_t> lane, std::optional<NodeId> node)
      : lane_(lane), node_(node) {}
  std::optional<std::size_t> lane_;
  std::optional<NodeId> node_;
};

class Placement {
 public:
  using Watcher = std::function<void(TabletId)>;

  virtual ~Placement() = default;

  virtual TabletPlace place_of(TabletId tablet) const = 0;
  // Whether this node is still to run the tablet. Asked when another incarnation has fenced it: a
  // node that does not ask would fence the new owner in turn.
  virtual Task<bool> still_here(TabletId tablet) = 0;

  // Calls `changed` with every tablet whose place_of() has changed, until unwatch().
  virtual std::uint64_t watch(Watcher changed) = 0;
  virtual void unwatch(std::uint64_t watcher) = 0;
};

// The other node that runs the tablet. nullopt: none is known; also without a placement.
inline std::optional<NodeId> other_node(const Placement* placement, TabletId tablet) {
  return placement ? placement->place_of(tablet).node() : std::nullopt;
}

// All tablets are on this node: those of the system on its first lane, the others on all lanes, a
// third as many on the first, which has the devices, as on each other. It never changes. `confirm`
// may be absent; it is awaited for a tablet that was fenced.
class StaticPlacement final : public Placement {
 public:
  // Requires: lanes > 0.
  explicit StaticPlacement(std::size_t lanes) : lanes_(lanes) {}

  void set_confirm(std::function<Task<bool>()> confirm) { confirm_ = std::move(confirm); }

  TabletPlace place_of(TabletId tablet) const override;
  Task<bool> still_here(TabletId tablet) override;
  std::uint64_t watch(Watcher) override { return 0; }
  void unwatch(std::uint64_t) override {}

 private:
  const std::size_t lanes_;
  std::function<Task<bool>()> confirm_;
};

}  // namespace moraine
