#include "transaction/timestamp_oracle.h"

#include <algorithm>

#include "base/coding.h"
#include "base/sealed.h"
#include "table/tablet/seeded_bug.h"

namespace moraine {
namespace {

constexpr std::uint8_t kCeilingVersion = 1;
// The newer incarnation waits this much longer than the older one serves, for clock drift.
constexpr int kLeaseMarginDivisor = 4;

}  // namespace

Slice encode_ceiling(Timestamp ceiling) {
  Encoder encoder;
  encoder.u8(kCeilingVersion).u64(ceiling);
  return seal(std::move(encoder));
}

Result<Timestamp> decode_ceiling(ByteSpan bytes) {
  TRY(const ByteSpan body, unseal(bytes));
  Decoder decoder(body);
  const std::uint8_t version = decoder.u8();
  if (!decoder.failed() && version != kCeilingVersion) {
    return fail(Errc::kUnsupported, fmt::format("timestamp ceiling version {}", version));
  }
  const Timestamp ceiling = decoder.u64();
  if (!decoder.finished() || ceiling > kMaxTimestamp) {
    return fail(Errc::kCorrupt, "timestamp ceiling");
  }
  return ceiling;
}

Result<void> TimestampOracle::State::restore(const std::vector<Slice>& pages) {
  for (const Slice& page : pages) {
    TRY_VOID(replay(page));
  }
  return {};
}

Result<void> TimestampOracle::State::replay(const Slice& body) {
  TRY(const Timestamp found, decode_ceiling(body));
  ceiling = std::max(ceiling, found);
  return {};
}

Task<Result<std::unique_ptr<TimestampOracle>>> TimestampOracle::boot(World world,
                                                                     BlobGroups& groups,
                                                                     TabletInfo info,
                                                                     OracleOptions options) {
  std::unique_ptr<TimestampOracle> oracle(new TimestampOracle(world, options));
  const bool waits = options.lease.has_value();
  CO_TRY(oracle->leader_,
         co_await Leader::boot(world, groups, std::move(info), oracle->state_, options.leader));
  if (waits) {
    const Duration lease = *options.lease;
    co_await sleep_for(world.executor, lease + lease / kLeaseMarginDivisor);
  }
  Timestamp first = std::max<Timestamp>(oracle->state_.ceiling, kMinTimestamp);
  if (has_bug(table::SeededBug::kTimestampGoesBack)) {
    first = timestamp_of_seconds(seconds_of(world.clock));
  }
  // The clock is checked once here, for callers that only read it; next() fails if it is refused.
  (void)oracle->guard_.check(oracle->state_.ceiling);
  oracle->last_.store(first, std::memory_order_release);
  co_return std::move(oracle);
}

TimestampOracle::~TimestampOracle() = default;

std::uint64_t TimestampOracle::seconds_of(const WallClock& clock) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(clock.since_epoch()).count();
  constexpr std::int64_t kSecondsMax = static_cast<std::int64_t>(unix_seconds(kMaxTimestamp)) - 1;
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(seconds, 0, kSecondsMax));
}

bool TimestampOracle::lease_holds() const {
  if (!options_.lease) return true;
  return world_.executor.now().since_start.count() < lease_end_ns_.load(std::memory_order_acquire);
}

bool TimestampOracle::lease_is_short() const {
  if (!options_.lease) return false;
  const std::int64_t end = lease_end_ns_.load(std::memory_order_relaxed);
  return world_.executor.now().since_start.count() > end - options_.lease->count() / 2;
}

std::optional<Timestamp> TimestampOracle::try_next() {
  if (!lease_holds()) return std::nullopt;
  const Timestamp ceiling = ceiling_.load(std::memory_order_acquire);
  const Timestamp by_clock = timestamp_of_seconds(seconds_of(world_.clock));
  Timestamp last = last_.load(std::memory_order_acquire);
  for (;;) {
    const Timestamp given = std::max(last + 1, by_clock);
    if (given >= ceiling) return std::nullopt;
    if (last_.compare_exchange_weak(last, given, std::memory_order_acq_rel)) return given;
  }
}

Task<Result<Timestamp>> TimestampOracle::next() {
  for (;;) {
    if (leader_->ended()) co_return std::unexpected(*leader_->ended());
    const std::optional<Timestamp> given = try_next();
    if (!given) {
      CO_TRY_VOID(co_await extend());
      continue;
    }
    const Timestamp room = ceiling_.load(std::memory_order_relaxed) - *given;
    const bool low = room < timestamp_of_seconds(kCeilingSeconds / 2) || lease_is_short();
    if (low && !extending_) scope_.spawn(extend_ahead());
    co_return *given;
  }
}

Task<void> TimestampOracle::extend_ahead() {
  // The next call fails with the reason.
  (void)co_await extend();
}

// Calls that arrive while the ceiling is being raised wait for that.
Task<Result<void>> TimestampOracle::extend() {
  if (extending_) {
    co_await extended_.wait();
    if (leader_->ended()) co_return std::unexpected(*leader_->ended());
    co_return Result<void>{};
  }
  extending_ = true;
  Result<void> raised = co_await raise_ceiling();
  extending_ = false;
  extended_.notify_all();
  co_return raised;
}

Task<Result<void>> TimestampOracle::raise_ceiling() {
  CO_TRY_VOID(guard_.check(state_.ceiling));
  const Timestamp from =
      std::max(last_.load(std::memory_order_acquire), timestamp_of_seconds(seconds_of(guard_)));
  const Timestamp ceiling = from + timestamp_of_seconds(kCeilingSeconds);
  if (ceiling >= kMaxTimestamp) co_return fail(Errc::kUnavailable, "timestamps are used up");
  const Instant asked = world_.executor.now();
  CommitRequest request;
  request.body = [ceiling](const std::vector<BlobId>&) { return encode_ceiling(ceiling); };
  Leader::Confirmed confirmed = [this, ceiling](const std::vector<BlobId>&) {
    state_.ceiling = std::max(state_.ceiling, ceiling);
  };
  CO_TRY_VOID(co_await leader_->commit(std::move(request), std::move(confirmed)));
  if (options_.lease) {
    lease_end_ns_.store((asked + *options_.lease).since_start.count(), std::memory_order_release);
  }
  ceiling_.store(ceiling, std::memory_order_release);
  co_return Result<void>{};
}

Task<void> TimestampOracle::stop() {
  scope_.close();
  co_await scope_.join();
  co_await leader_->stop(true);
}

}  // namespace moraine
