// Repeats: which names of a request, or partitions of topics, were named before.
//
// Promise    Something that a request names several times is handled once.
// Use        The names must outlive it: they are views of the request.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "gateway/kafka/protocol/types.h"

namespace moraine::kafka {

class Repeats {
 public:
  // True for the first time.
  bool first(std::string_view name, std::int32_t number = 0) {
    return seen_.emplace(name, number).second;
  }
  bool first(const Uuid& id, std::int32_t number = 0) { return first(as_text(id.bytes), number); }

 private:
  std::set<std::pair<std::string_view, std::int32_t>> seen_;
};

// How often each name occurs.
class Occurrences {
 public:
  void add(std::string_view name, std::int32_t number = 0) { ++times_[{name, number}]; }
  bool repeated(std::string_view name, std::int32_t number = 0) const {
    const auto found = times_.find({name, number});
    return found != times_.end() && found->second > 1;
  }

 private:
  std::map<std::pair<std::string_view, std::int32_t>, std::size_t> times_;
};

}  // namespace moraine::kafka
