#include "queue/partition.h"

#include <algorithm>

namespace moraine::queue {
namespace {

constexpr std::size_t kSearchBytes = std::size_t{1} << 20;  // Of one read.

}  // namespace

Task<Result<void>> Partition::refresh() {
  co_return Result<void>();
}

Task<Result<void>> Partition::refresh_info() {
  co_return Result<void>();
}

Task<Result<void>> Partition::refresh_committed(std::string) {
  co_return Result<void>();
}

std::vector<ConsumerOffset> Partition::committed_after(const std::string& name,
                                                       std::size_t limit) const {
  std::vector<ConsumerOffset> all = all_committed();
  std::erase_if(all, [&](const ConsumerOffset& one) { return one.consumer <= name; });
  std::ranges::sort(all, {}, &ConsumerOffset::consumer);
  if (all.size() > limit) all.resize(limit);
  return all;
}

Task<Result<std::optional<StoredEntry>>> Partition::find_time_from(Offset from,
                                                                   std::int64_t time_ms) {
  while (from < info().end) {
    CO_TRY(ReadAnswer answer, co_await read({.offset = from, .bytes_max = kSearchBytes}));
    if (answer.entries.empty()) break;
    for (StoredEntry& entry : answer.entries) {
      if (entry.max_timestamp_ms >= time_ms) co_return std::optional(std::move(entry));
      from = entry.offset + entry.count;
    }
  }
  co_return std::optional<StoredEntry>();
}

std::string_view to_string(WriteStatus status) {
  switch (status) {
    case WriteStatus::kOk: return "ok";
    case WriteStatus::kDuplicate: return "duplicate";
    case WriteStatus::kOutOfOrder: return "out of order";
    case WriteStatus::kStaleEpoch: return "stale epoch";
    case WriteStatus::kInvalid: return "invalid";
    case WriteStatus::kOverloaded: return "overloaded";
    case WriteStatus::kFullByCount: return "too many messages";
    case WriteStatus::kFullByBytes: return "too many bytes";
    case WriteStatus::kDiskFull: return "disk full";
    case WriteStatus::kFailedBefore: return "an earlier write failed";
    case WriteStatus::kSourceForgotten: return "the source was forgotten";
    case WriteStatus::kUnknown: return "unknown outcome";
    case WriteStatus::kStopped: return "stopped";
  }
  return "?";
}

}  // namespace moraine::queue
