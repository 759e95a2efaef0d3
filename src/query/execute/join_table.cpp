#include "query/execute/join_table.h"

#include <bit>

namespace moraine::query {
namespace {

constexpr std::size_t kPrefetchDistance = 16;

}  // namespace

void JoinTable::add(std::span<const Column> columns, std::span<const Column> keys,
                    const Selection& rows) {
  rows_.append(columns, rows);
  keys_.append(keys, rows);
}

std::size_t JoinTable::bytes() const {
  return rows_.bytes() + keys_.bytes() + slots_.capacity() * sizeof(Slot) +
         next_.capacity() * sizeof(std::uint32_t);
}

bool JoinTable::has_null(std::span<const Column> keys, std::size_t row) const {
  for (const Column& key : keys) {
    if (key.type == ValueType::kNull || key.is_null(row)) return true;
  }
  return false;
}

void JoinTable::build() {
  const std::size_t count = rows_.rows();
  slots_.resize(std::bit_ceil(count * 2 + 2));
  next_.assign(count, kNone);
  const std::size_t mask = slots_.size() - 1;
  const Batch keys = keys_.view(0, count);
  std::vector<std::uint64_t> hashes(count);
  hash_rows(keys.columns, Selection::all(count), hashes.data());
  // From the last to the first, so that a chain begins with the first.
  for (std::size_t i = count; i-- > 0;) {
    if (i >= kPrefetchDistance) {
      __builtin_prefetch(&slots_[hashes[i - kPrefetchDistance] & mask], 1);
    }
    if (!null_equals_null_ && has_null(keys.columns, i)) continue;
    const auto salt = static_cast<std::uint32_t>(hashes[i] >> 32);
    std::size_t at = hashes[i] & mask;
    while (
        slots_[at].row != kNone &&
        (slots_[at].salt != salt || !equal_keys(keys.columns, i, keys.columns, slots_[at].row))) {
      at = (at + 1) & mask;
    }
    next_[i] = slots_[at].row;
    slots_[at] = {.salt = salt, .row = static_cast<std::uint32_t>(i)};
  }
}

void JoinTable::probe(std::span<const Column> keys, const Selection& rows, std::uint64_t* hashes,
                      std::uint32_t* first) const {
  hash_rows(keys, rows, hashes);
  const std::size_t mask = slots_.size() - 1;
  const Batch stored = keys_.view(0, keys_.rows());
  for (std::size_t i = 0; i < rows.count; ++i) {
    if (i + kPrefetchDistance < rows.count) {
      __builtin_prefetch(&slots_[hashes[i + kPrefetchDistance] & mask]);
    }
    const std::uint32_t row = rows[i];
    first[i] = kNone;
    if (!null_equals_null_ && has_null(keys, row)) continue;
    const auto salt = static_cast<std::uint32_t>(hashes[i] >> 32);
    std::size_t at = hashes[i] & mask;
    while (slots_[at].row != kNone) {
      if (slots_[at].salt == salt && equal_keys(keys, row, stored.columns, slots_[at].row)) {
        first[i] = slots_[at].row;
        break;
      }
      at = (at + 1) & mask;
    }
  }
}

}  // namespace moraine::query
