// Placement: where the tablets of a cluster run, as this node has to know it.
//
// Promise    A tablet has one lane on this node as long as the node runs.
// Threading  The control lane of the node.
#pragma once

#include <cstddef>
#include <functional>

#include "io/task.h"
#include "tablet/tablet_info.h"

namespace moraine {

class Placement {
 public:
  virtual ~Placement() = default;

  // The lane of this node that runs the tablet.
  virtual std::size_t lane_of(TabletId tablet) const = 0;
  // Whether this node is still to run the tablet. Asked when another incarnation has fenced it: a
  // node that does not ask would fence the new owner in turn.
  virtual Task<bool> still_here(TabletId tablet) = 0;
};

// All tablets are on this node: those of the system on its first lane, the others on all lanes in
// turn. `confirm` may be absent; it is awaited for a tablet that was fenced.
class StaticPlacement final : public Placement {
 public:
  // Requires: lanes > 0.
  explicit StaticPlacement(std::size_t lanes) : lanes_(lanes) {}

  void set_confirm(std::function<Task<bool>()> confirm) { confirm_ = std::move(confirm); }

  std::size_t lane_of(TabletId tablet) const override;
  Task<bool> still_here(TabletId tablet) override;

 private:
  const std::size_t lanes_;
  std::function<Task<bool>()> confirm_;
};

}  // namespace moraine
