// Options of a Kafka server, and its fixed bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/executor.h"

namespace moraine::kafka {

// Requests of one connection that are being handled or wait to be answered.
inline constexpr std::size_t kPipelinedRequestsMax = 64;
// Memory of one connection's unsent answers; past it no further request is begun, and a Fetch that
// begins behind such answers gets no more than this.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{1} << 20;
// The same while answers take much memory; a Fetch then waits until all earlier answers are sent.
inline constexpr std::size_t kCrowdedUnsentBytesMax = std::size_t{64} << 10;
// Bytes of one write to the stream. So many are taken within kStalledWriteTimeout, always. Short
// writes wake a client that reads as fast as they come for each of them, which costs more than the
// copy.
inline constexpr std::size_t kWriteBytesMax = std::size_t{512} << 10;
// A client makes progress when it takes so many.
inline constexpr std::size_t kProgressBytes = std::size_t{64} << 10;
// Records of one Fetch response, whatever the client requests, except a single longer batch.
inline constexpr std::size_t kFetchBytesMax = std::size_t{55} << 20;
// A Fetch gets at most this share of the memory that is left, but at least kCrowdedFetchBytesMax.
inline constexpr std::size_t kFetchPartOfRest = 4;
inline constexpr std::size_t kCrowdedFetchBytesMax = std::size_t{1} << 20;
// The share of the memory for answers that is reserved for short ones, and for clients that are
// known to read: they do not wait behind clients that may never read.
inline constexpr std::size_t kReservedPart = 8;
inline constexpr std::size_t kShortFetchBytes = std::size_t{64} << 10;
// An answer other than Fetch takes at most this share of the memory for answers.
inline constexpr std::size_t kAnswerPart = 2;
// Answers of this size do not wait for memory.
inline constexpr std::size_t kSmallAnswerBytes = std::size_t{16} << 10;
// Memory of longer ones is reserved in steps, and other requests run in between.
inline constexpr std::size_t kAnswerStepBytes = std::size_t{64} << 10;
inline constexpr std::size_t kAnswerTurnBytes = std::size_t{256} << 10;
// A Fetch may hold buffers of which it sends a part while memory is plenty.
inline constexpr std::size_t kSharedBlockBytesMax = std::size_t{16} << 20;
inline constexpr Duration kFetchWaitMax = 5min;
inline constexpr Duration kStalledFrameTimeout = 30s;
inline constexpr Duration kStalledWriteTimeout = 60s;
// For kProgressBytes, while answers take much memory; and while others wait for much of it.
inline constexpr Duration kCrowdedStallTimeout = 3s;
inline constexpr Duration kContendedStallTimeout = 1s;
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
