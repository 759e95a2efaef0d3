// What a Kafka server is told at its start, and the bounds that are not for choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/executor.h"

namespace moraine::kafka {

// Requests of one connection that are being handled or wait to be answered.
inline constexpr std::size_t kPipelinedRequestsMax = 64;
// Memory of one connection's answers that are not yet sent; past it no further request is begun,
// and a Fetch that begins behind such answers gets no more than this.
inline constexpr std::size_t kUnsentBytesMax = std::size_t{1} << 20;
// The same while answers take much memory; a Fetch then waits until all before it is sent.
inline constexpr std::size_t kCrowdedUnsentBytesMax = std::size_t{64} << 10;
// Written within kStalledWriteTimeout, always.
inline constexpr std::size_t kWriteBytesMax = std::size_t{512} << 10;
// Bytes of one call to the stream: a client that takes so many goes on, fewer are no progress.
inline constexpr std::size_t kProgressBytes = std::size_t{64} << 10;
// Records of one Fetch response, whatever the client asks for, but one batch.
inline constexpr std::size_t kFetchBytesMax = std::size_t{55} << 20;
// An answer gets at most this part of the memory that is left, but at least kCrowdedFetchBytesMax.
inline constexpr std::size_t kFetchPartOfRest = 4;
inline constexpr std::size_t kCrowdedFetchBytesMax = std::size_t{1} << 20;
// Part of the memory for answers that is kept for short ones, and for clients that were seen to
// read: they do not wait behind those who may never take theirs.
inline constexpr std::size_t kReservedPart = 8;
inline constexpr std::size_t kShortFetchBytes = std::size_t{64} << 10;
// An answer takes at most this part of the memory for answers, but a Fetch.
inline constexpr std::size_t kAnswerPart = 2;
// Answers of this size wait for nobody.
inline constexpr std::size_t kSmallAnswerBytes = std::size_t{16} << 10;
// Memory of longer ones is taken in steps, and others have their turn in between.
inline constexpr std::size_t kAnswerStepBytes = std::size_t{64} << 10;
inline constexpr std::size_t kAnswerTurnBytes = std::size_t{256} << 10;
// A Fetch may keep blocks that it shows a part of while memory is plenty.
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
