#include "blob/vdisk/state.h"

#include <algorithm>

#include "base/invariant.h"

namespace moraine::blob {

// Notes a durable record: a neighbour that has read up to it has read everything before it.
void VDiskState::pass_lsn(std::uint64_t lsn) {
  note_lsn(lsn);
  sync_log_.advance(lsn);
}

void VDiskState::publish(std::uint64_t lsn, IndexFact fact) {
  if (lsn == 0 || !configured() || geometry().disks() == 1) return;
  sync_log_.push(lsn, std::move(fact));
}

int VDiskState::own_slot(const BlobId& id) const {
  return geometry().subgroup(id).slot_of(meta_.order);
}

Generation VDiskState::blocked(TabletId tablet) const {
  const auto found = blocks_.find(tablet);
  return found == blocks_.end() ? 0 : found->second;
}

std::uint8_t VDiskState::sound_parts(const BlobId& id, const BlobEntry& entry) const {
  const std::uint8_t local = index_.local_parts(id);
  if (!entry.corrupted || entry.part == 0) return local;
  return static_cast<std::uint8_t>(local & ~(1u << (entry.part - 1)));
}

VDiskState::Missing VDiskState::missing_parts(const BlobId& id, const BlobEntry& entry) const {
  Missing missing;
  const int slot = own_slot(id);
  if (slot < 0 || entry.not_mine) return missing;
  const std::uint8_t local = sound_parts(id, entry);
  for (std::uint32_t part = 1; part <= geometry().parts(); ++part) {
    const auto own = static_cast<std::uint32_t>(slot);
    if (!geometry().allowed(own, part) || (local >> (part - 1) & 1) != 0) continue;
    const auto bit = static_cast<std::uint8_t>(1u << (part - 1));
    bool claimed = (entry.ingress.bits & present_bit(geometry(), own, part)) != 0;
    if (entry.claimed != 0) {
      // A handoff stored a part only where the main lacked it.
      const std::uint32_t main = present_bit(geometry(), part - 1, part);
      claimed = claimed || geometry().is_main(own) || (entry.ingress.bits & main) == 0;
    }
    if (!geometry().is_main(own)) {
      claimed = claimed && (entry.ingress.bits & moved_bit(geometry(), own, part)) == 0;
    }
    if (claimed) missing.claimed = static_cast<std::uint8_t>(missing.claimed | bit);
    // A main should have its part of every blob; a handoff only what it once stored.
    if (claimed || geometry().is_main(own)) {
      missing.parts = static_cast<std::uint8_t>(missing.parts | bit);
    }
  }
  return missing;
}

// Updates the work lists for one entry.
void VDiskState::review(const BlobId& id) {
  const BlobEntry* entry = index_.find(id);
  const bool kept_here = entry && kept(id, *entry);
  if (kept_here && missing_parts(id, *entry).parts != 0) {
    missing_.insert(id);
  } else if (!missing_.empty()) {
    missing_.erase(id);
  }
  const bool handoff = kept_here && entry->part != 0 &&
                       !geometry().is_main(static_cast<std::uint32_t>(own_slot(id)));
  if (handoff) {
    handoffs_.insert(id);
  } else if (!handoffs_.empty()) {
    handoffs_.erase(id);
  }
  if (entry && !kept_here) collect_ids_.push_back(id);
}

void VDiskState::apply_put(const PutRecord& record, const Location& location, bool counted) {
  const BlobId id = record.id.whole();
  pass_lsn(record.lsn);
  index_.set_part(record.id, location, counted);
  BlobEntry& entry = index_.ensure(id);
  entry.ingress = merge(entry.ingress, record.ingress);
  publish(record.lsn, BlobFact{id, entry.ingress});
  review(id);
}

void VDiskState::apply_drop(const PutRecord& record) {
  const BlobId id = record.id.whole();
  pass_lsn(record.lsn);
  index_.drop_part(record.id);
  if (!index_.find(id)) return;
  BlobEntry& entry = index_.ensure(id);
  entry.ingress = merge(entry.ingress, record.ingress);
  publish(record.lsn, BlobFact{id, entry.ingress});
  review(id);
}

void VDiskState::apply_lost(const BlobId& id) {
  index_.drop_part(id);
  review(id.whole());
}

void VDiskState::apply_not_mine(const BlobId& id) {
  if (!index_.find(id)) return;
  BlobEntry& entry = index_.ensure(id);
  if (entry.part == 0) entry.not_mine = 1;
  review(id);
}

void VDiskState::apply_meta(MetaState meta) {
  meta_ = std::move(meta);
  config_digest_ = meta_.config ? meta_.config->digest() : 0;
  if (meta_.config) index_.set_species(meta_.config->geometry.species());
}

void VDiskState::apply_reset(MetaState meta) {
  index_.clear();
  barriers_ = Barriers();
  blocks_.clear();
  positions_.clear();
  sync_log_.start_after(last_lsn_);
  missing_.clear();
  handoffs_.clear();
  collect_ranges_.clear();
  collect_ids_.clear();
  tombstones_.clear();
  apply_meta(std::move(meta));
}

void VDiskState::apply_blob_fact(const BlobFact& fact, std::uint64_t lsn) {
  const bool fresh_tombstone =
      do_not_keep_flag(fact.ingress) &&
      (!index_.find(fact.id) || !do_not_keep_flag(index_.find(fact.id)->ingress));
  BlobEntry& entry = index_.ensure(fact.id);
  entry.ingress = merge(entry.ingress, fact.ingress);
  if (fresh_tombstone && geometry().disks() > 1) tombstones_.emplace(lsn, fact.id);
  publish(lsn, BlobFact{fact.id, entry.ingress});
  review(fact.id);
}

void VDiskState::apply_facts(const FactsRecord& record) {
  pass_lsn(record.lsn);
  for (const Fact& fact : record.facts) {
    if (const auto* blob = std::get_if<BlobFact>(&fact)) {
      apply_blob_fact(*blob, record.lsn);
    } else if (const auto* block = std::get_if<BlockFact>(&fact)) {
      Generation& generation = blocks_[block->tablet];
      generation = std::max(generation, block->generation);
      publish(record.lsn, *block);
    } else if (const auto* barrier = std::get_if<BarrierFact>(&fact)) {
      const auto moved = barriers_.merge(*barrier, geometry());
      publish(record.lsn, barriers_.current(*barrier));
      if (!moved) continue;
      const auto& [tablet, channel, hard] = moved->sequence;
      // Below its former position a soft barrier has only blobs that flags keep.
      const BlobId from = moved->from && !hard ? BlobId::highest(tablet, channel, *moved->from)
                                               : BlobId::lowest(tablet, channel);
      collect_ranges_.push_back({from, BlobId::highest(tablet, channel, moved->to)});
    } else if (const auto* position = std::get_if<SyncPosition>(&fact)) {
      positions_[position->order] = *position;
    } else if (const auto* claim = std::get_if<ClaimFact>(&fact)) {
      if (!index_.find(claim->id)) continue;
      index_.ensure(claim->id).claimed = 1;
      review(claim->id);
    }
  }
}

// Several facts of one blob are merged at the position of the first, so that flags stay before a
// barrier; several of one barrier at that of the last.
std::vector<Fact> VDiskState::news(const std::vector<IndexFact>& facts) const {
  std::vector<std::optional<Fact>> changed;
  std::map<BlobId, std::size_t> blobs;
  std::map<std::pair<BarrierSequence, BarrierRecordKey>, std::size_t> barriers;
  for (const IndexFact& fact : facts) {
    if (const auto* blob = std::get_if<BlobFact>(&fact)) {
      const auto [at, first] = blobs.try_emplace(blob->id, changed.size());
      if (first) changed.emplace_back();
      const auto* earlier =
          changed[at->second] ? &std::get<BlobFact>(*changed[at->second]) : nullptr;
      const Ingress ingress = earlier ? merge(earlier->ingress, blob->ingress) : blob->ingress;
      if (auto merged = news_of({blob->id, ingress})) changed[at->second] = *merged;
    } else if (const auto* block = std::get_if<BlockFact>(&fact)) {
      if (block->generation > blocked(block->tablet)) changed.emplace_back(*block);
    } else if (const auto* barrier = std::get_if<BarrierFact>(&fact)) {
      auto merged = barriers_.news(*barrier, meta_.order);
      if (!merged) continue;
      const auto [at, first] =
          barriers.try_emplace({{merged->tablet, merged->channel, merged->hard},
                                {merged->record_generation, merged->counter}},
                               changed.size());
      if (!first) {
        merged->seen |= std::get<BarrierFact>(*changed[at->second]).seen;
        changed[at->second].reset();
        at->second = changed.size();
      }
      changed.emplace_back(*merged);
    }
  }
  std::vector<Fact> kept;
  for (std::optional<Fact>& fact : changed) {
    if (fact) kept.push_back(std::move(*fact));
  }
  return kept;
}

// The fact merged with what is known; nullopt when that changes nothing.
std::optional<BlobFact> VDiskState::news_of(const BlobFact& fact) const {
  if (own_slot(fact.id) < 0 && !flagged(fact.ingress)) return std::nullopt;
  const BlobEntry* entry = index_.find(fact.id);
  const Ingress known = entry ? entry->ingress : Ingress{};
  const Ingress merged = merge(known, fact.ingress);
  if (entry && merged == known) return std::nullopt;
  // For a blob that is garbage already only its DoNotKeep mark matters.
  const bool tombstone = do_not_keep_flag(merged) && !do_not_keep_flag(known);
  if (!entry && !barriers_.keeps(fact.id, merged) && !tombstone) return std::nullopt;
  return BlobFact{fact.id, merged};
}

// Flags go to all disks: a disk that forwards a barrier must also forward the flags that limit it.
bool VDiskState::concerns(const IndexFact& fact, std::uint32_t order) const {
  const auto* blob = std::get_if<BlobFact>(&fact);
  return !blob || flagged(blob->ingress) || geometry().subgroup(blob->id).slot_of(order) >= 0;
}

void VDiskState::mark_corrupted(const BlobId& id) {
  if (!index_.find(id.whole())) return;
  BlobEntry& entry = index_.ensure(id.whole());
  if (entry.part == id.part()) {
    entry.corrupted = 1;
  } else {
    index_.drop_part(id);  // One of several: the others are intact.
  }
  review(id.whole());
}

}  // namespace moraine::blob
