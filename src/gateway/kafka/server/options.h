// What a Kafka server is told at its start, and the bounds that are not for choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/executor.h"

namespace moraine::kafka {

// Requests of one connection that are being handled or wait to be answered.
inline constexpr std::size_t kPipelinedRequestsMax = 64;
// Answered bytes of one connection that are not yet sent; past it no further request is begun.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{1} << 20;
// Bytes of one write; the time for one is kStalledWriteTimeout.
inline constexpr std::size_t kWriteBytesMax = std::size_t{512} << 10;
// Records of one Fetch response, whatever the client asks for, but one batch.
inline constexpr std::size_t kFetchBytesMax = std::size_t{55} << 20;
// The same while answers take much memory, so that a few slow readers do not stop all others.
inline constexpr std::size_t kCrowdedFetchBytesMax = std::size_t{1} << 20;
inline constexpr Duration kFetchWaitMax = 5min;
inline constexpr Duration kStalledFrameTimeout = 30s;
inline constexpr Duration kStalledWriteTimeout = 60s;
inline constexpr Duration kIdleTimeout = 10min;
inline constexpr std::int32_t kLeaderEpoch = 0;

struct KafkaOptions {
  std::int32_t node_id = 1;
  std::string advertised_host = "127.0.0.1";
  std::int32_t advertised_port = 9092;
  std::string cluster_id = "moraine";
  bool auto_create_topics = true;
  std::uint32_t default_partitions = 1;
  std::size_t request_bytes_max = std::size_t{256} << 20;   // Of all connections, in memory.
  std::size_t response_bytes_max = std::size_t{256} << 20;  // Likewise.
};

}  // namespace moraine::kafka
