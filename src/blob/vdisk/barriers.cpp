#include "blob/vdisk/barriers.h"

#include <fmt/format.h>

namespace moraine::blob {
namespace {

BarrierSequence sequence_of(const BarrierFact& fact) {
  return {fact.tablet, fact.channel, fact.hard};
}
BarrierRecordKey key_of(const BarrierFact& fact) {
  return {fact.record_generation, fact.counter};
}
std::string describe(GenStep at) {
  return fmt::format("{}:{}", at.generation, at.step);
}

}  // namespace

BarrierFact Barriers::fact_of(const BarrierSequence& sequence, BarrierRecordKey key,
                              const BarrierRecord& record) {
  BarrierFact fact;
  fact.tablet = sequence.tablet;
  fact.channel = sequence.channel;
  fact.hard = sequence.hard;
  fact.record_generation = key.generation;
  fact.counter = key.counter;
  fact.barrier = record.barrier;
  fact.seen = record.seen;
  return fact;
}

Barriers::Answer Barriers::check(const BarrierFact& fact, std::uint32_t own_order) const {
  if (fact.barrier == GenStep::max() &&
      (fact.record_generation != kGenerationMax || fact.counter != ~0u)) {
    return {Status::kError, "a barrier at Max:Max needs a record generation and counter of Max"};
  }
  const auto found = sequences_.find(sequence_of(fact));
  if (found == sequences_.end()) return {};
  const Records& records = found->second.records;
  const BarrierRecordKey key = key_of(fact);
  if (const auto same = records.find(key); same != records.end()) {
    if (same->second.barrier != fact.barrier) {
      return {Status::kError,
              fmt::format("record {}:{} was already used for barrier {}", key.generation,
                          key.counter, describe(same->second.barrier))};
    }
    return {contains(same->second.seen, own_order) ? Status::kAlready : Status::kOk, {}};
  }
  if (const auto later = records.upper_bound(key); later != records.end()) {
    return {Status::kError,
            fmt::format("record {}:{} is older than {}:{}, which was used already", key.generation,
                        key.counter, later->first.generation, later->first.counter)};
  }
  if (!records.empty() && fact.barrier < records.rbegin()->second.barrier) {
    return {Status::kError,
            fmt::format("barrier {} is below the last barrier {}", describe(fact.barrier),
                        describe(records.rbegin()->second.barrier))};
  }
  return {};
}

std::optional<BarrierFact> Barriers::news(const BarrierFact& fact, std::uint32_t own_order) const {
  BarrierFact merged = fact;
  merged.seen |= disk_bit(own_order);
  const auto found = sequences_.find(sequence_of(fact));
  if (found == sequences_.end()) return merged;
  const Sequence& sequence = found->second;
  const auto same = sequence.records.find(key_of(fact));
  if (same != sequence.records.end()) {
    merged.seen |= same->second.seen;
    merged.barrier = std::max(merged.barrier, same->second.barrier);
    const bool known = merged.seen == same->second.seen && merged.barrier == same->second.barrier;
    return known ? std::nullopt : std::optional(merged);
  }
  // Older than the record in effect: it cannot change anything.
  if (sequence.holds && !sequence.records.empty() &&
      key_of(fact) < sequence.records.begin()->first) {
    return std::nullopt;
  }
  return merged;
}

std::optional<Barriers::Moved> Barriers::merge(const BarrierFact& fact, const Geometry& geometry) {
  Sequence& sequence = sequences_[sequence_of(fact)];
  if (sequence.holds && !sequence.records.empty() &&
      key_of(fact) < sequence.records.begin()->first) {
    return std::nullopt;
  }
  BarrierRecord& record = sequence.records[key_of(fact)];
  record.barrier = std::max(record.barrier, fact.barrier);
  record.seen |= fact.seen;
  const std::optional<GenStep> before = sequence.holds;
  // The newest record that may take effect decides; older ones are superseded.
  auto acting = sequence.records.end();
  for (auto at = sequence.records.begin(); at != sequence.records.end(); ++at) {
    if (fact.hard || group_quorum(geometry, at->second.seen)) acting = at;
  }
  if (acting != sequence.records.end()) {
    // A newer record may have a lower barrier (from a disk that had not seen the older one): the
    // barrier stays, and the record has it from now on.
    if (sequence.holds) acting->second.barrier = std::max(acting->second.barrier, *sequence.holds);
    sequence.holds = acting->second.barrier;
    sequence.records.erase(sequence.records.begin(), acting);
  }
  while (sequence.records.size() > kPendingBarriersMax) {
    // The first record is the one in effect, if any is.
    sequence.records.erase(sequence.holds ? std::next(sequence.records.begin())
                                          : sequence.records.begin());
  }
  if (sequence.holds == before) return std::nullopt;
  return Moved{sequence_of(fact), before, *sequence.holds};
}

BarrierFact Barriers::current(const BarrierFact& fact) const {
  const auto sequence = sequences_.find(sequence_of(fact));
  if (sequence == sequences_.end()) return fact;
  const auto record = sequence->second.records.find(key_of(fact));
  if (record == sequence->second.records.end()) return fact;
  return fact_of(sequence->first, record->first, record->second);
}

bool Barriers::under(const BarrierSequence& sequence, GenStep at) const {
  const auto found = sequences_.find(sequence);
  return found != sequences_.end() && found->second.holds && at <= *found->second.holds;
}

bool Barriers::keeps(const BlobId& id, Ingress ingress) const {
  if (under({id.tablet(), id.channel(), true}, id.gen_step())) return false;
  if (keep_flag(ingress) && !do_not_keep_flag(ingress)) return true;
  return !under({id.tablet(), id.channel(), false}, id.gen_step());
}

std::optional<GenStep> Barriers::soft(TabletId tablet, Channel channel) const {
  const auto found = sequences_.find({tablet, channel, false});
  return found == sequences_.end() ? std::nullopt : found->second.holds;
}

}  // namespace moraine::blob
