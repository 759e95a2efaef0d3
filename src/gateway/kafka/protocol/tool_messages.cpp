#include "gateway/kafka/protocol/tool_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

template <class Io>
void fields(Io& io, Like<Io, NamedPartitions>& m) {
  io(m.topic, m.partitions);
}

// --- DescribeAcls --------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DescribeAclsRequest>& m) {
  io(m.resource_type_filter, m.resource_name_filter);
  if (io.since(1)) io(m.pattern_type_filter);
  io(m.principal_filter, m.host_filter, m.operation, m.permission_type);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeAclsResponse::Acl>& m) {
  io(m.principal, m.host, m.operation, m.permission_type);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeAclsResponse::Resource>& m) {
  io(m.resource_type, m.resource_name);
  if (io.since(1)) io(m.pattern_type);
  io(m.acls);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeAclsResponse>& m) {
  io(m.throttle_time_ms, m.error_code, m.error_message, m.resources);
}

// --- DescribeLogDirs -----------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DescribeLogDirsRequest>& m) {
  io(m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeLogDirsResponse::Partition>& m) {
  io(m.partition_index, m.partition_size, m.offset_lag, m.is_future_key);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeLogDirsResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeLogDirsResponse::Result>& m) {
  io(m.error_code, m.log_dir, m.topics);
  if (io.since(4)) io(m.total_bytes, m.usable_bytes);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeLogDirsResponse>& m) {
  io(m.throttle_time_ms);
  if (io.since(3)) io(m.error_code);
  io(m.results);
}

// --- ElectLeaders, ListPartitionReassignments ----------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, ElectLeadersRequest>& m) {
  if (io.since(1)) io(m.election_type);
  io(m.topics, m.timeout_ms);
}

template <class Io>
void fields(Io& io, Like<Io, ElectLeadersResponse::Partition>& m) {
  io(m.partition_id, m.error_code, m.error_message);
}
template <class Io>
void fields(Io& io, Like<Io, ElectLeadersResponse::Topic>& m) {
  io(m.topic, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, ElectLeadersResponse>& m) {
  io(m.throttle_time_ms);
  if (io.since(1)) io(m.error_code);
  io(m.results);
}

template <class Io>
void fields(Io& io, Like<Io, ListPartitionReassignmentsRequest>& m) {
  io(m.timeout_ms, m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, ListPartitionReassignmentsResponse::Partition>& m) {
  io(m.partition_index, m.replicas, m.adding_replicas, m.removing_replicas);
}
template <class Io>
void fields(Io& io, Like<Io, ListPartitionReassignmentsResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, ListPartitionReassignmentsResponse>& m) {
  io(m.throttle_time_ms, m.error_code, m.error_message, m.topics);
}

// --- DescribeClientQuotas, DescribeUserScramCredentials ------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DescribeClientQuotasRequest::Component>& m) {
  io(m.entity_type, m.match_type, m.match);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeClientQuotasRequest>& m) {
  io(m.components, m.strict);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeClientQuotasResponse::Entity>& m) {
  io(m.entity_type, m.entity_name);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeClientQuotasResponse::Value>& m) {
  io(m.key, m.value);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeClientQuotasResponse::Entry>& m) {
  io(m.entity, m.values);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeClientQuotasResponse>& m) {
  io(m.throttle_time_ms, m.error_code, m.error_message, m.entries);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeUserScramCredentialsRequest::User>& m) {
  io(m.name);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeUserScramCredentialsRequest>& m) {
  io(m.users);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeUserScramCredentialsResponse::Credential>& m) {
  io(m.mechanism, m.iterations);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeUserScramCredentialsResponse::User>& m) {
  io(m.user, m.error_code, m.error_message, m.credentials);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeUserScramCredentialsResponse>& m) {
  io(m.throttle_time_ms, m.error_code, m.error_message, m.results);
}

// --- ListTransactions ----------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, ListTransactionsRequest>& m) {
  io(m.state_filters, m.producer_id_filters);
  if (io.since(1)) io(m.duration_filter);
}

template <class Io>
void fields(Io& io, Like<Io, ListTransactionsResponse::Transaction>& m) {
  io(m.transactional_id, m.producer_id, m.state);
}
template <class Io>
void fields(Io& io, Like<Io, ListTransactionsResponse>& m) {
  io(m.throttle_time_ms, m.error_code, m.unknown_state_filters, m.transactions);
}

// --- DescribeTopicPartitions ---------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, PartitionCursor>& m) {
  io(m.topic_name, m.partition_index);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeTopicPartitionsRequest::Topic>& m) {
  io(m.name);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeTopicPartitionsRequest>& m) {
  io(m.topics, m.response_partition_limit);
  io.nullable_structure(m.cursor);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeTopicPartitionsResponse::Partition>& m) {
  io(m.error_code, m.partition_index, m.leader_id, m.leader_epoch, m.replica_nodes, m.isr_nodes,
     m.eligible_leader_replicas, m.last_known_elr, m.offline_replicas);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeTopicPartitionsResponse::Topic>& m) {
  io(m.error_code, m.name, m.topic_id, m.is_internal, m.partitions, m.authorized_operations);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeTopicPartitionsResponse>& m) {
  io(m.throttle_time_ms, m.topics);
  io.nullable_structure(m.next_cursor);
}

MORAINE_KAFKA_API(DescribeAcls);
MORAINE_KAFKA_API(DescribeLogDirs);
MORAINE_KAFKA_API(ElectLeaders);
MORAINE_KAFKA_API(ListPartitionReassignments);
MORAINE_KAFKA_API(DescribeClientQuotas);
MORAINE_KAFKA_API(DescribeUserScramCredentials);
MORAINE_KAFKA_API(ListTransactions);
MORAINE_KAFKA_API(DescribeTopicPartitions);

}  // namespace moraine::kafka
