#include "gateway/kafka/protocol/cluster_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

// --- ApiVersions ---------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, ApiVersionsRequest>& m) {
  if (io.since(3)) io(m.client_software_name, m.client_software_version);
}

template <class Io>
void fields(Io& io, Like<Io, ApiVersionsResponse::Range>& m) {
  io(m.api_key, m.min_version, m.max_version);
}
template <class Io>
void fields(Io& io, Like<Io, ApiVersionsResponse::SupportedFeature>& m) {
  io(m.name, m.min_version, m.max_version);
}
template <class Io>
void fields(Io& io, Like<Io, ApiVersionsResponse::FinalizedFeature>& m) {
  io(m.name, m.max_version_level, m.min_version_level);
}
template <class Io>
void fields(Io& io, Like<Io, ApiVersionsResponse>& m) {
  io(m.error_code, m.api_keys);
  if (io.since(1)) io(m.throttle_time_ms);
  io.tagged(0, m.supported_features);
  io.tagged(1, m.finalized_features_epoch);
  io.tagged(2, m.finalized_features);
  io.tagged(3, m.zk_migration_ready);
}

ApiVersionsResponse offered_apis(ServedParts parts) {
  ApiVersionsResponse response;
  for (const ApiInfo& api : apis()) {
    if (!parts.has(api.part)) continue;
    response.api_keys.push_back({api.key, api.version_min, api.version_max});
  }
  return response;
}

// --- Metadata ------------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, MetadataRequest::Topic>& m) {
  if (io.since(10)) io(m.topic_id);
  io.nullable_since(10, m.name);
}
template <class Io>
void fields(Io& io, Like<Io, MetadataRequest>& m) {
  io.nullable_since(1, m.topics);
  if constexpr (Io::kReads) {
    if (!io.since(1) && m.topics && m.topics->empty()) m.topics.reset();
  }
  if (io.since(4)) io(m.allow_auto_topic_creation);
  if (io.between(8, 10)) io(m.include_cluster_authorized_operations);
  if (io.since(8)) io(m.include_topic_authorized_operations);
}

template <class Io>
void fields(Io& io, Like<Io, MetadataResponse::Broker>& m) {
  io(m.node_id, m.host, m.port);
  if (io.since(1)) io(m.rack);
}
template <class Io>
void fields(Io& io, Like<Io, MetadataResponse::Partition>& m) {
  io(m.error_code, m.partition_index, m.leader_id);
  if (io.since(7)) io(m.leader_epoch);
  io(m.replica_nodes, m.isr_nodes);
  if (io.since(5)) io(m.offline_replicas);
}
template <class Io>
void fields(Io& io, Like<Io, MetadataResponse::Topic>& m) {
  io(m.error_code);
  io.nullable_since(12, m.name);
  if (io.since(10)) io(m.topic_id);
  if (io.since(1)) io(m.is_internal);
  io(m.partitions);
  if (io.since(8)) io(m.authorized_operations);
}
template <class Io>
void fields(Io& io, Like<Io, MetadataResponse>& m) {
  if (io.since(3)) io(m.throttle_time_ms);
  io(m.brokers);
  if (io.since(2)) io(m.cluster_id);
  if (io.since(1)) io(m.controller_id);
  io(m.topics);
  if (io.between(8, 10)) io(m.cluster_authorized_operations);
}

// --- FindCoordinator -----------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, FindCoordinatorRequest>& m) {
  if (!io.since(4)) io(io.first(m.keys));
  if (io.since(1)) io(m.key_type);
  if (io.since(4)) io(m.keys);
}

template <class Io>
void fields(Io& io, Like<Io, FindCoordinatorResponse::Coordinator>& m) {
  io(m.key, m.node_id, m.host, m.port, m.error_code, m.error_message);
}
template <class Io>
void fields(Io& io, Like<Io, FindCoordinatorResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  if (io.since(4)) return io(m.coordinators);
  auto& only = io.first(m.coordinators);
  io(only.error_code);
  if (io.since(1)) io(only.error_message);
  io(only.node_id, only.host, only.port);
}

// --- DescribeCluster -----------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DescribeClusterRequest>& m) {
  io(m.include_cluster_authorized_operations);
  if (io.since(1)) io(m.endpoint_type);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeClusterResponse::Broker>& m) {
  io(m.broker_id, m.host, m.port, m.rack);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeClusterResponse>& m) {
  io(m.throttle_time_ms, m.error_code, m.error_message);
  if (io.since(1)) io(m.endpoint_type);
  io(m.cluster_id, m.controller_id, m.brokers, m.cluster_authorized_operations);
}

MORAINE_KAFKA_API(ApiVersions);
MORAINE_KAFKA_API(Metadata);
MORAINE_KAFKA_API(FindCoordinator);
MORAINE_KAFKA_API(DescribeCluster);

}  // namespace moraine::kafka
