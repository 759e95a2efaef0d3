// FactCounts: how many producers and consumers all partitions of a node remember together.
//
// Promise    While the node remembers more than sources_max producers, sources_allowed() is below
//            what a partition has, in proportion to it: those with many forget most, and one with
//            few keeps them. At most consumers_max committed offsets are reserved.
// Threading  Any; a Share is used on the executor of its partition.
// Tests      fact_counts_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

namespace moraine::queue {

inline constexpr std::uint64_t kNodeSourcesMax = 6'000'000;
inline constexpr std::uint64_t kNodeConsumersMax = 2'000'000;
// Not forgotten for the sake of other partitions.
inline constexpr std::uint64_t kSourcesKeptMin = 1'000;

struct FactLimits {
  std::uint64_t sources_max = kNodeSourcesMax;
  std::uint64_t sources_kept_min = kSourcesKeptMin;
  std::uint64_t consumers_max = kNodeConsumersMax;
};

class FactCounts {
 public:
  explicit FactCounts(FactLimits limits = {}) : limits_(limits) {}
  FactCounts(const FactCounts&) = delete;
  FactCounts& operator=(const FactCounts&) = delete;

  std::uint64_t sources() const { return sources_.load(std::memory_order_relaxed); }
  std::uint64_t consumers() const { return consumers_.load(std::memory_order_relaxed); }
  const FactLimits& limits() const { return limits_; }

  // How many of its `own` producers a partition may keep now.
  std::uint64_t sources_allowed(std::uint64_t own) const {
    const std::uint64_t all = sources();
    if (all <= limits_.sources_max) return std::numeric_limits<std::uint64_t>::max();
    const double part = static_cast<double>(limits_.sources_max) / static_cast<double>(all);
    const auto kept = static_cast<std::uint64_t>(static_cast<double>(own) * part);
    return std::max(kept, limits_.sources_kept_min);
  }

  // What one partition remembers.
  class Share {
   public:
    // Null: no limits.
    explicit Share(std::shared_ptr<FactCounts> counts) : counts_(std::move(counts)) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { set(0, 0); }

    // Replaces the figures, and what was reserved.
    void set(std::uint64_t sources, std::uint64_t consumers) {
      if (!counts_) return;
      if (sources != sources_known_) counts_->sources_.fetch_add(sources - sources_known_);
      if (consumers != consumers_known_)
        counts_->consumers_.fetch_add(consumers - consumers_known_);
      sources_known_ = sources;
      consumers_known_ = consumers;
    }
    // Counts one more consumer. False: the node has as many as it may.
    bool reserve_consumer() {
      if (!counts_) return true;
      if (counts_->consumers_.fetch_add(1) >= counts_->limits_.consumers_max) {
        counts_->consumers_.fetch_sub(1);
        return false;
      }
      ++consumers_known_;
      return true;
    }
    std::uint64_t sources_allowed() const {
      if (!counts_) return std::numeric_limits<std::uint64_t>::max();
      return counts_->sources_allowed(sources_known_);
    }
    // Null: no limits.
    const FactCounts* counts() const { return counts_.get(); }

   private:
    const std::shared_ptr<FactCounts> counts_;
    std::uint64_t sources_known_ = 0;
    std::uint64_t consumers_known_ = 0;
  };

 private:
  const FactLimits limits_;
  std::atomic<std::uint64_t> sources_{0};
  std::atomic<std::uint64_t> consumers_{0};
};

}  // namespace moraine::queue
