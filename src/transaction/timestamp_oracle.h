// TimestampOracle: the tablet that issues timestamps.
//
//   body and snapshot = version u8 = 1  ceiling u64  crc32c u32
//
// Promise    Each timestamp is above every earlier one, over restarts and whatever the clock does;
//            its seconds are those of the clock unless the clock goes back. Timestamps are issued
//            only below a durable ceiling, and an incarnation begins at the ceiling that it finds.
//            With a lease, a superseded incarnation issues none once the newer one does: it stops a
//            lease after its last confirmed entry, and the newer one waits for longer.
//            While the clock has jumped far ahead and is not confirmed (clock_guard.h), no
//            timestamps are issued.
// Threading  The world's executor; try_next() on any thread.
// Errors     kUnavailable: the clock is refused (the text says so), or this incarnation has ended.
//            kConflict: this incarnation has ended.
// Tests      timestamp_oracle_test.cpp, ceiling_fuzz.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "io/event.h"
#include "tablet/leader.h"
#include "transaction/clock_guard.h"

namespace moraine {

// How far ahead, in seconds, the ceiling is made durable.
inline constexpr std::uint64_t kCeilingSeconds = 10;

struct OracleOptions {
  LeaderOptions leader;
  // nullopt: no other process can have led this tablet just before (one process owns the folder).
  std::optional<Duration> lease;
  // Outlives the oracle and is passed to the next one; null: the oracle has its own.
  ClockGuard* clock = nullptr;
  ClockLimits clock_limits;  // Of its own.
};

Slice encode_ceiling(Timestamp ceiling);
Result<Timestamp> decode_ceiling(ByteSpan bytes);

class TimestampOracle final : public TimestampSource {
 public:
  static Task<Result<std::unique_ptr<TimestampOracle>>> boot(World world, BlobGroups& groups,
                                                             TabletInfo info,
                                                             OracleOptions options = {});
  ~TimestampOracle() override;

  Task<Result<Timestamp>> next() override;
  // Without waiting; nullopt: call next().
  std::optional<Timestamp> try_next();
  // The last issued one, or a bound below the next.
  Timestamp last() const { return last_.load(std::memory_order_acquire); }

  Task<void> stop();
  void abandon() { leader_->abandon(); }
  // Called once, when it ends by itself; at once when it already has.
  void on_end(Callback hook) {
    if (leader_->ended()) return hook();
    leader_->on_end(std::move(hook));
  }

 private:
  class State final : public TabletState {
   public:
    Timestamp ceiling = 0;
    Result<void> restore(const std::vector<Slice>& pages) override;
    Result<void> replay(const Slice& body) override;
    std::vector<Slice> snapshot() const override { return {encode_ceiling(ceiling)}; }
    std::vector<BlobId> live_blobs() const override { return {}; }
  };

  TimestampOracle(World world, OracleOptions options)
      : world_(world),
        options_(options),
        own_clock_(world.clock, world.executor, options.clock_limits),
        guard_(options.clock != nullptr ? *options.clock : own_clock_) {}

  static std::uint64_t seconds_of(const WallClock& clock);
  bool lease_holds() const;
  bool lease_is_short() const;
  Task<Result<void>> extend();
  Task<void> extend_ahead();
  Task<Result<void>> raise_ceiling();

  World world_;
  const OracleOptions options_;
  ClockGuard own_clock_;
  ClockGuard& guard_;
  State state_;
  std::unique_ptr<Leader> leader_;
  std::atomic<Timestamp> last_{0};
  std::atomic<Timestamp> ceiling_{0};  // Durable; all issued timestamps are below.
  std::atomic<std::int64_t> lease_end_ns_{0};
  bool extending_ = false;
  Event extended_{world_.executor};  // Or failed to.
  TaskScope scope_;
};

}  // namespace moraine
