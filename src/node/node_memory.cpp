#include "node/node_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/invariant.h"

namespace moraine {
namespace {

// The part of a machine's memory that a node takes by itself.
constexpr std::size_t kMachineNumerator = 3;
constexpr std::size_t kMachineDenominator = 4;

// Parts of a node that was given no size are not larger.
constexpr NodeMemory kLargest{
    .memory_stores = kMemoryStoreBytesMax,
    .lock_history = kMemoryStoreBytesMax / kLockHistoryPart,
    .in_memory_tables = table::kPinnedBytesDefault,
    .block_cache = std::size_t{256} << 20,
    .row_cache = std::size_t{64} << 20,
    .topic_cache = kTopicCacheBytesMax,
    .requests = std::size_t{256} << 20,
    .answers = std::size_t{256} << 20,
};

}  // namespace

std::array<NodeMemory::Part, 8> NodeMemory::parts() const {
  return {{{"memory_stores", memory_stores},
           {"lock_history", lock_history},
           {"in_memory_tables", in_memory_tables},
           {"block_cache", block_cache},
           {"row_cache", row_cache},
           {"topic_cache", topic_cache},
           {"requests", requests},
           {"answers", answers}}};
}

std::size_t NodeMemory::total() const {
  std::size_t sum = 0;
  for (const Part& part : parts()) sum += part.bytes;
  return sum;
}

void NodeMemory::apply_to(NodeOptions& options) const {
  options.topic_cache_bytes = topic_cache;
  options.tables.memory_store_bytes = memory_stores;
  options.tables.in_memory_bytes = in_memory_tables;
  options.tables.block_cache_bytes = block_cache;
  options.tables.row_cache_bytes = row_cache;
}

NodeMemory share_memory(std::size_t bytes) {
  INVARIANT(bytes >= kNodeMemoryBytesMin, "{} bytes are too few for a node", bytes);
  const std::size_t part = bytes / kMemoryParts;
  NodeMemory memory;
  memory.memory_stores = part * kMemoryStoreParts;
  memory.lock_history = memory.memory_stores / kLockHistoryPart;
  memory.in_memory_tables = part * kInMemoryTableParts;
  memory.block_cache = part * kBlockCacheParts;
  memory.row_cache = part * kRowCacheParts;
  memory.topic_cache = part * kTopicCacheParts;
  memory.requests = part * kRequestParts;
  memory.answers = part * kAnswerParts;
  return memory;
}

NodeMemory default_memory(std::size_t machine_bytes) {
  const std::size_t own = machine_bytes / kMachineDenominator * kMachineNumerator;
  NodeMemory memory = share_memory(std::max(own, kNodeMemoryBytesMin));
  for (std::size_t NodeMemory::* part :
       {&NodeMemory::memory_stores, &NodeMemory::lock_history, &NodeMemory::in_memory_tables,
        &NodeMemory::block_cache, &NodeMemory::row_cache, &NodeMemory::topic_cache,
        &NodeMemory::requests, &NodeMemory::answers}) {
    memory.*part = std::min(memory.*part, kLargest.*part);
  }
  return memory;
}

std::string to_prometheus(const NodeMemory& memory) {
  std::string out =
      "# HELP moraine_memory_limit_bytes Memory of the node that is shared out, by use\n"
      "# TYPE moraine_memory_limit_bytes gauge\n";
  for (const NodeMemory::Part& part : memory.parts()) {
    fmt::format_to(std::back_inserter(out), "moraine_memory_limit_bytes{{part=\"{}\"}} {}\n",
                   part.name, part.bytes);
  }
  return out;
}

}  // namespace moraine
