// SimIntervalSet: disjoint half-open intervals of 64-bit numbers; neighbours are joined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace moraine {

class SimIntervalSet {
 public:
  // How much of [begin, end) is not in the set.
  std::uint64_t missing(std::uint64_t begin, std::uint64_t end) const {
    std::uint64_t total = end - begin;
    for (auto it = first_touching(begin); it != intervals_.end() && it->first < end; ++it) {
      const std::uint64_t low = std::max(begin, it->first);
      const std::uint64_t high = std::min(end, it->second);
      if (low < high) total -= high - low;
    }
    return total;
  }

  void insert(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto it = first_touching(begin);
    while (it != intervals_.end() && it->first <= end) {
      begin = std::min(begin, it->first);
      end = std::max(end, it->second);
      total_ -= it->second - it->first;
      it = intervals_.erase(it);
    }
    intervals_.emplace(begin, end);
    total_ += end - begin;
  }

  void erase(std::uint64_t begin, std::uint64_t end) {
    for (auto it = first_touching(begin); it != intervals_.end() && it->first < end;) {
      const auto [low, high] = *it;
      it = intervals_.erase(it);
      total_ -= high - low;
      if (low < begin) add(low, std::min(high, begin));
      if (high > end) add(std::max(low, end), high);
    }
  }

  std::uint64_t total() const { return total_; }
  void clear() {
    intervals_.clear();
    total_ = 0;
  }

 private:
  using Map = std::map<std::uint64_t, std::uint64_t>;

  void add(std::uint64_t begin, std::uint64_t end) {
    intervals_.emplace(begin, end);
    total_ += end - begin;
  }

  // The first interval that ends at or after `at`.
  Map::const_iterator first_touching(std::uint64_t at) const {
    auto it = intervals_.upper_bound(at);
    if (it != intervals_.begin() && std::prev(it)->second >= at) --it;
    return it;
  }

  Map intervals_;
  std::uint64_t total_ = 0;
};

}  // namespace moraine
