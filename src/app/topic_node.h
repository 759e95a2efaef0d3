// TopicNode: the topics of one process, and the Kafka protocol that serves them.
//
//   BlobNode  ->  StoredTopics, a key-value tablet for groups and producer ids  ->  KafkaService
//
// Promise    start() ends when the topics are known and their partitions run; from then on clients
//            are served. stop() ends cleanly: what was acknowledged is durable anyway.
// Threading  The lane of the world.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "blob/node/blob_node.h"
#include "cluster/system_places.h"
#include "gateway/kafka/cluster_id.h"
#include "gateway/kafka/groups/stored_groups.h"
#include "gateway/kafka/producer_ids.h"
#include "gateway/kafka/server/service.h"
#include "io/real/real_world.h"
#include "io/real/tcp_stream.h"
#include "node/key_value_host.h"
#include "node/queue_tablets.h"
#include "node/stored_topics.h"
#include "queue/blob_cache.h"

namespace moraine::app {

// An eighth of the machine's memory, within kCacheBytesMin..kCacheBytesMax.
inline constexpr std::size_t kCacheBytesMin = std::size_t{32} << 20;
inline constexpr std::size_t kCacheBytesMax = std::size_t{1} << 30;
std::size_t default_cache_bytes();

struct TopicNodeOptions {
  TcpAddress kafka;             // A numeric host.
  std::string advertised_host;  // Empty: that of `kafka`.
  std::int32_t node_id = 1;
  SystemPlaces places;  // With the scheme's and the gateway's tablet.
  bool auto_create_topics = true;
  std::uint32_t default_partitions = 1;
  std::size_t cache_bytes = default_cache_bytes();
  std::size_t request_bytes = std::size_t{256} << 20;
};

// The groups that a node reaches.
class NodeGroups final : public BlobGroups {
 public:
  explicit NodeGroups(blob::BlobNode& node) : node_(node) {}
  blob::Proxy* group(blob::GroupId id) override { return node_.proxy(id); }

 private:
  blob::BlobNode& node_;
};

class TopicNode {
 public:
  // `real` and `node` outlive the object. Requires: the node's config has a group.
  TopicNode(RealWorld& real, blob::BlobNode& node, TopicNodeOptions options);
  TopicNode(const TopicNode&) = delete;
  TopicNode& operator=(const TopicNode&) = delete;
  ~TopicNode();

  // kTimeout: the deadline has passed; the start continues, and start() may be called again.
  Task<Result<void>> start(Instant deadline);
  Task<void> stop();

  TcpAddress kafka() const {
    return {options_.kafka.host, listener_ ? listener_->port() : options_.kafka.port};
  }
  bool serving() const { return listener_ != nullptr; }
  TopicsReport report() const { return topics_.report(); }
  // In the Prometheus format.
  std::string metrics() const;

 private:
  Result<void> check_segments() const;
  Task<Result<void>> load_cluster_id();
  Task<Result<void>> load_gateway_state(Instant deadline);
  Task<void> stop_topics();

  RealWorld& real_;
  blob::BlobNode& node_;
  const TopicNodeOptions options_;
  NodeGroups blob_groups_;
  queue::BlobCache cache_;
  StoredQueueTablets tablets_;
  SchemeHost scheme_;
  StoredTopics topics_;
  KeyValueHost gateway_state_;
  kafka::StoredGroups groups_;
  kafka::DurableProducerIds producer_ids_;
  MetricRegistry registry_;
  std::optional<kafka::Uuid> cluster_id_;
  std::unique_ptr<kafka::KafkaService> service_;
  std::unique_ptr<TcpListener> listener_;
  bool started_ = false;
};

}  // namespace moraine::app
