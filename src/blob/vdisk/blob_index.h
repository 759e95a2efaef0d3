// BlobIndex: every blob that one VDisk has, should have, or knows from its neighbours.
//
// Promise    Ordered by id; a lookup, an insert and a step cost a few cache misses each.
// Invariants (1) An entry with a local part has a Location whose bytes are counted live on the
//            device.
//            (2) Entries are keyed by the whole blob's id (part 0).
// Limits     About 60 bytes per blob; a second local part of a blob (a handoff may hold several)
//            costs one more map node.
#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "blob/device/live_map.h"
#include "blob/device/location.h"
#include "blob/device/segments.h"
#include "blob/group/erasure.h"
#include "blob/ingress.h"

namespace moraine::blob {

struct BlobEntry {
  Ingress ingress;
  std::uint32_t offset = 0;
  std::uint32_t crc = 0;
  std::uint32_t segment : 22 = 0;
  std::uint32_t part : 4 = 0;       // 0: no local part.
  std::uint32_t corrupted : 1 = 0;  // The local part failed its checksum; replace it.
  std::uint32_t not_mine : 1 = 0;   // Provably nothing to replicate here.
  std::uint32_t claimed : 1 = 0;    // Parts may have been acknowledged here and lost since.
};

class BlobIndex {
 public:
  using Map = absl::btree_map<BlobId, BlobEntry>;

  BlobIndex(SegmentTable& segments) : segments_(segments) {}

  void set_species(Species species) { species_ = species; }
  std::size_t size() const { return entries_.size(); }
  const Map& entries() const { return entries_; }

  // Is this location within the device?
  bool fits(const Location& location) const;

  // Requires: id.part() == 0.
  const BlobEntry* find(const BlobId& id) const;
  // The entries that differ from `id` only in their size.
  std::vector<BlobId> other_sizes(const BlobId& id) const;
  BlobEntry& ensure(const BlobId& id) { return entries_[id]; }

  // Where a local part is stored; nullopt when it is not on this disk.
  std::optional<Location> locate(const BlobId& id_with_part) const;
  // Whether any blob has a second local part.
  bool has_extra_parts() const { return !extra_.empty(); }
  // Bit part-1 for every local part.
  std::uint8_t local_parts(const BlobId& id) const;

  // Adds the locations of up to `most` entries after `after` to `map`, and advances `after`. False:
  // these were the last.
  bool visit_live(std::optional<BlobId>& after, std::size_t most, LiveMap& map) const;

  // Records a local part. `counted`: the location is counted live already (fresh from an append). A
  // former location of the part is dropped.
  void set_part(const BlobId& id_with_part, const Location& location, bool counted);
  // Drops the local part; the entry stays.
  void drop_part(const BlobId& id_with_part);
  void erase(const BlobId& id);
  void clear();

 private:
  Location location_of(const BlobId& id, const BlobEntry& entry) const;

  SegmentTable& segments_;
  Species species_ = Species::kNone;
  Map entries_;
  std::map<BlobId, Location> extra_;  // Further local parts, by id with part.
};

}  // namespace moraine::blob
