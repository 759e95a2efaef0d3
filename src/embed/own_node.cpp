#include "embed/own_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cluster/local/cluster_file.h"
#include "cluster/local/file_holder.h"
#include "embed/completion.h"
#include "io/real/machine.h"
#include "node/node_memory.h"

namespace moraine::embed {
namespace {

constexpr Duration kStartTimeout = 120s;
constexpr Duration kStartPoll = 500ms;  // Between checks of what delays a start.
constexpr Duration kNoSpaceGrace = 2s;  // A device that is being opened may free some space.
constexpr std::uint64_t kDeviceBytesMin = std::uint64_t{256} << 20;

LaneOptions background_options() {
  LaneOptions options;
  options.name = "compaction";
  options.background = true;
  return options;
}

// A node without peers: only calls to itself work.
TcpNetworkOptions own_network(const blob::ClusterConfig& config) {
  TcpNetworkOptions options;
  options.self = config.nodes.front().id;
  return options;
}

bool any_start_failed(const Topics& topics) {
  return std::ranges::any_of(topics.list(), [&](const TopicPtr& topic) {
    for (std::uint32_t i = 0; i < topic->partitions; ++i) {
      if (topics.start_error(topic->id, i)) return true;
    }
    return false;
  });
}

}  // namespace

OwnNode::OwnNode(DataFolder folder, bool fresh, const OpenOptions& options)
    : folder_(std::move(folder)),
      lanes_(options.lanes == 0 ? default_lanes() : options.lanes, "moraine",
             own_network(folder_.config)),
      background_(background_options()) {
  NodeOptions node;
  // A missing device of a folder in use is not replaced by a new one.
  node.storage.format_missing = fresh;
  node.tables.compressed_cache_bytes = options.compressed_cache_bytes;
  node.tables.clock.accept = options.accept_clock || clock_is_confirmed();
  NodeMemory memory = default_memory(machine_memory_bytes());
  if (options.memory_bytes != 0) {
    memory = share_memory(options.memory_bytes);
  } else {
    memory.block_cache = options.block_cache_bytes;
    memory.in_memory_tables = options.in_memory_bytes;
    memory.row_cache = options.row_cache_bytes;
    memory.topic_cache = options.topic_cache_bytes;
  }
  memory.apply_to(node);
  node_ = std::make_unique<Node>(lanes_.worlds(), background_, folder_.config,
                                 folder_.config.nodes.front().id, std::move(node));
}

Result<std::unique_ptr<OwnNode>> OwnNode::open(const std::string& folder,
                                               const OpenOptions& options) {
  if (options.memory_bytes != 0 && options.memory_bytes < kNodeMemoryBytesMin) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: {} bytes of memory; a node needs {} at least", folder,
                            options.memory_bytes, kNodeMemoryBytesMin));
  }
  TRY(const bool fresh, can_create_data_folder(folder));
  if (fresh && !options.create)
    return fail(Errc::kNotFound, fmt::format("no data folder {}", folder));
  if (fresh && options.device_bytes != 0 && options.device_bytes < kDeviceBytesMin) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: a device of {} bytes; tables need {} at least", folder,
                            options.device_bytes, kDeviceBytesMin));
  }
  NewFolder made;
  made.size = options.device_bytes;
  TRY(DataFolder opened, fresh ? create_data_folder(folder, made) : open_data_folder(folder));
  if (options.lanes > kLanesMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} lanes; at most {} are possible", options.lanes, kLanesMax));
  }
  std::unique_ptr<OwnNode> node(new OwnNode(std::move(opened), fresh, options));
  node->lanes_.lane(0).start();
  node->lanes_.start();
  node->background_.start();
  Result<void> started;
  wait_for(node->lanes_.lane(0), [&]() -> Task<void> { started = co_await node->start(); });
  if (started) return node;
  const blob::NodeConfig own = node->folder_.config.nodes.front();
  node.reset();
  if (started.error().code == Errc::kConflict) {
    // A database of this process is no other holder.
    if (const auto busy = device_in_use(own); busy && holder_of(*busy)) {
      return fail(Errc::kConflict, fmt::format("{}: {}", *busy, in_use_advice(*busy)));
    }
  }
  return std::unexpected(std::move(started).error());
}

NodeParts OwnNode::parts() {
  std::vector<Executor*> lanes;
  std::vector<Topics*> topics;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    lanes.push_back(&lanes_.lane(i));
    topics.push_back(&node_->topics(i));
  }
  return {std::move(lanes), std::move(topics), node_->tables(), *node_, &node_->background()};
}

OwnNode::~OwnNode() {
  wait_for(lanes_.lane(0), [this] { return stop(); });
  // In this order, so that work handed over by the node's lanes finishes first.
  background_.stop();
  lanes_.stop();
  lanes_.lane(0).stop();
}

Task<Result<void>> OwnNode::start() {
  Executor& executor = lanes_.lane(0);
  CO_TRY_VOID(co_await node_->open());
  const Instant deadline = executor.now() + kStartTimeout;
  co_await node_->storage().wait_while_recovering(deadline);
  CO_TRY_VOID(co_await node_->locate_system(deadline));
  CO_TRY_VOID(co_await start_tablets(deadline));
  co_await wait_topics(deadline);
  co_return Result<void>();
}

Task<void> OwnNode::wait_topics(Instant deadline) {
  Executor& executor = lanes_.lane(0);
  while (executor.now() < deadline) {
    const Instant turn = std::min(deadline, executor.now() + kStartPoll);
    if (co_await node_->wait_topics(turn) || any_start_failed(node_->topics(0))) co_return;
  }
}

Task<Result<void>> OwnNode::start_tablets(Instant deadline) {
  Executor& executor = lanes_.lane(0);
  const Instant no_space_deadline = executor.now() + kNoSpaceGrace;
  for (;;) {
    const Instant turn = std::min(deadline, executor.now() + kStartPoll);
    const Result<void> running = co_await start_once(turn);
    if (const std::optional<Error> clock = node_->tables().clock().refusal()) {
      co_return fail(clock->code, fmt::format("{}: {}", folder_.path, clock->context));
    }
    if (running || running.error().code != Errc::kTimeout) co_return running;
    const std::optional<Error> why = node_->boot_error();
    if (why && why->code == Errc::kNoSpace && executor.now() >= no_space_deadline) {
      co_return fail(Errc::kNoSpace,
                     fmt::format("{}: not enough free space to start its tablets; free some space "
                                 "and open it again ({})",
                                 folder_.path, why->context));
    }
    if (executor.now() < deadline) continue;
    if (!why) co_return running;
    co_return fail(Errc::kTimeout,
                   fmt::format("{}: {}: {}", folder_.path, running.error().context, why->context));
  }
}

Task<Result<void>> OwnNode::start_once(Instant deadline) {
  CO_TRY_VOID(co_await node_->start(deadline));
  CO_TRY_VOID(co_await node_->wait_transactions(deadline));
  StoredTables& tables = node_->tables().tables();
  if (co_await tables.wait_running(deadline)) co_return Result<void>();
  const std::optional<Error> failed = tables.boot_error();
  // The log has the reason; the tablet is retried.
  if (failed && failed->code != Errc::kNoSpace) co_return Result<void>();
  co_return fail(Errc::kTimeout, "some tables did not start");
}

// Everything is destroyed on the thread that it ran on.
Task<void> OwnNode::stop() {
  co_await node_->stop();
  node_.reset();
}

}  // namespace moraine::embed
