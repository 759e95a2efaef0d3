// What follows from the facts alone: collecting garbage, dropping marks, claims after a loss.

#include <bit>

#include "blob/vdisk/state.h"

namespace moraine::blob {

void VDiskState::collect_one(const BlobId& id) {
  const BlobEntry* entry = index_.find(id);
  if (!entry || kept(id, *entry)) return;
  missing_.erase(id);
  handoffs_.erase(id);
  if (!do_not_keep_flag(entry->ingress) || geometry().disks() == 1) {
    index_.erase(id);
    return;
  }
  // The mark stays until ForgetRule allows to drop it: a disk that was down during the collection
  // could otherwise restore the blob by its Keep flag.
  while (const std::uint8_t parts = index_.local_parts(id)) {
    index_.drop_part(id.with_part(static_cast<std::uint32_t>(std::countr_zero(parts)) + 1));
  }
}

bool VDiskState::collect_some(std::size_t most) {
  std::size_t done = 0;
  for (; !collect_ids_.empty() && done < most; ++done) {
    const BlobId id = collect_ids_.front();
    collect_ids_.pop_front();
    collect_one(id);
  }
  while (!collect_ranges_.empty() && done < most) {
    CollectRange& range = collect_ranges_.front();
    std::vector<BlobId> ids;
    auto at = index_.entries().upper_bound(range.from);
    for (; at != index_.entries().end() && at->first <= range.to && ids.size() < most; ++at) {
      ids.push_back(at->first);
    }
    const bool finished = at == index_.entries().end() || at->first > range.to;
    for (const BlobId& id : ids) collect_one(id);
    done += ids.size() + 1;
    if (finished) {
      collect_ranges_.pop_front();
    } else {
      range.from = ids.back();
    }
  }
  return has_garbage();
}

void VDiskState::collect_all() {
  collect_ranges_.clear();
  collect_ids_.clear();
  std::vector<BlobId> garbage;
  for (const auto& [id, entry] : index_.entries()) {
    if (!kept(id, entry)) garbage.push_back(id);
  }
  for (const BlobId& id : garbage) collect_one(id);
  // The age of marks is lost by a restart: they count as made now.
  tombstones_.clear();
  if (!configured() || geometry().disks() == 1) return;
  for (const auto& [id, entry] : index_.entries()) {
    if (do_not_keep_flag(entry.ingress)) tombstones_.emplace(last_lsn_, id);
  }
}

void VDiskState::forget_tombstones(std::uint64_t position) {
  while (!tombstones_.empty() && tombstones_.begin()->first <= position) {
    const BlobId id = tombstones_.begin()->second;
    const BlobEntry* entry = index_.find(id);
    if (entry && kept(id, *entry)) {
      // Still above the barrier: the mark will be needed when the barrier passes.
      const BlobId kept_id = id;
      tombstones_.erase(tombstones_.begin());
      tombstones_.emplace(position + 1, kept_id);
      continue;
    }
    if (entry) index_.erase(id);
    tombstones_.erase(tombstones_.begin());
  }
}

std::vector<Fact> VDiskState::claims_after_loss() const {
  std::vector<Fact> claims;
  for (const auto& [id, entry] : index_.entries()) {
    if (own_slot(id) >= 0 && kept(id, entry)) claims.push_back(ClaimFact{id});
  }
  return claims;
}

}  // namespace moraine::blob
