#include "blob/proxy/data_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "base/invariant.h"

namespace moraine::blob {
namespace {

constexpr std::uint32_t kDataParts = 4;  // In block-4-2.

std::uint32_t end_of(const PartRange& range) {
  return range.offset + range.size;
}

bool covers(const PartRange& outer, const PartRange& inner) {
  return outer.offset <= inner.offset && end_of(inner) <= end_of(outer);
}

PartRange hull(const PartRange& a, const PartRange& b) {
  if (a.size == 0) return b;
  if (b.size == 0) return a;
  const std::uint32_t from = std::min(a.offset, b.offset);
  return {from, std::max(end_of(a), end_of(b)) - from};
}

PartRange whole_columns(std::uint32_t from, std::uint32_t to) {
  const auto begin = static_cast<std::uint32_t>(align_down(from, kColumnUnit));
  const auto end = static_cast<std::uint32_t>(align_up(to, kColumnUnit));
  return {begin, end - begin};
}

}  // namespace

bool DataPlan::Piece::covers(const PartRange& range) const {
  return offset <= range.offset && end_of(range) <= offset + data.size();
}

DataPlan::DataPlan(const Geometry& geometry, const BlobId& id, std::uint32_t shift,
                   std::uint32_t size, const ReadPreference& preference)
    : ReadPlan(geometry, id), shift_(shift), size_(size) {
  INVARIANT(size > 0 && shift < id.size() && size <= id.size() - shift,
            "range {}+{} is outside the blob of {} bytes", shift, size, id.size());
  rank_slots(preference);
  if (!block42()) {
    needs_[0] = {shift, size};
    return;
  }
  for (std::uint32_t part = 1; part <= kDataParts; ++part) {
    const PartRange slice = data_slice(id.size(), part);
    const std::uint32_t from = std::max(shift, slice.offset);
    const std::uint32_t to = std::min(shift + size, end_of(slice));
    if (from >= to) continue;
    needs_[part - 1] = whole_columns(from - slice.offset, to - slice.offset);
  }
}

void DataPlan::rank_slots(const ReadPreference& preference) {
  for (std::uint32_t slot = 0; slot < subgroup_.size; ++slot) {
    ranked_[slot] = static_cast<std::uint8_t>(slot);
    if (contains(preference.avoid, subgroup_.order[slot])) avoid_ |= disk_bit(slot);
  }
  if (block42()) return;
  std::ranges::sort(ranked_.begin(), ranked_.begin() + subgroup_.size, {}, [&](std::uint8_t slot) {
    return std::tuple(contains(avoid_, slot), !geometry_.is_main(slot),
                      preference.rank[subgroup_.order[slot]], slot);
  });
}

void DataPlan::ask(std::vector<ReadAsk>& asks, std::uint32_t slot, std::uint32_t part,
                   PartRange range) {
  asked_ |= disk_bit(slot);
  in_flight_ |= disk_bit(slot);
  asked_range_[slot] = range;
  asks.push_back(
      {static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(part), range.offset, range.size});
}

bool DataPlan::expected(std::uint32_t slot, const PartRange& range) const {
  return contains(in_flight_ & ~late_, slot) && covers(asked_range_[slot], range);
}

// Not read yet, or it has a part but was read for other columns.
bool DataPlan::worth_asking(std::uint32_t slot, const PartRange& range) const {
  if (contains(in_flight_ | failed_, slot)) return false;
  if (!contains(asked_, slot)) return true;
  return found_.parts_at[slot] != 0 && !covers(asked_range_[slot], range);
}

const DataPlan::Piece* DataPlan::piece_of(std::uint32_t part, const PartRange& range) const {
  const auto found = std::ranges::find_if(
      pieces_, [&](const Piece& piece) { return piece.part == part && piece.covers(range); });
  return found == pieces_.end() ? nullptr : &*found;
}

void DataPlan::next(std::vector<ReadAsk>& asks) {
  if (block42()) {
    next_block42(asks);
  } else {
    next_mirror(asks);
  }
  if (in_flight_ == 0 && !done()) status_ = Status::kError;
}

void DataPlan::next_block42(std::vector<ReadAsk>& asks) {
  bool compute = false;
  for (std::uint32_t part = 1; part <= kDataParts; ++part) {
    const PartRange need = needs_[part - 1];
    const std::uint32_t slot = part - 1;
    if (need.size == 0 || piece_of(part, need) != nullptr) continue;
    if (!contains(asked_ | avoid_, slot)) ask(asks, slot, part, need);
    if (expected(slot, need)) continue;
    hull_ = hull(hull_, need);
    compute = true;
  }
  if (compute) ask_columns(asks);
}

void DataPlan::ask_columns(std::vector<ReadAsk>& asks) {
  const std::uint32_t parts = geometry_.parts();
  std::uint32_t count = 0;
  for (std::uint32_t part = 1; part <= parts; ++part) {
    if (piece_of(part, hull_) != nullptr || expected(part - 1, hull_)) ++count;
  }
  for (const bool avoided : {false, true}) {
    for (std::uint32_t slot = 0; slot < parts && count < kDataParts; ++slot) {
      if (contains(avoid_, slot) != avoided || !worth_asking(slot, hull_)) continue;
      if (piece_of(slot + 1, hull_) != nullptr) continue;
      ask(asks, slot, Geometry::main_part(slot), hull_);
      ++count;
    }
  }
  if (count >= kDataParts) return;
  for (std::uint32_t slot = parts; slot < geometry_.slots(); ++slot) {
    if (worth_asking(slot, hull_)) ask(asks, slot, 0, hull_);
  }
}

void DataPlan::next_mirror(std::vector<ReadAsk>& asks) {
  if ((in_flight_ & ~late_) != 0) return;
  const int empty = std::popcount(definite_);
  const std::uint32_t width = empty == 0 ? 1 : empty == 1 ? 2 : geometry_.slots();
  std::uint32_t asking = 0;
  for (std::uint32_t i = 0; i < subgroup_.size && asking < width; ++i) {
    const std::uint32_t slot = ranked_[i];
    if (contains(asked_, slot)) continue;
    ask(asks, slot, slot % geometry_.parts() + 1, needs_[0]);
    ++asking;
  }
}

void DataPlan::take(const ReadAsk& asked, const PartAnswer& answer) {
  const std::uint32_t part = answer.part != 0 ? answer.part : asked.part;
  const bool possible =
      part >= 1 && part <= geometry_.parts() && geometry_.allowed(asked.slot, part);
  switch (answer.status) {
    case Status::kOk:
      if (!possible || answer.data.size() != asked.size) break;
      found_.add(asked.slot, part);
      pieces_.push_back({static_cast<std::uint8_t>(part), asked.offset, answer.data});
      return;
    case Status::kNoData: return;
    case Status::kCorrupted:
      if (possible) broken_.add(asked.slot, part);
      break;
    default: break;
  }
  definite_ &= ~disk_bit(asked.slot);
}

void DataPlan::answered(const ReadAsk& asked, std::span<const PartAnswer> answers, AnswerOrigin) {
  const DiskSet slot = disk_bit(asked.slot);
  in_flight_ &= ~slot;
  late_ &= ~slot;
  found_.parts_at[asked.slot] = 0;
  definite_ |= slot;
  if (answers.empty()) definite_ &= ~slot;
  for (const PartAnswer& answer : answers) {
    add_ingress(asked.slot, answer.ingress);
    take(asked, answer);
  }
  if (!contains(definite_, asked.slot) && found_.parts_at[asked.slot] == 0) failed_ |= slot;
  settle();
}

void DataPlan::failed(const ReadAsk& asked) {
  const DiskSet slot = disk_bit(asked.slot);
  in_flight_ &= ~slot;
  definite_ &= ~slot;
  failed_ |= slot;
  found_.parts_at[asked.slot] = 0;
  settle();
}

void DataPlan::late(std::uint32_t slot) {
  late_ |= disk_bit(slot);
  settle();
}

void DataPlan::settle() {
  if (done()) return;
  if (assemble()) {
    status_ = Status::kOk;
    return;
  }
  const DiskSet again = to_ask_again(definite_);
  asked_ &= ~again;
  definite_ &= ~again;
  if (((in_flight_ & ~late_) | again) != 0) return;
  const Verdict verdict = judge(geometry_, found_, all_slots() & ~up_to_date(definite_));
  if (verdict == Verdict::kAbsent) status_ = Status::kNoData;
}

bool DataPlan::assemble() {
  if (block42()) return assemble_block42();
  if (pieces_.empty()) return false;
  data_ = pieces_.front().data;
  return true;
}

// The hull's columns of every available part; nullopt when they are too few.
std::optional<PartSet> DataPlan::columns() const {
  PartSet set;
  std::uint32_t count = 0;
  if (hull_.size == 0) return std::nullopt;
  for (std::uint32_t part = 1; part <= geometry_.parts(); ++part) {
    const Piece* piece = piece_of(part, hull_);
    if (piece == nullptr) continue;
    set[part - 1] = piece->data.sub(hull_.offset - piece->offset, hull_.size);
    ++count;
  }
  if (count < geometry_.parts_to_restore()) return std::nullopt;
  return set;
}

bool DataPlan::assemble_block42() {
  const std::optional<PartSet> at_hand = columns();
  std::array<Slice, kDataParts> sources;
  for (std::uint32_t part = 1; part <= kDataParts; ++part) {
    const PartRange need = needs_[part - 1];
    if (need.size == 0) continue;
    if (const Piece* piece = piece_of(part, need)) {
      sources[part - 1] = piece->data.sub(need.offset - piece->offset, need.size);
      continue;
    }
    if (!at_hand || !covers(hull_, need)) return false;
    const Result<Slice> computed = restore_column(part, *at_hand);
    if (!computed) return false;
    sources[part - 1] = computed->sub(need.offset - hull_.offset, need.size);
  }
  Buffer joined;
  std::uint32_t filled = 0;
  for (std::uint32_t part = 1; part <= kDataParts; ++part) {
    if (needs_[part - 1].size == 0) continue;
    const PartRange slice = data_slice(id_.size(), part);
    const std::uint32_t from = std::max(shift_, slice.offset);
    const std::uint32_t to = std::min(shift_ + size_, end_of(slice));
    const std::uint32_t skip = from - slice.offset - needs_[part - 1].offset;
    const Slice piece = sources[part - 1].sub(skip, to - from);
    if (piece.size() == size_) {
      data_ = piece;
      return true;
    }
    if (filled == 0) joined = Buffer(size_);
    std::memcpy(joined.data() + filled, piece.data(), piece.size());
    filled += to - from;
  }
  data_ = std::move(joined).freeze();
  return true;
}

}  // namespace moraine::blob
