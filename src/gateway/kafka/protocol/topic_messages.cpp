#include "gateway/kafka/protocol/topic_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

// --- CreateTopics --------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, CreateTopicsRequest::Assignment>& m) {
  io(m.partition_index, m.broker_ids);
}
template <class Io>
void fields(Io& io, Like<Io, CreateTopicsRequest::Config>& m) {
  io(m.name, m.value);
}
template <class Io>
void fields(Io& io, Like<Io, CreateTopicsRequest::Topic>& m) {
  io(m.name, m.num_partitions, m.replication_factor, m.assignments, m.configs);
}
template <class Io>
void fields(Io& io, Like<Io, CreateTopicsRequest>& m) {
  io(m.topics, m.timeout_ms);
  if (io.since(1)) io(m.validate_only);
}

template <class Io>
void fields(Io& io, Like<Io, CreateTopicsResponse::Config>& m) {
  io(m.name, m.value, m.read_only, m.config_source, m.is_sensitive);
}
template <class Io>
void fields(Io& io, Like<Io, CreateTopicsResponse::Topic>& m) {
  io(m.name);
  if (io.since(7)) io(m.topic_id);
  io(m.error_code);
  if (io.since(1)) io(m.error_message);
  io.tagged(0, m.topic_config_error_code);
  if (io.since(5)) io(m.num_partitions, m.replication_factor, m.configs);
}
template <class Io>
void fields(Io& io, Like<Io, CreateTopicsResponse>& m) {
  if (io.since(2)) io(m.throttle_time_ms);
  io(m.topics);
}

// --- DeleteTopics --------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DeleteTopicsRequest::Topic>& m) {
  io(m.name, m.topic_id);
}
// Versions below 6 have an array of names where later ones have structures.
inline void old_names(FieldReader& io, DeleteTopicsRequest& m) {
  std::vector<std::string> names;
  io(names);
  m.topics.clear();
  for (std::string& name : names) m.topics.push_back({std::move(name), {}});
}
inline void old_names(FieldWriter& io, const DeleteTopicsRequest& m) {
  std::vector<std::string> names;
  for (const auto& topic : m.topics) names.push_back(topic.name.value_or(""));
  io(names);
}
template <class Io>
void fields(Io& io, Like<Io, DeleteTopicsRequest>& m) {
  if (io.since(6)) {
    io(m.topics);
  } else {
    old_names(io, m);
  }
  io(m.timeout_ms);
}

template <class Io>
void fields(Io& io, Like<Io, DeleteTopicsResponse::Topic>& m) {
  io.nullable_since(6, m.name);
  if (io.since(6)) io(m.topic_id);
  io(m.error_code);
  if (io.since(5)) io(m.error_message);
}
template <class Io>
void fields(Io& io, Like<Io, DeleteTopicsResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  io(m.topics);
}

// --- CreatePartitions ----------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, CreatePartitionsRequest::Assignment>& m) {
  io(m.broker_ids);
}
template <class Io>
void fields(Io& io, Like<Io, CreatePartitionsRequest::Topic>& m) {
  io(m.name, m.count, m.assignments);
}
template <class Io>
void fields(Io& io, Like<Io, CreatePartitionsRequest>& m) {
  io(m.topics, m.timeout_ms, m.validate_only);
}

template <class Io>
void fields(Io& io, Like<Io, CreatePartitionsResponse::Topic>& m) {
  io(m.name, m.error_code, m.error_message);
}
template <class Io>
void fields(Io& io, Like<Io, CreatePartitionsResponse>& m) {
  io(m.throttle_time_ms, m.results);
}

// --- DeleteRecords -------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DeleteRecordsRequest::Partition>& m) {
  io(m.partition_index, m.offset);
}
template <class Io>
void fields(Io& io, Like<Io, DeleteRecordsRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, DeleteRecordsRequest>& m) {
  io(m.topics, m.timeout_ms);
}

template <class Io>
void fields(Io& io, Like<Io, DeleteRecordsResponse::Partition>& m) {
  io(m.partition_index, m.low_watermark, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, DeleteRecordsResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, DeleteRecordsResponse>& m) {
  io(m.throttle_time_ms, m.topics);
}

MORAINE_KAFKA_API(CreateTopics);
MORAINE_KAFKA_API(DeleteTopics);
MORAINE_KAFKA_API(CreatePartitions);
MORAINE_KAFKA_API(DeleteRecords);

}  // namespace moraine::kafka
