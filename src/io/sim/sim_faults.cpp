#include "io/sim/sim_faults.h"

#include <fmt/format.h>

namespace moraine {

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::kReadError: return "read_error";
    case FaultKind::kWriteError: return "write_error";
    case FaultKind::kSyncError: return "sync_error";
    case FaultKind::kNoSpace: return "no_space";
    case FaultKind::kReadOnly: return "read_only";
    case FaultKind::kBitRot: return "bit_rot";
    case FaultKind::kMisdirectedWrite: return "misdirected_write";
    case FaultKind::kLie: return "lie";
    case FaultKind::kUnsyncedLost: return "unsynced_lost";
    case FaultKind::kUnsyncedTorn: return "unsynced_torn";
    case FaultKind::kDiskSlow: return "disk_slow";
    case FaultKind::kDiskStuck: return "disk_stuck";
    case FaultKind::kWipe: return "wipe";
    case FaultKind::kMessageLost: return "message_lost";
    case FaultKind::kMessageDelayed: return "message_delayed";
    case FaultKind::kMessageReordered: return "message_reordered";
    case FaultKind::kMessageDuplicated: return "message_duplicated";
    case FaultKind::kMessagePartitioned: return "message_partitioned";
    case FaultKind::kMessageClogged: return "message_clogged";
    case FaultKind::kCallRefused: return "call_refused";
    case FaultKind::kCallTimeout: return "call_timeout";
    case FaultKind::kCrash: return "crash";
    case FaultKind::kPause: return "pause";
    case FaultKind::kClockJump: return "clock_jump";
  }
  return "unknown";
}

FaultCounters& FaultCounters::operator+=(const FaultCounters& other) {
  for (std::size_t i = 0; i < kFaultKinds; ++i) counts_[i] += other.counts_[i];
  return *this;
}

std::string FaultCounters::to_string() const {
  std::string text;
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    if (counts_[i] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", moraine::to_string(static_cast<FaultKind>(i)), counts_[i]);
  }
  return text.empty() ? "none" : text;
}

std::uint64_t stream_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t index) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  };
  mix(seed);
  for (const char letter : purpose) mix(static_cast<unsigned char>(letter));
  mix(index);
  return hash;
}

}  // namespace moraine
