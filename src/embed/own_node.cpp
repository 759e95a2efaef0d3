#include "embed/own_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/epoch.h"
#include "cluster/system_places.h"
#include "cluster/tablet_ids.h"
#include "embed/completion.h"

namespace moraine::embed {
namespace {

constexpr Duration kStartTimeout = 120s;
constexpr Duration kReadyPoll = 1ms;
constexpr Duration kStartPoll = 500ms;  // Between checks of what delays a start.
constexpr Duration kNoSpaceGrace = 2s;  // A device that is being opened may free some space.
constexpr std::uint64_t kDeviceBytesMin = std::uint64_t{256} << 20;

LaneOptions lane_options(std::string name, bool background = false) {
  LaneOptions options;
  options.name = std::move(name);
  options.background = background;
  return options;
}

// A node without peers: only calls to itself work.
TcpNetworkOptions own_network(const blob::ClusterConfig& config) {
  TcpNetworkOptions options;
  options.self = config.nodes.front().id;
  return options;
}

bool clock_is_confirmed() {
  const char* value = std::getenv("MORAINE_ACCEPT_CLOCK");
  return value != nullptr && std::string_view(value) == "1";
}

bool any_recovering(const blob::BlobNode& node) {
  return std::ranges::any_of(node.vdisks(), [](const auto& entry) {
    return entry.second->phase() == blob::VDisk::Phase::kRecovering;
  });
}

}  // namespace

OwnNode::OwnNode(DataFolder folder, bool fresh, const OpenOptions& options)
    : folder_(std::move(folder)),
      options_(options),
      world_(lane_options("moraine"), own_network(folder_.config)),
      background_(lane_options("compaction", true)),
      groups_(*this) {
  blob::BlobNodeOptions node_options;
  // A missing device of a folder in use is not replaced by a new one.
  node_options.format_missing = fresh;
  node_ = std::make_unique<blob::BlobNode>(world_.world(), folder_.config,
                                           folder_.config.nodes.front().id, node_options);
}

Result<std::unique_ptr<OwnNode>> OwnNode::open(const std::string& folder,
                                               const OpenOptions& options) {
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
  std::unique_ptr<OwnNode> node(new OwnNode(std::move(opened), fresh, options));
  node->world_.lane().start();
  node->background_.start();
  Result<void> started;
  wait_for(node->world_.lane(), [&]() -> Task<void> { started = co_await node->start(); });
  if (!started) return std::unexpected(std::move(started).error());
  return node;
}

OwnNode::~OwnNode() {
  wait_for(world_.lane(), [this] { return stop(); });
  // In this order, so that work handed over by the node's thread finishes first.
  background_.stop();
  world_.lane().stop();
}

Task<Result<void>> OwnNode::start() {
  World world = world_.world();
  CO_TRY_VOID(co_await node_->start());
  const Instant deadline = world.executor.now() + kStartTimeout;
  while (any_recovering(*node_) && world.executor.now() < deadline) {
    co_await sleep_for(world.executor, kReadyPoll);
  }
  CO_TRY_VOID(co_await make_services(deadline));
  scheme_->start();
  const Instant no_space_deadline = world.executor.now() + kNoSpaceGrace;
  for (;;) {
    const Instant poll_deadline = std::min(deadline, world.executor.now() + kStartPoll);
    const Result<void> running = co_await wait_running(poll_deadline);
    if (const std::optional<Error> clock = services_->clock().refusal()) {
      co_return fail(clock->code, fmt::format("{}: {}", folder_.path, clock->context));
    }
    if (running || running.error().code != Errc::kTimeout) co_return running;
    const std::optional<Error> why = boot_error();
    if (why && why->code == Errc::kNoSpace && world.executor.now() >= no_space_deadline) {
      co_return fail(Errc::kNoSpace,
                     fmt::format("{}: not enough free space to start its tablets; free some space "
                                 "and open it again ({})",
                                 folder_.path, why->context));
    }
    if (world.executor.now() < deadline) continue;
    if (!why) co_return running;
    co_return fail(Errc::kTimeout,
                   fmt::format("{}: {}: {}", folder_.path, running.error().context, why->context));
  }
}

Task<Result<void>> OwnNode::make_services(Instant deadline) {
  TableServicesOptions tables;
  for (const blob::GroupConfig& group : folder_.config.groups) tables.groups.push_back(group.id);
  CO_TRY(tables.places,
         co_await find_system_places(world_.world(), groups_, tables.groups, deadline));
  tables.block_cache_bytes = options_.block_cache_bytes;
  tables.compressed_cache_bytes = options_.compressed_cache_bytes;
  tables.in_memory_bytes = options_.in_memory_bytes;
  tables.row_cache_bytes = options_.row_cache_bytes;
  tables.clock.accept = options_.accept_clock || clock_is_confirmed();
  SchemeHostOptions scheme;
  scheme.group = tables.places.at(kSchemeTabletId);
  scheme_ = std::make_unique<SchemeHost>(world_.world(), groups_, scheme);
  services_ = std::make_unique<TableServices>(world_.world(), groups_, *scheme_, background_,
                                              std::move(tables));
  co_return Result<void>();
}

Task<Result<void>> OwnNode::wait_running(Instant deadline) {
  CO_TRY_VOID(co_await scheme_->wait_known(deadline));
  CO_TRY_VOID(co_await services_->start(deadline));
  if (co_await services_->tables().wait_running(deadline)) co_return Result<void>();
  co_return fail(Errc::kTimeout, "some tables did not start");
}

std::optional<Error> OwnNode::boot_error() const {
  return scheme_->boot_error() ? scheme_->boot_error() : services_->boot_error();
}

// Everything is destroyed on the thread that it ran on.
Task<void> OwnNode::stop() {
  if (services_) {
    co_await scheme_->stop();
    co_await services_->stop();
  }
  // Retired objects that readers could still see hold blocks of the caches.
  while (!run_retired()) co_await sleep_for(world_.lane(), kReadyPoll);
  services_.reset();
  scheme_.reset();
  co_await node_->stop();
  node_.reset();
}

}  // namespace moraine::embed
