#include "table/chunk/key_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/coding.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  return static_cast<std::size_t>(end - a.begin());
}

std::uint64_t big_endian(ByteSpan bytes) {
  if (bytes.size() >= 8) return __builtin_bswap64(load<std::uint64_t>(bytes.data()));
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= static_cast<std::uint64_t>(bytes[i]) << (56 - 8 * i);
  }
  return word;
}

}  // namespace

std::string_view separator(std::string_view last, std::string_view next) {
  return next.substr(0, shared_prefix(last, next) + 1);
}

KeyIndex::KeyIndex(const std::vector<std::string>& separators) {
  if (separators.empty()) return;
  for (const std::string& key : separators) {
    keys_.append(key);
    ends_.push_back(static_cast<std::uint32_t>(keys_.size()));
  }
  prefix_ = separators.front().substr(0, shared_prefix(separators.front(), separators.back()));
  std::vector<std::uint64_t> level;
  for (std::size_t i = 0; i < size(); ++i) level.push_back(word(at(i)));
  for (;;) {
    // At least one word has the greatest value: a search never leaves the last node.
    level.resize(align_up(level.size() + 1, kNode), ~std::uint64_t{0});
    levels_.push_back(level);
    if (level.size() == kNode) break;
    std::vector<std::uint64_t> above;
    for (std::size_t i = kNode - 1; i < level.size(); i += kNode) above.push_back(level[i]);
    level = std::move(above);
  }
}

std::uint64_t KeyIndex::word(ByteSpan key) const {
  return big_endian(key.subspan(prefix_.size()));
}

// The number of words below `word`. May be past the last one when `word` is the greatest possible.
std::size_t KeyIndex::lower_bound(std::uint64_t word) const {
  std::size_t node = 0;
  for (std::size_t level = levels_.size(); level-- > 0;) {
    const std::uint64_t* words = levels_[level].data() + node * kNode;
    std::size_t below = 0;
    for (std::size_t i = 0; i < kNode; ++i) below += words[i] < word ? 1 : 0;
    node = node * kNode + below;
  }
  return std::min(node, size());
}

std::size_t KeyIndex::find(ByteSpan key) const {
  if (size() == 0) return 0;
  const ByteSpan begin = key.first(std::min(key.size(), prefix_.size()));
  if (const auto order = compare_keys(begin, as_bytes(prefix_)); order != 0) {
    return order < 0 ? 0 : size();
  }
  const std::uint64_t wanted = word(key);
  std::size_t low = lower_bound(wanted);
  if (low == size() || levels_[0][low] != wanted) return low;
  // Equal words do not decide: among them whole keys are compared.
  std::size_t high = wanted == ~std::uint64_t{0} ? size() : lower_bound(wanted + 1);
  while (low < high) {
    const std::size_t mid = low + (high - low) / 2;
    if (compare_keys(at(mid), key) <= 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

std::size_t KeyIndex::memory_bytes() const {
  std::size_t bytes = keys_.capacity() + ends_.capacity() * sizeof(std::uint32_t);
  for (const auto& level : levels_) bytes += level.capacity() * sizeof(std::uint64_t);
  return bytes;
}

}  // namespace moraine::table
