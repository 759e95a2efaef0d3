#include "gateway/kafka/producer_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/node_bug.h"
#include "io/run_on.h"

namespace moraine::kafka {
namespace {

// clang-format off
// counter  version u8 = 1, next u64, crc32c u32 of what comes before
// clang-format on
constexpr std::uint8_t kVersion = 1;
constexpr char kKey[] = "kafka/next_producer_id";

}  // namespace

Slice encode_producer_id_counter(std::int64_t next) {
  Encoder encoder;
  encoder.u8(kVersion).u64(static_cast<std::uint64_t>(next));
  const std::uint32_t crc = crc32c(encoder.span());
  encoder.u32(crc);
  return encoder.slice();
}

Result<std::int64_t> decode_producer_id_counter(const Slice& bytes) {
  Decoder decoder(bytes);
  const std::uint8_t version = decoder.u8();
  if (!decoder.failed() && version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("producer id counter of version {}", version));
  }
  const std::uint64_t next = decoder.u64();
  const std::size_t checked = decoder.position();
  const std::uint32_t crc = decoder.u32();
  if (decoder.failed() || decoder.remaining() > 0 || crc32c(bytes.span().first(checked)) != crc ||
      next == 0 || next > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return fail(Errc::kCorrupt, "producer id counter");
  }
  return static_cast<std::int64_t>(next);
}

Task<Result<std::int64_t>> DurableProducerIds::next() {
  while (next_ == end_) {
    if (taking_) {
      co_await range_ended_.wait();
      continue;
    }
    taking_ = true;
    Result<void> taken = co_await allocate_range();
    taking_ = false;
    // Before the others are woken: they may use up the range.
    Result<std::int64_t> id = 0;
    if (taken) {
      id = next_++;
    } else {
      id = std::unexpected(std::move(taken).error());
    }
    range_ended_.notify_all();
    co_return id;
  }
  co_return next_++;
}

Task<Result<void>> DurableProducerIds::allocate_range() {
  std::shared_ptr<KeyValue> tablet = tablet_();
  if (tablet == nullptr) {
    co_return fail(Errc::kNotHere, "the tablet of producer ids is not running here");
  }
  std::int64_t first = 1;
  Result<Slice> stored = co_await tablet->read(kKey);
  if (stored) {
    CO_TRY(first, decode_producer_id_counter(*stored));
  } else if (stored.error().code != Errc::kNotFound) {
    co_return std::unexpected(std::move(stored).error());
  }
  // Never below the ids that were allocated here.
  first = std::max(first, end_);
  tablet = tablet_();
  if (tablet == nullptr) {
    co_return fail(Errc::kNotHere, "the tablet of producer ids is not running here");
  }
  if (first > std::numeric_limits<std::int64_t>::max() - kProducerIdsPerRange) {
    co_return fail(Errc::kOverloaded, "no producer ids are left");
  }
  std::vector<Command> commands;
  commands.push_back(
      WriteKey{kKey, encode_producer_id_counter(first + kProducerIdsPerRange), false});
  CO_TRY_VOID(co_await tablet->execute(std::move(commands)));
  next_ = first;
  end_ = first + kProducerIdsPerRange;
  co_return Result<void>();
}

Task<Result<std::int64_t>> LaneProducerIds::next() {
  if (has_bug(NodeBug::kRepeatProducerIds) && own_next_ > 0) co_return own_next_++;
  const Result<std::int64_t> id = co_await run_on(home_, lane_, [this] { return ids_.next(); });
  if (has_bug(NodeBug::kRepeatProducerIds) && id) own_next_ = *id + 1;
  co_return id;
}

}  // namespace moraine::kafka
