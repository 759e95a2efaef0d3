#include "queue/refusals.h"

#include <iterator>

namespace moraine::queue {
namespace {

std::int32_t epoch_of(const Producer& producer) {
  return producer.numbering == Numbering::kSequence ? producer.epoch : 0;
}

// The base is chosen so that the first refused number is in the middle of the comparable range.
std::uint64_t base_of(const Producer& producer) {
  return producer.numbering == Numbering::kSequence ? producer.number + kSequenceEnd / 2 : 0;
}

}  // namespace

// Sequences wrap: they are compared by their distance from the base.
std::uint64_t Refusals::Refused::place(std::uint64_t number) const {
  return numbering == Numbering::kSequence ? (number - base) % kSequenceEnd : number;
}

bool Refusals::admit(const Producer& producer, bool begins, Instant now) {
  if (producer.numbering == Numbering::kNone) return true;
  auto found = sources_.find(producer.source_id);
  if (found != sources_.end() && found->second.until <= now) {
    forget(found);
    found = sources_.end();
  }
  if (found == sources_.end()) {
    // Sequences are dense: a gap shows without remembered refusals.
    if (producer.numbering == Numbering::kSequence || now >= seq_nos_lost_until_) return true;
    remember(producer, now, true);
    return false;
  }
  Refused& record = found->second;
  const std::int32_t epoch = epoch_of(producer);
  if (record.numbering != producer.numbering || epoch < record.epoch) return true;
  if (epoch > record.epoch) {
    forget(found);
    return true;
  }
  const std::uint64_t place = record.place(producer.number);
  if (!record.numbers.empty()) {
    const std::uint64_t lowest = *record.numbers.begin();
    if (place < lowest && !record.incomplete) return true;
    if (place == lowest && begins) {
      take_lowest(found);
      return true;
    }
  }
  note(record, place);
  return false;
}

void Refusals::take_lowest(Records::iterator record) {
  Refused& refused = record->second;
  refused.numbers.erase(refused.numbers.begin());
  --numbers_;
  refused.incomplete = false;
  if (!refused.numbers.empty()) return;
  if (!refused.beyond) return forget(record);
  refused.incomplete = true;
  refused.beyond.reset();
}

void Refusals::forget(Records::iterator record) {
  numbers_ -= record->second.numbers.size();
  sources_.erase(record);
}

void Refusals::refused(const Producer& producer, bool known, Instant now) {
  if (producer.numbering == Numbering::kNone) return;
  if (producer.numbering == Numbering::kSequence && !known) {
    unknown_producers_until_ = now + rules_.unknown_producer_grace;
  }
  remember(producer, now, false);
}

bool Refusals::begins(const Producer& producer, Instant now) {
  if (producer.numbering != Numbering::kSequence) return true;
  if (producer.number == 0 || now >= unknown_producers_until_) return true;
  remember(producer, now, false);
  return false;
}

void Refusals::remember(const Producer& producer, Instant now, bool incomplete) {
  const std::int32_t epoch = epoch_of(producer);
  auto found = sources_.find(producer.source_id);
  if (found != sources_.end()) {
    const Refused& old = found->second;
    if (old.numbering == producer.numbering && old.epoch > epoch) return;
    if (old.until <= now || old.numbering != producer.numbering || old.epoch < epoch) {
      forget(found);
      found = sources_.end();
    }
  }
  if (found == sources_.end()) {
    if (sources_.size() >= rules_.sources_max || numbers_ >= rules_.numbers_max) {
      const bool dense = producer.numbering == Numbering::kSequence;
      (dense ? sequences_lost_until_ : seq_nos_lost_until_) = now + rules_.memory;
      return;
    }
    found = sources_.try_emplace(producer.source_id).first;
    Refused& record = found->second;
    record.numbering = producer.numbering;
    record.epoch = epoch;
    record.incomplete = incomplete;
    record.base = base_of(producer);
  }
  found->second.until = now + rules_.memory;
  note(found->second, found->second.place(producer.number));
}

// Past the bound the lowest numbers are kept.
void Refusals::note(Refused& record, std::uint64_t place) {
  if (record.beyond && place >= *record.beyond) return;
  if (!record.numbers.insert(place).second) return;
  if (++numbers_ <= rules_.numbers_max) return;
  const auto last = std::prev(record.numbers.end());
  record.beyond = *last;
  record.numbers.erase(last);
  --numbers_;
  if (record.numbers.empty()) {
    record.incomplete = true;
    record.beyond.reset();
  }
}

void Refusals::stored(const std::string& source_id, const Source& source) {
  const auto found = sources_.find(source_id);
  if (found == sources_.end()) return;
  Refused& record = found->second;
  if (record.numbering != source.numbering || record.epoch > source.epoch) return;
  if (record.epoch < source.epoch) return forget(found);
  const auto newer = record.numbers.upper_bound(record.place(source.max_number));
  numbers_ -= static_cast<std::size_t>(std::distance(record.numbers.begin(), newer));
  record.numbers.erase(record.numbers.begin(), newer);
  if (!record.numbers.empty() || record.incomplete) return;
  if (!record.beyond) return forget(found);
  record.incomplete = true;
  record.beyond.reset();
}

void Refusals::sweep(Instant now) {
  for (auto record = sources_.begin(); record != sources_.end();) {
    const auto next = std::next(record);
    if (record->second.until <= now) forget(record);
    record = next;
  }
}

}  // namespace moraine::queue
