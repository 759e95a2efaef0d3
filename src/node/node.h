// Node: one node of Moraine: its devices and groups, and the tablets that placement gives it,
// spread over its lanes. `moraine serve`, embed/ and the simulator start this class; they differ in
// the worlds that they give it and in the doors on top.
//
//   lane 0 (control)  devices, VDisks, system tablets, the scheme's topics and tables
//   every lane        proxies to all groups, tablets of topics and tables
//   shared            the caches
//
// Promise    open() makes this node's disks serve. start() returns when the scheme's tablet runs;
//            all others start in the background, and not_ready() names what is not up. stop() ends
//            cleanly: what was acknowledged is durable anyway.
// Threading  The control lane, except for what LaneTopics, LaneTables, TableServices and BlobGroups
//            of another lane say.
// Errors     As BlobNode::start(), find_system_places(). kTimeout of start(): the deadline has
//            passed; the start continues, and start() may be called again. kInvalidArgument: the
//            segments of a device are too small for tablets.
// Tests      lanes_test.cpp, table_lanes_test.cpp, tables_boot_test.cpp; sim/node/.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob/node/blob_node.h"
#include "client/partition_server.h"
#include "cluster/placement.h"
#include "cluster/system_places.h"
#include "io/background_work.h"
#include "io/request_router.h"
#include "node/key_value_host.h"
#include "node/lane_queue_tablets.h"
#include "node/lane_topics.h"
#include "node/stored_topics.h"
#include "node/stored_tree.h"
#include "node/table_services.h"
#include "queue/blob_cache.h"

namespace moraine {

struct NodeOptions {
  blob::BlobNodeOptions storage;
  LeaderOptions leader;
  std::size_t topic_cache_bytes = queue::kCacheBytesDefault;
  queue::FactLimits facts;      // Of all partitions.
  TableServicesOptions tables;  // Groups, places, placement, flushing are set by the node.
  // Outlives the node. None: all tablets are always to run here.
  Placement* placement = nullptr;
};

struct TopicCacheFigures {
  std::uint64_t bytes = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

class Node {
 public:
  // The worlds of the lanes and `background`, for long work, outlive the node. Requires: a lane.
  Node(std::vector<World> lanes, Executor& background, blob::ClusterConfig config, NodeId self,
       NodeOptions options);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();

  // Opens the devices; called once. After an error, stop() ends what was opened.
  Task<Result<void>> open();
  // Finds where the system tablets are; called before start(), and again after an error.
  Task<Result<void>> locate_system(Instant deadline);
  Task<Result<void>> start(Instant deadline);
  // Ends the tablets, so that calls of them fail; the disks continue to serve.
  Task<void> stop_tablets();
  // Requires: no call of a tablet is in flight.
  Task<void> stop();
  // For a simulated power cut: asks everything to end, without waiting.
  void abandon();

  // A line for each part that is not up. Empty: all are.
  std::vector<std::string> not_ready() const;
  // Why a system tablet or a tablet of a table does not start. nullopt: none failed.
  std::optional<Error> boot_error() const;

  std::size_t lanes() const { return lanes_.size(); }
  World lane(std::size_t index) const { return lanes_[index]->world; }
  // Long work of all lanes; on any thread.
  BackgroundWork& background() { return background_; }
  blob::BlobNode& storage() { return storage_; }
  const blob::BlobNode& storage() const { return storage_; }
  // Of the control lane.
  BlobGroups& groups() { return *lanes_.front()->groups; }
  const Placement& placement() const { return placement_; }
  // Awaited before a tablet that was fenced is booted again; not used with NodeOptions::placement.
  void set_confirm(std::function<Task<bool>()> confirm) {
    static_placement_.set_confirm(std::move(confirm));
  }
  const SystemPlaces& places() const { return places_; }

  // Whether tablets were started and not stopped; also while start() is still reading the scheme.
  bool running() const { return tablets_ != nullptr && !stopped_; }

  // The calls below require start() to have been called, and stop() not.
  // The topics of a lane are used on that lane.
  Topics& topics(std::size_t lane);
  TableServices& tables() { return tablets_->tables; }
  // On any lane.
  client::Tree& tree() { return tablets_->tree; }
  TreeFigures tree_figures() const { return tablets_->tree.figures(); }
  // The tablet for the state of gateways. Null while it is not running.
  std::shared_ptr<KeyValue> gateway_state() const { return tablets_->gateway.get(); }
  Task<std::shared_ptr<KeyValue>> wait_gateway_state(Instant deadline) {
    return tablets_->gateway.wait(deadline);
  }
  TopicsReport topics_report() const { return tablets_->topics.report(); }
  TopicCacheFigures topic_cache() const;
  // Waits until timestamps are issued and transactions can commit. kTimeout.
  Task<Result<void>> wait_transactions(Instant deadline) {
    return tablets_->tables.start(deadline);
  }
  // Producers and consumers that the partitions of this node remember.
  const queue::FactCounts& facts() const { return *facts_; }
  // Waits until every partition runs. False: the deadline has passed.
  Task<bool> wait_topics(Instant deadline) { return tablets_->topics.wait_running(deadline); }

 private:
  // What a lane has of its own; everything but the constructor runs on that lane.
  struct LaneParts {
    explicit LaneParts(World its_world) : world(its_world) {}
    World world;
    std::unique_ptr<blob::GroupProxies> proxies;  // Null on the control lane.
    std::unique_ptr<BlobGroups> groups;
    std::unique_ptr<StoredQueueTablets> tablets;
    std::unique_ptr<LaneTopics> topics;
  };
  struct Tablets {
    Tablets(Node& node, const SystemPlaces& places);
    SchemeHost scheme;
    LaneQueueTablets queue_tablets;
    StoredTopics topics;
    KeyValueHost gateway;
    TableServices tables;
    StoredTree tree;
    PartitionServer partitions;  // For other nodes.
  };
  class OwnGroups;
  class LaneBlobGroups;

  void make_lanes(std::vector<World> worlds);
  std::vector<LaneQueueTablets::Lane> queue_lanes();
  TableServicesOptions tables_options(const SystemPlaces& places);
  void publish(const TopicUpdatePtr& update);
  Result<void> check_segments() const;
  Task<void> stop_lane(LaneParts& lane);
  Task<void> drop_tablets();
  // Calls to partitions of other nodes fail from now on, as do their calls of partitions here.
  void close_partitions();

  const NodeId self_;
  const NodeOptions options_;
  BackgroundWork background_;
  StaticPlacement static_placement_;
  Placement& placement_;
  // Passes requests of other nodes to the VDisks, tablets of tables and partitions of topics.
  RequestRouter router_;
  World world_;  // Of the control lane.
  const std::shared_ptr<queue::FactCounts> facts_;
  blob::BlobNode storage_;
  queue::BlobCache topic_cache_;
  std::vector<std::unique_ptr<LaneParts>> lanes_;
  SystemPlaces places_;
  bool open_ = false;
  bool started_ = false;
  bool stopped_ = false;  // The tablets.
  bool abandoned_ = false;
  std::unique_ptr<Tablets> tablets_;
};

}  // namespace moraine
