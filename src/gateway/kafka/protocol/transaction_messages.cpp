#include "gateway/kafka/protocol/transaction_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

// --- InitProducerId ------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, InitProducerIdRequest>& m) {
  io(m.transactional_id, m.transaction_timeout_ms);
  if (io.since(3)) io(m.producer_id, m.producer_epoch);
}
template <class Io>
void fields(Io& io, Like<Io, InitProducerIdResponse>& m) {
  io(m.throttle_time_ms, m.error_code, m.producer_id, m.producer_epoch);
}

// --- AddPartitionsToTxn, AddOffsetsToTxn ---------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, AddPartitionsToTxnRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, AddPartitionsToTxnRequest>& m) {
  io(m.transactional_id, m.producer_id, m.producer_epoch, m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, AddPartitionsToTxnResponse::Partition>& m) {
  io(m.partition_index, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, AddPartitionsToTxnResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, AddPartitionsToTxnResponse>& m) {
  io(m.throttle_time_ms, m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, AddOffsetsToTxnRequest>& m) {
  io(m.transactional_id, m.producer_id, m.producer_epoch, m.group_id);
}
template <class Io>
void fields(Io& io, Like<Io, AddOffsetsToTxnResponse>& m) {
  io(m.throttle_time_ms, m.error_code);
}

// --- TxnOffsetCommit, EndTxn ---------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, TxnOffsetCommitRequest::Partition>& m) {
  io(m.partition_index, m.committed_offset);
  if (io.since(2)) io(m.committed_leader_epoch);
  io(m.committed_metadata);
}
template <class Io>
void fields(Io& io, Like<Io, TxnOffsetCommitRequest::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, TxnOffsetCommitRequest>& m) {
  io(m.transactional_id, m.group_id, m.producer_id, m.producer_epoch);
  if (io.since(3)) io(m.generation_id, m.member_id, m.group_instance_id);
  io(m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, TxnOffsetCommitResponse::Partition>& m) {
  io(m.partition_index, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, TxnOffsetCommitResponse::Topic>& m) {
  io(m.name, m.partitions);
}
template <class Io>
void fields(Io& io, Like<Io, TxnOffsetCommitResponse>& m) {
  io(m.throttle_time_ms, m.topics);
}

template <class Io>
void fields(Io& io, Like<Io, EndTxnRequest>& m) {
  io(m.transactional_id, m.producer_id, m.producer_epoch, m.committed);
}
template <class Io>
void fields(Io& io, Like<Io, EndTxnResponse>& m) {
  io(m.throttle_time_ms, m.error_code);
}

MORAINE_KAFKA_API(InitProducerId);
MORAINE_KAFKA_API(AddPartitionsToTxn);
MORAINE_KAFKA_API(AddOffsetsToTxn);
MORAINE_KAFKA_API(TxnOffsetCommit);
MORAINE_KAFKA_API(EndTxn);

}  // namespace moraine::kafka
