#include "base/held_bytes.h"

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
  if (slice.empty()) return;
  const bool same = slice.data() == end_ && slice.held_bytes() == block_;
  end_ = slice.data() + slice.size();
  block_ = slice.held_bytes();
  if (!same) total_ += block_;
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
