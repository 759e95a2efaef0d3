#include "table/chunk/row_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/invariant.h"
#include "table/chunk/row_block_layout.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

constexpr std::uint64_t kLowBits = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;

// Sets the high bits of those of eight bytes that equal the hash's mark, and sometimes of a byte
// above one.
std::uint64_t equal_marks(const std::byte* marks, std::uint64_t hash) {
  const std::uint64_t differing = load<std::uint64_t>(marks) ^ kLowBits * hash_mark(hash);
  return (differing - kLowBits) & ~differing & kHighBits;
}

bool same(const std::byte* a, const std::byte* b, std::size_t size) {
  return std::memcmp(a, b, size) == 0;
}

}  // namespace

Timestamp RowBlock::newest(std::uint32_t row) const {
  const RowBlockHead& h = head();
  const unsigned width = h.second_bits + h.counter_bits;
  const std::uint64_t bits = get_bits(base_ + h.times_at, std::uint64_t{row} * width, width);
  const std::uint64_t counter = bits & ((std::uint64_t{1} << h.counter_bits) - 1);
  return make_time(
      {.seconds = h.base_seconds + (bits >> h.counter_bits), .counter = h.base_counter + counter});
}

bool RowBlock::equals(std::uint32_t row, ByteSpan key) const {
  const RowBlockHead& h = head();
  const Place at = place(row);
  if (key.size() != h.prefix_size + at.middle.size() + h.suffix_size) return false;
  const std::byte* middle = key.data() + h.prefix_size;
  return same(middle, at.middle.data(), at.middle.size()) &&
         same(key.data(), base_ + h.prefix_at, h.prefix_size) &&
         same(middle + at.middle.size(), base_ + h.suffix_at, h.suffix_size);
}

std::uint32_t RowBlock::find(ByteSpan key, std::uint64_t hash) const {
  const std::uint32_t count = rows();
  const std::byte* marks = base_ + sizeof(RowBlockHead);
  for (std::uint32_t from = 0; from < count; from += 8) {
    for (std::uint64_t hits = equal_marks(marks + from, hash); hits != 0; hits &= hits - 1) {
      const std::uint32_t row = from + static_cast<std::uint32_t>(std::countr_zero(hits)) / 8;
      if (row < count && equals(row, key)) return row;
    }
  }
  return kNone;
}

void RowBlock::prefetch_row(std::uint64_t hash) const {
  const RowBlockHead& h = head();
  const std::byte* marks = base_ + sizeof(RowBlockHead);
  for (std::uint32_t from = 0; from < h.rows; from += 8) {
    const std::uint64_t hits = equal_marks(marks + from, hash);
    if (hits == 0) continue;
    const std::uint32_t row = from + static_cast<std::uint32_t>(std::countr_zero(hits)) / 8;
    if (row >= h.rows) return;
    const std::byte* offsets = base_ + h.offsets_at;
    const std::byte* at = base_ + (h.wide_offsets ? load<std::uint32_t>(offsets + row * 4)
                                                  : load<std::uint16_t>(offsets + row * 2));
    __builtin_prefetch(at);
    __builtin_prefetch(at + 64);
    __builtin_prefetch(base_ + h.times_at + row * (h.second_bits + h.counter_bits) / 8);
    return;
  }
}

std::uint32_t RowBlock::lower_bound(ByteSpan key) const {
  const RowBlockHead& h = head();
  const ByteSpan prefix(base_ + h.prefix_at, h.prefix_size);
  const ByteSpan suffix(base_ + h.suffix_at, h.suffix_size);
  const ByteSpan begin = key.first(std::min<std::size_t>(key.size(), h.prefix_size));
  if (const auto order = compare_keys(begin, prefix); order != 0) return order < 0 ? 0 : h.rows;
  const ByteSpan rest = key.subspan(h.prefix_size);
  const auto below = [&](std::uint32_t row) {
    const ByteSpan middle = place(row).middle;
    const ByteSpan front = rest.first(std::min(rest.size(), middle.size()));
    if (const auto order = compare_keys(middle, front); order != 0) return order < 0;
    return compare_keys(suffix, rest.subspan(front.size())) < 0;
  };
  std::uint32_t low = 0;
  std::uint32_t high = h.rows;
  while (low < high) {
    const std::uint32_t mid = low + (high - low) / 2;
    if (below(mid)) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

void RowBlock::key(std::uint32_t row, std::string& out) const {
  const RowBlockHead& h = head();
  const ByteSpan middle = place(row).middle;
  out.resize(h.prefix_size + middle.size() + h.suffix_size);
  std::memcpy(out.data(), base_ + h.prefix_at, h.prefix_size);
  std::memcpy(out.data() + h.prefix_size, middle.data(), middle.size());
  std::memcpy(out.data() + h.prefix_size + middle.size(), base_ + h.suffix_at, h.suffix_size);
}

bool RowBlock::read(std::uint32_t row, const ReadPlan& plan, const ReadSpec& spec,
                    RowBuilder& out) const {
  const RowBlockHead& h = head();
  const std::byte* at = place(row).after;
  const std::uint8_t kind = h.one_kind ? h.kind : static_cast<std::uint8_t>(*at++);
  return read_row(at, kind, plan, newest(row), spec, out);
}

}  // namespace moraine::table
