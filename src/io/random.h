// Random: seeded in the simulator, from the operating system in production.
#pragma once

#include <cstdint>

namespace moraine {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
  // Uniform in [0, bound). Requires: bound > 0.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
};

// xoshiro256**, seeded through splitmix64. The same seed gives the same sequence everywhere.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed);
  std::uint64_t next() override;

 private:
  std::uint64_t state_[4];
};

}  // namespace moraine
