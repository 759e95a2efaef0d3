// EventText: messages as services write them to topics: events as JSON, with repeated names and
// words, and ids and times that differ.
//
// Promise    The same seed gives the same messages. A batch of a hundred compresses to about a
//            quarter, one message alone to about a half.
#pragma once

#include <string>

#include "bench/tables/rows.h"

namespace moraine::bench {

inline constexpr std::size_t kEventBytesMin = 100;
inline constexpr std::size_t kEventBytesMax = 1'000;

class EventText {
 public:
  explicit EventText(std::uint64_t seed) : dice_(seed) {}

  // Between kEventBytesMin and kEventBytesMax bytes, all sizes equally likely.
  std::string next();

 private:
  Dice dice_;
  std::uint64_t events_ = 0;
};

}  // namespace moraine::bench
