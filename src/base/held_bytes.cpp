#include "base/held_bytes.h"

#include <algorithm>
#include <cstring>

namespace moraine {
namespace {

bool side_by_side(const Slice& first, const Slice& second) {
  return first.data() + first.size() == second.data() && first.held_bytes() == second.held_bytes();
}

void copy_run(std::span<Slice* const> run, std::size_t shown) {
  Buffer own(shown);
  std::size_t at = 0;
  for (const Slice* const slice : run) {
    std::memcpy(own.data() + at, slice->data(), slice->size());
    at += slice->size();
  }
  const Slice all = std::move(own).freeze();
  at = 0;
  for (Slice* const slice : run) {
    const std::size_t size = slice->size();
    *slice = all.sub(at, size);
    at += size;
  }
}

}  // namespace

void HeldBytes::add(const Slice& slice) {
  total_ += sizeof(Slice);
  const std::size_t held = slice.held_bytes();
  if (slice.empty() || held == 0) return;
  const std::byte* const end = slice.data() + slice.size();
  for (Block& block : recent_) {
    if (block.bytes != held) continue;
    const std::byte* const from = std::min(block.from, slice.data());
    const std::byte* const to = std::max(block.to, end);
    if (static_cast<std::size_t>(to - from) > held) continue;
    block.from = from;
    block.to = to;
    return;
  }
  recent_[oldest_] = {slice.data(), end, held};
  oldest_ = (oldest_ + 1) % recent_.size();
  total_ += held;
}

void release_large_blocks(std::span<Slice* const> slices) {
  for (std::size_t from = 0; from < slices.size();) {
    std::size_t to = from + 1;
    std::size_t shown = slices[from]->size();
    while (to < slices.size() && side_by_side(*slices[to - 1], *slices[to])) {
      shown += slices[to++]->size();
    }
    if (shown > 0 && slices[from]->held_bytes() > 2 * shown) {
      copy_run(slices.subspan(from, to - from), shown);
    }
    from = to;
  }
}

}  // namespace moraine
