// TabletInfo: where the blobs of one tablet are: for every channel, its groups by first generation.
//
// Promise    Pure. Every (channel, generation) has exactly one group.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/result.h"
#include "blob/blob_id.h"
#include "blob/group/config.h"

namespace moraine {

using blob::BlobId;
using blob::Channel;
using blob::Generation;
using blob::GenStep;
using blob::GroupId;
using blob::Step;
using blob::TabletId;

inline constexpr Channel kLogChannel = 0;       // Log entries.
inline constexpr Channel kSnapshotChannel = 1;  // Pages of snapshots.
inline constexpr Channel kFirstDataChannel = 2;
inline constexpr std::size_t kChannelsMax = 16;

struct ChannelEntry {
  Generation from = 0;  // The first generation that writes to this group.
  GroupId group;
  bool operator==(const ChannelEntry&) const = default;
};

struct TabletInfo {
  TabletId id;
  // By channel; each history is in ascending order of `from` and begins at 0. A group may appear
  // again.
  std::vector<std::vector<ChannelEntry>> channels;

  GroupId group(Channel channel, Generation generation) const;
  GroupId latest_group(Channel channel) const { return channels[channel].back().group; }
  // Every group that the channel ever used.
  std::set<GroupId> groups(Channel channel) const;
  // May a log entry or a body of `generation` refer to this blob? kCorrupt with the reason if not.
  Result<void> check_reference(const BlobId& id, Generation generation) const;
  // All channels in one group since generation 0.
  static TabletInfo simple(TabletId id, GroupId group, std::size_t channels);
};

// At least the log, the snapshot and one data channel, at most kChannelsMax; histories as above.
Result<void> check(const TabletInfo& info);

}  // namespace moraine
