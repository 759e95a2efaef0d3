#include "table/chunk/key_list.h"

#include <algorithm>
#include <ranges>

#include "base/invariant.h"
#include "table/memory/memory_store.h"
#include "table/model/key.h"

namespace moraine::table {

void KeyList::add(ByteSpan key) {
  INVARIANT(ends_.empty() || compare_keys(at(ends_.size() - 1), key) < 0, "keys out of order");
  keys_.append(as_text(key));
  ends_.push_back(keys_.size());
}

std::size_t KeyList::lower_bound(ByteSpan key) const {
  const auto all = std::views::iota(std::size_t{0}, size());
  return *std::ranges::partition_point(all,
                                       [&](std::size_t i) { return compare_keys(at(i), key) < 0; });
}

std::size_t KeyList::upper_bound(ByteSpan key) const {
  const auto all = std::views::iota(std::size_t{0}, size());
  return *std::ranges::partition_point(
      all, [&](std::size_t i) { return compare_keys(at(i), key) <= 0; });
}

std::uint64_t KeyList::hash(std::size_t from, std::size_t to, std::uint64_t seed) const {
  std::uint64_t hash = seed;
  for (std::size_t i = from; i < to; ++i) hash = key_hash(at(i), hash);
  return hash;
}

}  // namespace moraine::table
