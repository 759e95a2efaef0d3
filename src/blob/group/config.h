// GroupConfig: the members of a group at one generation.
//
// Promise    A move of one VDisk makes the next generation. Equal generations should be equal
//            configs; digest() detects when they are not.
// Format     version u8 = 1, group u32, generation u32, species u8, realms u8, domains u8,
//            vdisks u8, then for each disk in order: node u32, device u32, slot u32; crc32c u32 of
//            all before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/group/geometry.h"
#include "io/network.h"

namespace moraine::blob {

struct GroupId {
  std::uint32_t value = 0;
  auto operator<=>(const GroupId&) const = default;
};

// "[82000000:1:0:0:0]": group in hex, group generation, realm, domain, vdisk.
struct VDiskId {
  GroupId group;
  std::uint32_t generation = 0;
  Coordinates at;
  auto operator<=>(const VDiskId&) const = default;
  std::string to_string() const;
  static Result<VDiskId> parse(std::string_view text);
};

// Where a VDisk lives: a node, a device of that node, and an owner slot on that device.
struct DiskAddress {
  NodeId node;
  std::uint32_t device = 0;
  std::uint32_t slot = 0;
  auto operator<=>(const DiskAddress&) const = default;
};

struct GroupConfig {
  GroupId id;
  std::uint32_t generation = 1;
  Geometry geometry;
  std::vector<DiskAddress> disks;  // By order; size() == geometry.disks().

  VDiskId vdisk(std::uint32_t order) const;
  // Checksum of the whole config; never 0.
  std::uint32_t digest() const;
  bool operator==(const GroupConfig&) const;

  Slice encode() const;
  static Result<GroupConfig> decode(ByteSpan bytes);
};

// Fails on a wrong number of disks or an address used twice.
Result<void> check(const GroupConfig& config);
// Are these two different configs of one generation of one group?
bool contradict(const GroupConfig& a, const GroupConfig& b);
// How they differ, and what to do about it: `ours` is known here, `theirs` was received.
std::string contradiction(const GroupConfig& ours, const GroupConfig& theirs);
// May the group change from `known` to `newer`, a later generation, without losing data? The next
// generation moves at most one disk; one that follows generations unknown here, at most as many as
// the group may lose at once. A group of one disk has no other copy of its data and is never moved.
// kConflict otherwise.
Result<void> check_change(const GroupConfig& known, const GroupConfig& newer);

}  // namespace moraine::blob
