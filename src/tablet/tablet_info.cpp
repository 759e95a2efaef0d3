#include "tablet/tablet_info.h"

#include <fmt/format.h>

#include "base/invariant.h"

namespace moraine {

GroupId TabletInfo::group(Channel channel, Generation generation) const {
  INVARIANT(channel < channels.size(), "tablet {} has no channel {}", id.value, channel);
  GroupId found = channels[channel].front().group;
  for (const ChannelEntry& entry : channels[channel]) {
    if (entry.from <= generation) found = entry.group;
  }
  return found;
}

std::set<GroupId> TabletInfo::groups(Channel channel) const {
  std::set<GroupId> all;
  for (const ChannelEntry& entry : channels[channel]) all.insert(entry.group);
  return all;
}

Result<void> TabletInfo::check_reference(const BlobId& at, Generation generation) const {
  const bool own = at.tablet() == id;
  const bool known = at.channel() > kLogChannel && at.channel() < channels.size();
  if (own && known && at.generation() <= generation && at.part() == 0 && at.size() > 0) return {};
  return fail(Errc::kCorrupt,
              fmt::format("tablet {} generation {} refers to {}, which is not its blob", id.value,
                          generation, at.to_string()));
}

TabletInfo TabletInfo::simple(TabletId id, GroupId group, std::size_t channels) {
  TabletInfo info;
  info.id = id;
  info.channels.assign(channels, {ChannelEntry{0, group}});
  return info;
}

Result<void> check(const TabletInfo& info) {
  if (info.id.value == 0) return fail(Errc::kInvalidArgument, "the tablet id is 0");
  if (info.channels.size() <= kFirstDataChannel || info.channels.size() > kChannelsMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("tablet {} has {} channels; {} to {} are allowed", info.id.value,
                            info.channels.size(), kFirstDataChannel + 1, kChannelsMax));
  }
  for (std::size_t channel = 0; channel < info.channels.size(); ++channel) {
    const auto& history = info.channels[channel];
    bool ordered = !history.empty() && history.front().from == 0;
    for (std::size_t i = 1; i < history.size(); ++i) {
      ordered = ordered && history[i - 1].from < history[i].from;
    }
    if (!ordered) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("tablet {}: the history of channel {} does not begin at generation 0 "
                              "or is not ascending",
                              info.id.value, channel));
    }
  }
  return {};
}

}  // namespace moraine
