// ForgetRule: when a disk may drop its DoNotKeep marks.
//
// Promise    A mark may be dropped when every neighbour has it durably, and this disk has since
//            then pulled every neighbour's log to its end: no fact that is older than the mark can
//            arrive by sync any more, so a late Keep flag cannot restore the blob.
// Threading  None: bookkeeping without I/O.
#pragma once

#include <array>
#include <cstdint>

#include "blob/group/geometry.h"

namespace moraine::blob {

class ForgetRule {
 public:
  // Neighbour `order`, one of `neighbours`, has this disk's log durably up to `position`; 0:
  // nothing.
  void acknowledged(std::uint32_t order, std::uint64_t position, DiskSet neighbours);

  // The current round; a pull that begins now belongs to it.
  std::uint64_t round() const { return round_; }
  // A pull from neighbour `order` that began in `round` has reached the end of its log. Returns the
  // position up to which marks may be forgotten; 0: not yet.
  std::uint64_t pulled(std::uint32_t order, std::uint64_t round);

 private:
  std::uint64_t acknowledged_by_all(DiskSet neighbours) const;

  std::array<std::uint64_t, kGroupDisksMax> acknowledged_{};
  std::uint64_t round_ = 0;
  std::uint64_t upto_ = 0;     // Current round: all neighbours have the log up to here.
  std::uint64_t settled_ = 0;  // upto_ of the last round that ended.
  DiskSet unpulled_ = 0;       // Neighbours not pulled since the round began; 0: no round.
};

}  // namespace moraine::blob
