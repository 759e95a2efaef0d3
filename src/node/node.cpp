#include "node/node.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/epoch.h"
#include "base/invariant.h"
#include "blob/group/erasure.h"
#include "cluster/tablet_ids.h"
#include "io/run_on.h"

namespace moraine {
namespace {

// A guard ends with one store, on any thread, and notifies nobody (base/epoch.h); it lasts as long
// as one lookup.
constexpr Duration kRetiredPoll = 1ms;

std::vector<GroupId> group_ids(const blob::ClusterConfig& config) {
  std::vector<GroupId> ids;
  for (const blob::GroupConfig& group : config.groups) ids.push_back(group.id);
  return ids;
}

StoredTopicsOptions topics_options(const blob::ClusterConfig& config, std::size_t lanes) {
  StoredTopicsOptions options;
  options.lanes = lanes;
  options.groups = group_ids(config);
  return options;
}

SchemeHostOptions scheme_options(const SystemPlaces& places, const LeaderOptions& leader,
                                 Placement& placement) {
  SchemeHostOptions options;
  options.group = places.at(kSchemeTabletId);
  options.leader = leader;
  options.placement = &placement;
  return options;
}

}  // namespace

// The groups of the control lane, whose proxies belong to the devices' node.
class Node::OwnGroups final : public BlobGroups {
 public:
  explicit OwnGroups(blob::BlobNode& storage) : storage_(storage) {}
  blob::Proxy* group(GroupId id) override { return storage_.proxy(id); }
  void locate(GroupId group, const blob::BlobId& id, OnPlace found) override {
    if (const auto place = storage_.locate(group, id)) found(*place);
  }

 private:
  blob::BlobNode& storage_;
};

class Node::LaneBlobGroups final : public BlobGroups {
 public:
  LaneBlobGroups(blob::GroupProxies& proxies, BlobGroups& control, Executor& executor)
      : proxies_(proxies), control_(control), executor_(executor) {}
  blob::Proxy* group(GroupId id) override { return proxies_.proxy(id); }
  // The devices are on the control lane.
  void locate(GroupId group, const blob::BlobId& id, OnPlace found) override {
    executor_.post([&control = control_, group, id, found = std::move(found)]() mutable {
      control.locate(group, id, std::move(found));
    });
  }

 private:
  blob::GroupProxies& proxies_;
  BlobGroups& control_;
  Executor& executor_;  // Of the control lane.
};

Node::Tablets::Tablets(Node& node, const SystemPlaces& places)
    : scheme(node.world_, node.groups(),
             scheme_options(places, node.options_.leader, node.placement_)),
      queue_tablets(node.world_.executor, node.queue_lanes(),
                    [this](TabletId id) { return scheme.tablets().lane_of(id); }),
      topics(node.world_, scheme, queue_tablets,
             topics_options(node.storage_.config(), node.lanes())),
      gateway(node.world_, node.groups(),
              TabletInfo::simple(kGatewayTabletId, places.at(kGatewayTabletId), kKeyValueChannels),
              node.options_.leader, &node.placement_),
      tables(node.world_, node.groups(), scheme, node.background_.of(Urgency::kMerge),
             node.tables_options(places)),
      tree(node.world_, scheme, tables.tables(), topics),
      partitions(
          node.router_.port(kPartitionsProtocol), node.world_.executor, node.world_.random,
          [this](TabletId id, queue::PartitionIndex index) { return topics.home(id, index); }) {}

Node::Node(std::vector<World> lanes, Executor& background, blob::ClusterConfig config, NodeId self,
           NodeOptions options)
    : self_(self),
      options_(std::move(options)),
      background_(background),
      static_placement_(lanes.size()),
      placement_(options_.placement ? *options_.placement : static_placement_),
      router_(lanes.at(0).network),
      world_(lanes.at(0)),
      facts_(std::make_shared<queue::FactCounts>(options_.facts)),
      storage_(World{world_.executor, world_.clock, world_.random, world_.disks, router_.rest()},
               std::move(config), self, options_.storage),
      topic_cache_(options_.topic_cache_bytes) {
  make_lanes(std::move(lanes));
  storage_.on_reconfigure([this](const blob::GroupConfig& newer) {
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
      LaneParts& lane = *lanes_[i];
      lane.world.executor.post([&lane, newer] { lane.proxies->reconfigure(newer); });
    }
  });
}

Node::~Node() = default;

void Node::make_lanes(std::vector<World> worlds) {
  for (const World& world : worlds) {
    auto lane = std::make_unique<LaneParts>(world);
    if (lanes_.empty()) {
      lane->groups = std::make_unique<OwnGroups>(storage_);
    } else {
      lane->proxies = storage_.make_proxies(world);
      lane->groups = std::make_unique<LaneBlobGroups>(*lane->proxies, groups(), world_.executor);
    }
    lane->tablets = std::make_unique<StoredQueueTablets>(world, *lane->groups, topic_cache_,
                                                         options_.leader, facts_);
    lanes_.push_back(std::move(lane));
  }
}

std::vector<LaneQueueTablets::Lane> Node::queue_lanes() {
  std::vector<LaneQueueTablets::Lane> lanes;
  for (const auto& lane : lanes_) lanes.push_back({lane->world.executor, *lane->tablets});
  return lanes;
}

TableServicesOptions Node::tables_options(const SystemPlaces& places) {
  TableServicesOptions options = options_.tables;
  options.groups = group_ids(storage_.config());
  options.places = places;
  options.placement = &placement_;
  options.flushing = &background_.of(Urgency::kFlush);
  options.leader = options_.leader;
  options.serve_on = &router_.port(kTablesProtocol);
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    options.other_lanes.push_back({lanes_[i]->world, lanes_[i]->groups.get()});
  }
  return options;
}

Task<Result<void>> Node::open() {
  const Result<void> started = co_await storage_.start();
  if (abandoned_) storage_.abandon();  // VDisks have started since.
  CO_TRY_VOID(started);
  open_ = true;
  co_return Result<void>();
}

// Tablets write blobs of up to kBlobSizeMax.
Result<void> Node::check_segments() const {
  std::uint32_t needed = 0;
  for (const blob::GroupConfig& group : storage_.config().groups) {
    needed = std::max(needed, blob::stored_part_size(group.geometry.species(), blob::kBlobSizeMax));
  }
  for (const auto& [id, device] : storage_.devices()) {
    if (device->data_size_max() >= needed) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: its segments are too small for topics; folders of 256MiB and "
                            "more have large ones (--kafka off serves blobs only)",
                            device->path()));
  }
  return {};
}

Task<Result<void>> Node::locate_system(Instant deadline) {
  CO_TRY_VOID(check_segments());
  CO_TRY(places_,
         co_await find_system_places(world_, groups(), group_ids(storage_.config()), deadline));
  co_return Result<void>();
}

Task<Result<void>> Node::start(Instant deadline) {
  INVARIANT(!places_.empty(), "locate_system() comes before start()");
  if (!std::exchange(started_, true)) {
    tablets_ = std::make_unique<Tablets>(*this, places_);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const World& world = lanes_[i]->world;
      lanes_[i]->topics = std::make_unique<LaneTopics>(tablets_->topics, world_.executor,
                                                       world.executor, world.network, i);
    }
    tablets_->topics.set_listener([this](const TopicUpdatePtr& update) { publish(update); });
    tablets_->gateway.start();
    tablets_->scheme.start();
  }
  CO_TRY_VOID(co_await tablets_->scheme.wait_known(deadline));
  // Topics do not need timestamps, which may be refused for long (transaction/clock_guard.h).
  (void)co_await tablets_->tables.start(world_.executor.now());
  co_return Result<void>();
}

// Called on the control lane, which sees the update at once.
void Node::publish(const TopicUpdatePtr& update) {
  if (lanes_[0]->topics) lanes_[0]->topics->apply(*update);
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    LaneParts& lane = *lanes_[i];
    lane.world.executor.post([&lane, update] {
      if (lane.topics) lane.topics->apply(*update);
    });
  }
}

Task<void> Node::stop_tablets() {
  if (!running()) co_return;
  stopped_ = true;
  close_partitions();
  tablets_->tables.close();
  co_await tablets_->tree.stop();
  co_await tablets_->scheme.stop();
  co_await tablets_->gateway.stop();
  co_await tablets_->tables.stop();
  // Requests of other nodes; their partitions have stopped.
  co_await tablets_->partitions.join();
}

void Node::close_partitions() {
  tablets_->partitions.close();
  if (lanes_[0]->topics) lanes_[0]->topics->close();
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    LaneParts& lane = *lanes_[i];
    lane.world.executor.post([&lane] {
      if (lane.topics) lane.topics->close();
    });
  }
}

Task<void> Node::drop_tablets() {
  if (!tablets_) co_return;
  // Retired objects that readers could still see hold blocks of the caches.
  while (!abandoned_ && !run_retired()) co_await sleep_for(world_.executor, kRetiredPoll);
  for (const auto& lane : lanes_) {
    co_await run_on(lane->world.executor, world_.executor, [&lane]() -> Task<void> {
      if (lane->topics) co_await lane->topics->stop();
      lane->topics.reset();
    });
  }
  tablets_.reset();
}

Task<void> Node::stop_lane(LaneParts& lane) {
  co_await lane.proxies->stop();
  lane.tablets.reset();
  lane.groups.reset();
  lane.proxies.reset();
}

Task<void> Node::stop() {
  co_await stop_tablets();
  co_await drop_tablets();
  storage_.on_reconfigure(nullptr);
  for (std::size_t i = 1; i < lanes_.size(); ++i) {
    LaneParts& lane = *lanes_[i];
    if (!lane.proxies) continue;
    co_await run_on(lane.world.executor, world_.executor, [&] { return stop_lane(lane); });
  }
  co_await storage_.stop();
}

void Node::abandon() {
  abandoned_ = true;
  if (tablets_) {
    close_partitions();
    tablets_->tree.abandon();
    tablets_->scheme.abandon();
    tablets_->gateway.abandon();
    tablets_->tables.abandon();
  }
  storage_.abandon();
}

Topics& Node::topics(std::size_t lane) {
  return *lanes_[lane]->topics;
}

TopicCacheFigures Node::topic_cache() const {
  return {topic_cache_.bytes(), topic_cache_.hits(), topic_cache_.misses()};
}

std::optional<Error> Node::boot_error() const {
  if (!tablets_) return std::nullopt;
  const auto& scheme = tablets_->scheme.boot_error();
  return scheme ? scheme : tablets_->tables.boot_error();
}

std::vector<std::string> Node::not_ready() const {
  std::vector<std::string> out;
  if (!open_) {
    out.emplace_back("the devices are being opened");
    return out;
  }
  const auto recovering = std::ranges::count_if(storage_.vdisks(), [](const auto& entry) {
    return entry.second->phase() == blob::VDisk::Phase::kRecovering;
  });
  if (recovering > 0) {
    out.push_back(
        fmt::format("{} of {} VDisks are recovering", recovering, storage_.vdisks().size()));
  }
  if (!running()) return out;
  if (!tablets_->scheme.running()) out.emplace_back("the scheme's tablet is not running");
  if (const auto error = tablets_->scheme.boot_error()) out.push_back(error->message());
  if (const auto error = tablets_->tables.system_boot_error()) out.push_back(error->message());
  for (const NodeKind kind : {NodeKind::kTopic, NodeKind::kTable}) {
    const TabletsReport report = tablets_->scheme.tablets().report(kind);
    if (report.starting > 0) {
      out.push_back(fmt::format("{} of {} tablets of {}s are starting", report.starting,
                                report.starting + report.running, to_string(kind)));
    }
    for (const Error& error : report.errors) out.push_back(error.message());
  }
  if (const auto refused = tablets_->tables.clock().refusal()) out.push_back(refused->message());
  return out;
}

}  // namespace moraine
