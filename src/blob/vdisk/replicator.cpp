#include "blob/vdisk/replicator.h"

#include <algorithm>
#include <bit>

#include "blob/vdisk/vdisk.h"

namespace moraine::blob {

bool Replicator::over() const {
  return stopped_ || disk_.scope_.closed() || disk_.phase_ != VDisk::Phase::kReady;
}

Task<void> Replicator::run() {
  while (!over()) {
    co_await sleep_for(disk_.executor(), disk_.options_.replication_period, disk_.scope_);
    if (over()) break;
    if (has_bug(SeededBug::kSkipReplication)) {
      disk_.replicated_ = true;
      continue;
    }
    disk_.events_.pass_begins(disk_.state().missing().size());
    const std::size_t left_over = co_await pass();
    if (over()) break;
    disk_.replicated_ = left_over == 0;
    disk_.events_.pass_ended(left_over);
  }
}

// One round over all blobs that were missing parts, or had handoff parts, when it began. Returns
// how many of those missing then still are: under constant load new parts keep going missing on a
// slow disk that puts do not wait for, and say nothing about what it lost.
Task<std::size_t> Replicator::pass() {
  const std::vector<BlobId> missing(disk_.state().missing().begin(), disk_.state().missing().end());
  for (std::size_t at = 0; at < missing.size() && !over(); at += kReplicateBatch) {
    TaskScope batch;
    const std::size_t end = std::min(missing.size(), at + kReplicateBatch);
    for (std::size_t i = at; i < end; ++i) batch.spawn(restore(missing[i]));
    co_await batch.join();
    disk_.events_.pass_progress(disk_.state().missing().size());
  }
  const std::vector<BlobId> away(disk_.state().handoffs().begin(), disk_.state().handoffs().end());
  for (std::size_t at = 0; at < away.size() && !over(); at += kReplicateBatch) {
    TaskScope batch;
    const std::size_t end = std::min(away.size(), at + kReplicateBatch);
    for (std::size_t i = at; i < end; ++i) batch.spawn(move_to_mains(away[i]));
    co_await batch.join();
  }
  const auto& still = disk_.state().missing();
  co_return static_cast<std::size_t>(
      std::ranges::count_if(missing, [&](const BlobId& id) { return still.contains(id); }));
}

Task<Replicator::Survey> Replicator::survey(BlobId id) {
  Survey result;
  const auto subgroup = disk_.state().geometry().subgroup(id);
  TaskScope asking;
  for (std::uint32_t slot = 0; slot < subgroup.size; ++slot) {
    if (subgroup.order[slot] == disk_.state().order()) continue;
    asking.spawn(survey_slot(id, slot, subgroup.order[slot], result));
  }
  co_await asking.join();
  const int slot = disk_.state().own_slot(id);
  const Ingress known = disk_.own_ingress(id);
  result.ingress = merge(result.ingress, known);
  if (slot >= 0) result.own[static_cast<std::size_t>(slot)] = known;
  result.unknown |= out_of_date(disk_.state().geometry(), result.ingress, result.own);
  co_return result;
}

Task<void> Replicator::survey_slot(BlobId id, std::uint32_t slot, std::uint32_t order,
                                   Survey& survey) {
  GetParts request;
  request.queries.push_back({id, 0, 0});
  request.index_only = true;
  RequestBody body = std::move(request);
  const DiskReply answer = co_await disk_.ask(order, std::move(body));
  const auto* got = std::get_if<GetPartsReply>(&answer.body);
  if (answer.status != Status::kOk || !got) {
    survey.unknown |= disk_bit(slot);
    co_return;
  }
  for (const PartAnswer& one : got->answers) {
    survey.ingress = merge(survey.ingress, one.ingress);
    survey.own[slot] = merge(survey.own[slot], one.ingress);
    if (one.status == Status::kOk && disk_.state().geometry().allowed(slot, one.part)) {
      survey.found.add(slot, one.part);
    } else if (one.status == Status::kNotYet || one.status == Status::kCorrupted) {
      survey.lost |= disk_bit(slot);
    } else if (one.status != Status::kNoData) {
      survey.unknown |= disk_bit(slot);
    }
  }
}

// Reads as many distinct parts as restoring needs, from the disks that have them.
Task<bool> Replicator::fetch(BlobId id, Survey& survey) {
  const auto subgroup = disk_.state().geometry().subgroup(id);
  std::uint32_t wanted = disk_.state().geometry().parts_to_restore();
  TaskScope reading;
  for (std::uint32_t part = 1; part <= disk_.state().geometry().parts() && wanted > 0; ++part) {
    for (std::uint32_t slot = 0; slot < subgroup.size; ++slot) {
      if (!survey.found.has(slot, part)) continue;
      reading.spawn(fetch_part(id, part, subgroup.order[slot], survey.data[part - 1]));
      --wanted;
      break;
    }
  }
  co_await reading.join();
  std::uint32_t got = 0;
  for (const Slice& data : survey.data) got += data.empty() ? 0 : 1;
  co_return got >= disk_.state().geometry().parts_to_restore();
}

Task<void> Replicator::fetch_part(BlobId id, std::uint32_t part, std::uint32_t order, Slice& data) {
  GetParts request;
  request.queries.push_back({id.with_part(part), 0, 0});
  RequestBody body = std::move(request);
  DiskReply answer = co_await disk_.ask(order, std::move(body));
  auto* got = std::get_if<GetPartsReply>(&answer.body);
  if (answer.status != Status::kOk || !got || got->answers.size() != 1) co_return;
  if (got->answers[0].status == Status::kOk) data = std::move(got->answers[0].data);
}

Task<void> Replicator::restore(BlobId id) {
  const BlobEntry* entry = disk_.state().index().find(id);
  if (!entry || !disk_.state().missing().contains(id) || over()) co_return;
  const Ingress before = entry->ingress;
  Survey seen = co_await survey(id);
  entry = disk_.state().index().find(id);
  if (!entry || over()) co_return;
  const Geometry& geometry = disk_.state().geometry();
  if (!restorable(geometry, seen.found)) {
    // A missing answer proves nothing, and facts that came meanwhile may be about parts that the
    // survey missed.
    if (seen.unknown == 0 && entry->ingress == before) co_await judge_absent(id, seen);
    co_return;
  }
  if (!co_await fetch(id, seen) || over()) co_return;
  entry = disk_.state().index().find(id);
  if (!entry) co_return;
  const VDiskState::Missing missing = disk_.state().missing_parts(id, *entry);
  if (!restore_parts(geometry.species(), id.size(), seen.data, missing.parts)) co_return;
  for (std::uint32_t part = 1; part <= geometry.parts(); ++part) {
    if ((missing.parts >> (part - 1) & 1) == 0 || over()) continue;
    const BlobEntry* now = disk_.state().index().find(id);
    if (!now || !disk_.state().kept(id, *now)) co_return;
    const auto stored = co_await disk_.store_part(id.with_part(part), seen.data[part - 1], true,
                                                  AppendClass::kOrdinary);
    if (stored) disk_.events_.part_restored();
  }
}

// Every disk has answered, and the parts do not suffice.
Task<void> Replicator::judge_absent(BlobId id, const Survey& seen) {
  const BlobEntry* entry = disk_.state().index().find(id);
  if (!entry) co_return;
  // Below the soft barrier only its Keep flag keeps it, and that came late, after the blob was
  // collected elsewhere: it is collected here too.
  Ingress unflagged = entry->ingress;
  unflagged.bits &= ~kKeepBit;
  if (!disk_.state().barriers().keeps(id, unflagged)) {
    const std::vector<IndexFact> gone{BlobFact{id, Ingress{kDoNotKeepBit}}};
    (void)co_await disk_.log_facts(disk_.state().news(gone));
    co_return;
  }
  // Parts that were lost with a disk cannot be restored.
  const auto own = static_cast<std::uint32_t>(disk_.state().own_slot(id));
  const bool tolerated = slots_tolerated(disk_.state().geometry(), seen.lost | disk_bit(own));
  if (tolerated) co_await conclude_absent(id);
}

// The blob was never confirmed: within the fail model its parts would have sufficed.
Task<void> Replicator::conclude_absent(BlobId id) {
  const BlobEntry* entry = disk_.state().index().find(id);
  if (!entry) co_return;
  if (disk_.state().missing_parts(id, *entry).claimed == 0) {
    disk_.state_.defer(id);
    co_return;
  }
  SmallBytes header = encode_id(id);
  const auto logged = co_await disk_.device_.append(
      disk_.slot_, static_cast<std::uint8_t>(RecordKind::kNotMine), std::move(header), Slice());
  if (logged) disk_.state_.apply_not_mine(id);
}

// Sends a handoff's parts to their mains; parts that the mains have are dropped here.
Task<void> Replicator::move_to_mains(BlobId id) {
  if (!disk_.state().handoffs().contains(id) || over()) co_return;
  const Survey seen = co_await survey(id);
  const std::uint8_t parts = disk_.state().index().local_parts(id);
  const Geometry& geometry = disk_.state().geometry();
  std::uint8_t home = 0;
  Ingress known;
  for (std::uint32_t part = 1; part <= geometry.parts() && !over(); ++part) {
    const bool wanted = geometry.species() == Species::kMirror3dc || (parts >> (part - 1) & 1) != 0;
    if (!wanted) continue;
    const bool there = seen.found.has(part - 1, part) || co_await bring_to_main(id, part, seen);
    if (!there) continue;
    home = static_cast<std::uint8_t>(home | 1u << (part - 1));
    known.bits |= present_bit(geometry, part - 1, part);
  }
  if (has_bug(SeededBug::kDropHandoffEarly)) home = 0xff;
  // One replica in each realm is a write quorum; one in each of two realms is not.
  const bool all = std::popcount(home) >= static_cast<int>(geometry.parts());
  if (geometry.species() == Species::kMirror3dc && !all) co_return;
  for (std::uint32_t part = 1; part <= geometry.parts() && !over(); ++part) {
    const bool local = (disk_.state().index().local_parts(id) >> (part - 1) & 1) != 0;
    if (local && (home >> (part - 1) & 1) != 0) co_await drop_local(id.with_part(part), known);
  }
}

Task<bool> Replicator::bring_to_main(BlobId id, std::uint32_t part, const Survey& survey) {
  const std::uint32_t main = part - 1;
  if (contains(survey.unknown, main)) co_return false;
  // In a mirror every part is the same bytes.
  const std::uint8_t parts = disk_.state().index().local_parts(id);
  if (parts == 0) co_return false;
  const bool mirror = disk_.state().geometry().species() == Species::kMirror3dc;
  const std::uint32_t source =
      mirror ? static_cast<std::uint32_t>(std::countr_zero(parts)) + 1 : part;
  const auto location = disk_.state().index().locate(id.with_part(source));
  if (!location) co_return false;
  auto data = co_await disk_.read_part(id.with_part(source), *location, 0, location->size);
  if (!data || over()) co_return false;
  PutPart put;
  put.id = id.with_part(part);
  put.data = std::move(*data);
  put.ignore_block = true;
  const std::uint32_t order = disk_.state().geometry().subgroup(id).order[main];
  RequestBody body = std::move(put);
  const DiskReply answer = co_await disk_.ask(order, std::move(body));
  co_return answer.status == Status::kOk;
}

// Readers of this disk learn from its ingress that the mains have the parts.
Task<void> Replicator::drop_local(BlobId id, Ingress known) {
  const auto slot = static_cast<std::uint32_t>(disk_.state().own_slot(id));
  known.bits |= moved_bit(disk_.state().geometry(), slot, id.part());
  PutRecord record{id, known, disk_.next_lsn_++};
  SmallBytes header = encode_put(record);
  const auto logged = co_await disk_.device_.append(
      disk_.slot_, static_cast<std::uint8_t>(RecordKind::kDrop), std::move(header), Slice());
  if (!logged) co_return;
  disk_.state_.apply_drop(record);
  disk_.cache_.erase(id);
  ++moved_to_mains_;
}

}  // namespace moraine::blob
