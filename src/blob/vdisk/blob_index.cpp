#include "blob/vdisk/blob_index.h"

#include "base/invariant.h"

namespace moraine::blob {

bool BlobIndex::fits(const Location& location) const {
  return location.segment < segments_.count() &&
         std::uint64_t{location.offset} + location.size <= segments_.segment_bytes();
}

const BlobEntry* BlobIndex::find(const BlobId& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

Location BlobIndex::location_of(const BlobId& id, const BlobEntry& entry) const {
  return {entry.segment, entry.offset, stored_part_size(species_, id.size()), entry.crc};
}

std::vector<BlobId> BlobIndex::other_sizes(const BlobId& id) const {
  std::vector<BlobId> others;
  const BlobId least(id.tablet(), id.generation(), id.step(), id.channel(), 0, id.cookie());
  for (auto at = entries_.lower_bound(least); at != entries_.end(); ++at) {
    if (at->first.differs_only_in_size(id)) {
      others.push_back(at->first);
    } else if (at->first != id.whole()) {
      break;
    }
  }
  return others;
}

std::optional<Location> BlobIndex::locate(const BlobId& id) const {
  const BlobEntry* entry = find(id.whole());
  if (!entry || entry->part == 0) return std::nullopt;
  if (entry->part == id.part()) return location_of(id, *entry);
  if (extra_.empty()) return std::nullopt;
  const auto found = extra_.find(id);
  return found == extra_.end() ? std::nullopt : std::optional(found->second);
}

std::uint8_t BlobIndex::local_parts(const BlobId& id) const {
  const BlobEntry* entry = find(id);
  if (!entry || entry->part == 0) return 0;
  auto parts = static_cast<std::uint8_t>(1u << (entry->part - 1));
  if (extra_.empty()) return parts;
  for (auto at = extra_.lower_bound(id); at != extra_.end() && at->first.whole() == id; ++at) {
    parts = static_cast<std::uint8_t>(parts | 1u << (at->first.part() - 1));
  }
  return parts;
}

bool BlobIndex::visit_live(std::optional<BlobId>& after, std::size_t most, LiveMap& map) const {
  auto at = after ? entries_.upper_bound(*after) : entries_.begin();
  for (std::size_t n = 0; at != entries_.end() && n < most; ++at, ++n) {
    const auto& [id, entry] = *at;
    after = id;
    if (entry.part == 0) continue;
    map.add(location_of(id, entry));
    if (extra_.empty()) continue;
    for (auto it = extra_.lower_bound(id); it != extra_.end() && it->first.whole() == id; ++it) {
      map.add(it->second);
    }
  }
  return at != entries_.end();
}

void BlobIndex::set_part(const BlobId& id, const Location& location, bool counted) {
  INVARIANT(id.part() != 0, "{} names no part", id.to_string());
  if (!counted) segments_.add_live(location);
  BlobEntry& entry = entries_[id.whole()];
  if (entry.part != 0 && entry.part != id.part()) {
    const auto [at, fresh] = extra_.try_emplace(id, location);
    if (!fresh) {
      segments_.drop_live(at->second);
      at->second = location;
    }
    return;
  }
  if (entry.part == id.part()) segments_.drop_live(location_of(id, entry));
  entry.part = id.part() & 15;
  entry.segment = location.segment & 0x3fffff;
  entry.offset = location.offset;
  entry.crc = location.crc;
  entry.corrupted = 0;
  entry.not_mine = 0;
}

void BlobIndex::drop_part(const BlobId& id) {
  const auto found = entries_.find(id.whole());
  if (found == entries_.end() || found->second.part == 0) return;
  BlobEntry& entry = found->second;
  if (entry.part != id.part()) {
    if (const auto extra = extra_.find(id); extra != extra_.end()) {
      segments_.drop_live(extra->second);
      extra_.erase(extra);
    }
    return;
  }
  segments_.drop_live(location_of(id, entry));
  entry.part = 0;
  entry.corrupted = 0;
  // Another local part moves into the entry.
  const auto next = extra_.lower_bound(id.whole());
  if (next == extra_.end() || next->first.whole() != id.whole()) return;
  entry.part = next->first.part() & 15;
  entry.segment = next->second.segment & 0x3fffff;
  entry.offset = next->second.offset;
  entry.crc = next->second.crc;
  extra_.erase(next);
}

void BlobIndex::clear() {
  for (const auto& [id, location] : extra_) segments_.drop_live(location);
  extra_.clear();
  for (const auto& [id, entry] : entries_) {
    if (entry.part != 0) segments_.drop_live(location_of(id, entry));
  }
  entries_.clear();
}

void BlobIndex::erase(const BlobId& id) {
  while (const std::uint8_t parts = local_parts(id)) {
    drop_part(id.with_part(static_cast<std::uint32_t>(std::countr_zero(parts)) + 1));
  }
  entries_.erase(id);
}

}  // namespace moraine::blob
