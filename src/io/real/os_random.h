// OsRandom: random numbers of the operating system, fetched kOsRandomBatch at a time.
//
// Threading  One thread. A forked child must not use it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "io/random.h"

namespace moraine {

inline constexpr std::size_t kOsRandomBatch = 32;

class OsRandom final : public Random {
 public:
  std::uint64_t next() override;

 private:
  std::array<std::uint64_t, kOsRandomBatch> batch_{};
  std::size_t used_ = kOsRandomBatch;
};

}  // namespace moraine
