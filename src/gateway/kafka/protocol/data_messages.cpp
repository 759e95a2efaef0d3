#include "gateway/kafka/protocol/data_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

// --- Produce -------------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, ProduceRequest::Partition>& m) {
  io(m.index, m.records);
}
template <class Io>
void fields(Io& io, Like<Io, ProduceRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, ProduceRequest>& m) {
  if (io.since(3)) io(m.transactional_id);
  io(m.acks, m.timeout_ms, m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, ProduceResponse::RecordError>& m) {
  io(m.batch_index, m.message);
}
template <class Io>
void fields(Io& io, Like<Io, ProduceResponse::Partition>& m) {
  io(m.index, m.error_code, m.base_offset);
  if (io.since(2)) io(m.log_append_time_ms);
  if (io.since(5)) io(m.log_start_offset);
  if (io.since(8)) io(m.record_errors, m.error_message);
}
template <class Io>
void fields(Io& io, Like<Io, ProduceResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, ProduceResponse>& m) {
  io(m.topics);
  if (io.since(1)) io(m.throttle_time_ms);
}

// --- Fetch ---------------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, FetchRequest::Partition>& m) {
  io(m.partition);
  if (io.since(9)) io(m.current_leader_epoch);
  io(m.fetch_offset);
  if (io.since(12)) io(m.last_fetched_epoch);
  if (io.since(5)) io(m.log_start_offset);
  io(m.partition_max_bytes);
}
// Topics are named up to version 12 and identified from version 13.
template <class Io, class Topic>
void topic_name(Io& io, Topic& m) {
  if (io.since(13)) return io(m.topic_id);
  io(m.name);
}
template <class Io>
void fields(Io& io, Like<Io, FetchRequest::Topic>& m) {
  topic_name(io, m);
  io(m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, FetchRequest::ForgottenTopic>& m) {
  topic_name(io, m);
  io(m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, FetchRequest>& m) {
  io.tagged(0, m.cluster_id);
  io(m.replica_id, m.max_wait_ms, m.min_bytes);
  if (io.since(3)) io(m.max_bytes);
  if (io.since(4)) io(m.isolation_level);
  if (io.since(7)) io(m.session_id, m.session_epoch);
  io(m.topics);
  if (io.since(7)) io(m.forgotten_topics);
  if (io.since(11)) io(m.rack_id);
}

template <class Io>
void fields(Io& io, Like<Io, FetchResponse::AbortedTransaction>& m) {
  io(m.producer_id, m.first_offset);
}
template <class Io>
void fields(Io& io, Like<Io, FetchResponse::DivergingEpoch>& m) {
  io(m.epoch, m.end_offset);
}
template <class Io>
void fields(Io& io, Like<Io, FetchResponse::CurrentLeader>& m) {
  io(m.leader_id, m.leader_epoch);
}
template <class Io>
void fields(Io& io, Like<Io, FetchResponse::SnapshotId>& m) {
  io(m.end_offset, m.epoch);
}
template <class Io>
void fields(Io& io, Like<Io, FetchResponse::Partition>& m) {
  io(m.partition_index, m.error_code, m.high_watermark);
  if (io.since(4)) io(m.last_stable_offset);
  if (io.since(5)) io(m.log_start_offset);
  io.tagged(0, m.diverging_epoch);
  io.tagged(1, m.current_leader);
  io.tagged(2, m.snapshot_id);
  if (io.since(4)) io(m.aborted_transactions);
  if (io.since(11)) io(m.preferred_read_replica);
  io(m.records);
}
template <class Io>
void fields(Io& io, Like<Io, FetchResponse::Topic>& m) {
  topic_name(io, m);
  io(m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, FetchResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  if (io.since(7)) io(m.error_code, m.session_id);
  io(m.topics);
}

// --- ListOffsets ---------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, ListOffsetsRequest::Partition>& m) {
  io(m.partition_index);
  if (io.since(4)) io(m.current_leader_epoch);
  io(m.timestamp);
  if (!io.since(1)) io(m.max_num_offsets);
}
template <class Io>
void fields(Io& io, Like<Io, ListOffsetsRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, ListOffsetsRequest>& m) {
  io(m.replica_id);
  if (io.since(2)) io(m.isolation_level);
  io(m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, ListOffsetsResponse::Partition>& m) {
  io(m.partition_index, m.error_code);
  if (!io.since(1)) return io(m.old_style_offsets);
  io(m.timestamp, m.offset);
  if (io.since(4)) io(m.leader_epoch);
}
template <class Io>
void fields(Io& io, Like<Io, ListOffsetsResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, ListOffsetsResponse>& m) {
  if (io.since(2)) io(m.throttle_time_ms);
  io(m.topics);
}

// --- OffsetForLeaderEpoch ------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, OffsetForLeaderEpochRequest::Partition>& m) {
  io(m.partition);
  if (io.since(2)) io(m.current_leader_epoch);
  io(m.leader_epoch);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetForLeaderEpochRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetForLeaderEpochRequest>& m) {
  if (io.since(3)) io(m.replica_id);
  io(m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, OffsetForLeaderEpochResponse::Partition>& m) {
  io(m.error_code, m.partition);
  if (io.since(1)) io(m.leader_epoch);
  io(m.end_offset);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetForLeaderEpochResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetForLeaderEpochResponse>& m) {
  if (io.since(2)) io(m.throttle_time_ms);
  io(m.topics);
}

MORAINE_KAFKA_API(Produce);
MORAINE_KAFKA_API(Fetch);
MORAINE_KAFKA_API(ListOffsets);
MORAINE_KAFKA_API(OffsetForLeaderEpoch);

}  // namespace moraine::kafka
