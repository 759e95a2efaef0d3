// NodeMemory: how a node shares out its memory. Each part is a limit that its user keeps by itself;
// what is left is for everything else: indexes, buffers, the program.
//
//   share_memory(bytes)     by the parts below, all of `bytes` or less
//   default_memory(machine) the same of three quarters of the machine's, each part within a bound
//
// Promise    Pure. The sum of all parts is at most kSharedParts / kMemoryParts of the bytes.
// Tests      node_memory_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "node/node.h"

namespace moraine {

inline constexpr std::size_t kNodeMemoryBytesMin = std::size_t{256} << 20;
// Without a size, parts are not larger than these.
inline constexpr std::size_t kMemoryStoreBytesMax = std::size_t{4} << 30;
inline constexpr std::size_t kTopicCacheBytesMax = std::size_t{2} << 30;

// Of kMemoryParts.
inline constexpr std::size_t kMemoryParts = 64;
inline constexpr std::size_t kMemoryStoreParts = 16;  // Lock history takes half as much on top.
inline constexpr std::size_t kInMemoryTableParts = 8;
inline constexpr std::size_t kBlockCacheParts = 8;
inline constexpr std::size_t kRowCacheParts = 4;
inline constexpr std::size_t kTopicCacheParts = 8;
inline constexpr std::size_t kRequestParts = 4;
inline constexpr std::size_t kAnswerParts = 4;
inline constexpr std::size_t kSharedParts =
    kMemoryStoreParts + kMemoryStoreParts / 2 + kInMemoryTableParts + kBlockCacheParts +
    kRowCacheParts + kTopicCacheParts + kRequestParts + kAnswerParts;
static_assert(kSharedParts < kMemoryParts);

struct NodeMemory {
  std::size_t memory_stores = 0;  // Of tables: rows that are not flushed.
  std::size_t lock_history = 0;
  std::size_t in_memory_tables = 0;
  std::size_t block_cache = 0;
  std::size_t row_cache = 0;
  std::size_t topic_cache = 0;
  std::size_t requests = 0;  // Of all connections.
  std::size_t answers = 0;

  struct Part {
    std::string_view name;
    std::size_t bytes = 0;
  };
  std::array<Part, 8> parts() const;
  std::size_t total() const;
  // Sets the limits of a node; requests and answers are those of its doors.
  void apply_to(NodeOptions& options) const;
};

// Requires: bytes >= kNodeMemoryBytesMin.
NodeMemory share_memory(std::size_t bytes);
NodeMemory default_memory(std::size_t machine_bytes);

// Prometheus text, version 0.0.4.
std::string to_prometheus(const NodeMemory& memory);

}  // namespace moraine
