// KafkaServer: the Kafka protocol of a running node, on TCP.
//
// Promise    start() ends when the groups are known; from then on clients are served on all lanes.
// Threading  The control lane.
#pragma once

#include <memory>
#include <string>

#include "gateway/kafka/door.h"
#include "io/real/real_lanes.h"
#include "io/real/tcp_stream.h"
#include "node/node.h"

namespace moraine::app {

struct KafkaServerOptions {
  TcpAddress kafka;             // A numeric host.
  std::string advertised_host;  // Empty: that of `kafka`.
  std::int32_t node_id = 1;
  bool auto_create_topics = true;
  std::uint32_t default_partitions = 1;
  // Memory of all connections.
  std::size_t request_bytes = std::size_t{256} << 20;
  std::size_t response_bytes = std::size_t{256} << 20;
};

class KafkaServer {
 public:
  // `lanes` and `node`, whose tablets have been started, outlive the object.
  KafkaServer(RealLanes& lanes, Node& node, KafkaServerOptions options);
  KafkaServer(const KafkaServer&) = delete;
  KafkaServer& operator=(const KafkaServer&) = delete;

  // kTimeout: the deadline has passed; start() may be called again.
  Task<Result<void>> start(Instant deadline);
  // Ends with the tablets of the node: requests wait for writes, which end when their partitions
  // do.
  Task<void> stop();

  TcpAddress address() const {
    return {options_.kafka.host, listener_ ? listener_->port() : options_.kafka.port};
  }
  bool serving() const { return listener_ != nullptr; }
  const MetricRegistry& metrics() const { return door_.metrics(); }

 private:
  std::vector<kafka::KafkaDoor::Lane> door_lanes();
  kafka::KafkaOptions door_options() const;
  Task<Result<void>> load(Instant deadline);

  RealLanes& lanes_;
  Node& node_;
  const KafkaServerOptions options_;
  kafka::KafkaDoor door_;
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace moraine::app
