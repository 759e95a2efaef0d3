#include "bench/lanes/recording.h"

namespace moraine::bench {

void Recording::add(const std::vector<Slice>& frame) {
  for (const Slice& slice : frame) {
    const ByteSpan part = slice.span();
    bytes_.insert(bytes_.end(), part.begin(), part.end());
  }
  ends_.push_back(bytes_.size());
  expected_.emplace_back();
}

void Recording::expect(std::size_t request, std::vector<AnswerSize> sizes) {
  expected_[request] = std::move(sizes);
}

const AnswerSize* Recording::match(std::size_t request, std::size_t bytes) const {
  const std::vector<AnswerSize>& sizes = expected_[request];
  if (!sizes.empty() && sizes.back().bytes == bytes) [[likely]]
    return &sizes.back();
  const auto found = std::ranges::lower_bound(sizes, bytes, {}, &AnswerSize::bytes);
  return found != sizes.end() && found->bytes == bytes ? &*found : nullptr;
}

}  // namespace moraine::bench
