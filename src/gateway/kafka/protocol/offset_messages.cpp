#include "gateway/kafka/protocol/offset_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

// --- OffsetCommit --------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, OffsetCommitRequest::Partition>& m) {
  io(m.partition_index, m.committed_offset);
  if (io.since(6)) io(m.committed_leader_epoch);
  if (io.between(1, 1)) io(m.commit_timestamp);
  io(m.committed_metadata);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetCommitRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetCommitRequest>& m) {
  io(m.group_id);
  if (io.since(1)) io(m.generation_id, m.member_id);
  if (io.since(7)) io(m.group_instance_id);
  if (io.between(2, 4)) io(m.retention_time_ms);
  io(m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, OffsetCommitResponse::Partition>& m) {
  io(m.partition_index, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetCommitResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetCommitResponse>& m) {
  if (io.since(3)) io(m.throttle_time_ms);
  io(m.topics);
}

// --- OffsetFetch ---------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, OffsetFetchRequest::Topic>& m) {
  io(m.name, m.partition_indexes);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetFetchRequest::Group>& m) {
  io(m.group_id);
  io.nullable_since(2, m.topics);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetFetchRequest>& m) {
  if (io.since(8)) {
    io(m.groups);
  } else {
    fields(io, io.first(m.groups));
  }
  if (io.since(7)) io(m.require_stable);
}

template <class Io>
void fields(Io& io, Like<Io, OffsetFetchResponse::Partition>& m) {
  io(m.partition_index, m.committed_offset);
  if (io.since(5)) io(m.committed_leader_epoch);
  io(m.metadata, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetFetchResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetFetchResponse::Group>& m) {
  io(m.group_id, m.topics, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetFetchResponse>& m) {
  if (io.since(3)) io(m.throttle_time_ms);
  if (io.since(8)) return io(m.groups);
  auto& only = io.first(m.groups);
  io(only.topics);
  if (io.since(2)) io(only.error_code);
}

// --- OffsetDelete --------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, OffsetDeleteRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetDeleteRequest>& m) {
  io(m.group_id, m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, OffsetDeleteResponse::Partition>& m) {
  io(m.partition_index, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetDeleteResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, OffsetDeleteResponse>& m) {
  io(m.error_code, m.throttle_time_ms, m.topics);
}

MORAINE_KAFKA_API(OffsetCommit);
MORAINE_KAFKA_API(OffsetFetch);
MORAINE_KAFKA_API(OffsetDelete);

}  // namespace moraine::kafka
