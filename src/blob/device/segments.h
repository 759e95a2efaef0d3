// SegmentTable: the use of each segment of a device, and the pure decisions made from it.
//
// Invariants (1) A segment is free, open (appended to) or sealed. (2) live <= segment size.
//            (3) A segment is freed only when it is sealed, nothing in it is live, no read holds
//            it, and all of it is before the last checkpoint. (4) The live bytes of a sealed
//            segment only decrease.
// Threading  The device's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "blob/device/direct_lives.h"
#include "blob/device/location.h"
#include "blob/status.h"

namespace moraine::blob {

enum class SegmentUse : std::uint8_t { kFree, kOpen, kSealed };

struct Segment {
  SegmentUse use = SegmentUse::kFree;
  bool written = false;       // Its blocks were written before.
  bool holes = false;         // Parts of it were returned to the file system.
  std::uint32_t readers = 0;  // Reads and moves that hold it.
  std::uint64_t epoch = 0;
  std::uint64_t live = 0;     // Bytes that an index refers to.
  std::uint32_t records = 0;  // Records of these bytes.
  std::uint64_t squares = 0;  // The sum of the squares of their sizes.
  std::uint32_t longest = 0;  // At least the size of the longest.
  std::uint64_t last_sequence = 0;
  std::uint64_t used = 0;   // Bytes that it occupies on the disk; 0 when it is free.
  std::uint64_t basis = 0;  // Live bytes when `used` was measured.
};

class SegmentTable {
 public:
  SegmentTable(std::uint32_t count, std::uint32_t segment_bytes)
      : segments_(count),
        segment_bytes_(segment_bytes),
        free_(count),
        lives_(std::make_shared<SegmentLives>(count)) {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(segments_.size()); }
  std::uint32_t segment_bytes() const { return segment_bytes_; }
  std::uint32_t free() const { return free_; }
  std::uint64_t live_bytes() const { return live_bytes_; }
  // Bytes that segments in use occupy: what was appended, less what was discarded.
  std::uint64_t used_bytes() const { return used_bytes_; }
  const Segment& operator[](std::uint32_t segment) const { return segments_[segment]; }
  Segment& at(std::uint32_t segment) { return segments_[segment]; }

  // The free segment to open next: one written before if there is any. nullopt: none is free.
  std::optional<std::uint32_t> choose_free(std::optional<std::uint32_t> except) const;
  void open(std::uint32_t segment, std::uint64_t epoch);
  void seal(std::uint32_t segment);
  void reopen(std::uint32_t segment);  // A sealed one that has space left.
  void release(std::uint32_t segment);

  // A segment's life ends when it is released and before it is opened.
  const std::shared_ptr<SegmentLives>& lives() const { return lives_; }

  void add_live(const Location& location);
  void drop_live(const Location& location);
  // The segment occupies `bytes` on the disk, with `basis` live bytes.
  void measure(std::uint32_t segment, std::uint64_t bytes, std::uint64_t basis);
  // The open segment was appended to up to `bytes`; its new data is counted live already.
  void grow(std::uint32_t segment, std::uint64_t bytes, std::uint64_t new_live);

  // Sealed segments wholly before `checkpoint` in which nothing is live.
  std::vector<std::uint32_t> dead(std::uint64_t checkpoint) const;
  // Sealed segments wholly before `checkpoint` to copy live data out of: the emptiest first.
  struct CleanLimits {
    double fill_max = 0.5;        // None fuller than this share.
    std::size_t most = 16;        // Segments at once.
    std::uint64_t open_room = 0;  // Bytes left in the open segment that only copies will use.
    std::uint32_t segments = 0;   // Free segments that the copies may fill.
  };
  // Excludes segments that would gain next to nothing.
  std::vector<std::uint32_t> victims(std::uint64_t checkpoint, const CleanLimits& limits) const;

  // Free segments that copies of the live data of `victims` fill at most, in any order, after the
  // first `open_room` bytes.
  std::uint32_t segments_of_copies(const std::vector<std::uint32_t>& victims,
                                   std::uint64_t open_room) const;

  // Bytes that discarding its dead parts would gain, in proportion to what died since it was
  // measured.
  std::uint64_t gain(std::uint32_t segment) const;
  // Sealed segments that no read holds, wholly before `checkpoint`, with live data and a gain of at
  // least `least`: the largest gains first, at most `most`.
  std::vector<std::uint32_t> trimmable(std::uint64_t checkpoint, std::uint64_t least,
                                       std::size_t most) const;

  // The share of the device's bytes that no live data needs.
  double free_share() const;
  // By the segments that live data needs however much is cleaned, and by data of `pending_records`
  // that will be appended.
  Colour colour(std::uint64_t pending = 0, std::uint64_t pending_records = 0) const;
  // Bytes that checkpoints need besides what is live; they count as used in the colour.
  void set_spared(std::uint64_t bytes) { spared_ = bytes; }
  // The file system has no blocks for segments that were never written, so only written ones can be
  // used: the free share counts those alone, and the colour is at least yellow.
  void set_no_blocks(bool none) { no_blocks_ = none; }
  bool no_blocks() const { return no_blocks_; }
  // What the device can hold: its size, or what is live and the segments that have their blocks.
  std::uint64_t capacity_bytes() const;
  // Cleaning gains nothing although little is free: records do not fill segments to their ends. The
  // colour is at least orange then: commands that free space are still accepted.
  void set_stuck(bool stuck) { stuck_ = stuck; }
  bool stuck() const { return stuck_; }

 private:
  std::uint64_t share_needed(const Segment& s) const;

  std::vector<Segment> segments_;
  std::uint32_t segment_bytes_;
  std::uint32_t free_;
  std::shared_ptr<SegmentLives> lives_;
  std::uint64_t live_bytes_ = 0;
  std::uint64_t needed_ = 0;  // The sum of share_needed().
  std::uint64_t used_bytes_ = 0;
  std::uint64_t spared_ = 0;
  bool stuck_ = false;
  bool no_blocks_ = false;
};

// The colour of a device on which `free` of `total` segments are not needed by live data.
Colour colour_of(std::uint32_t free, std::uint32_t total);

}  // namespace moraine::blob
