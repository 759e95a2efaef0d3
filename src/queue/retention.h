// Which blobs of a partition are no longer needed. Pure.
//
// Promise    Only a prefix is removed, and never what an important consumer has not read.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "queue/partition.h"

namespace moraine::queue {

struct BlobAge {
  Offset end = 0;  // After its last message.
  std::uint64_t bytes = 0;
  std::uint64_t written_ms = 0;  // Of its newest message.
};

struct RetentionView {
  std::uint64_t now_ms = 0;
  std::uint64_t total_bytes = 0;
  Offset start = 0;  // Blobs that end at or before it are removed.
  // The lowest offset that an important consumer has not read; nullopt: no consumer is important.
  std::optional<Offset> unread_from;
};

// Whether the oldest blob may be removed.
bool removable(const BlobAge& oldest, const RetentionView& view, const PartitionConfig& config);

}  // namespace moraine::queue
