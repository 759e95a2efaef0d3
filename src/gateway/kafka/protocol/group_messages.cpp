#include "gateway/kafka/protocol/group_messages.h"

#include "gateway/kafka/protocol/message_codec_impl.h"

namespace moraine::kafka {

// --- JoinGroup -----------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, JoinGroupRequest::Protocol>& m) {
  io(m.name, m.metadata);
}
template <class Io>
void fields(Io& io, Like<Io, JoinGroupRequest>& m) {
  io(m.group_id, m.session_timeout_ms);
  if (io.since(1)) io(m.rebalance_timeout_ms);
  io(m.member_id);
  if (io.since(5)) io(m.group_instance_id);
  io(m.protocol_type, m.protocols);
}

template <class Io>
void fields(Io& io, Like<Io, JoinGroupResponse::Member>& m) {
  io(m.member_id);
  if (io.since(5)) io(m.group_instance_id);
  io(m.metadata);
}
template <class Io>
void fields(Io& io, Like<Io, JoinGroupResponse>& m) {
  if (io.since(2)) io(m.throttle_time_ms);
  io(m.error_code, m.generation_id);
  if (io.since(7)) io(m.protocol_type);
  io.nullable_since(7, m.protocol_name);
  io(m.leader, m.member_id, m.members);
}

// --- SyncGroup -----------------------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, SyncGroupRequest::Assignment>& m) {
  io(m.member_id, m.assignment);
}
template <class Io>
void fields(Io& io, Like<Io, SyncGroupRequest>& m) {
  io(m.group_id, m.generation_id, m.member_id);
  if (io.since(3)) io(m.group_instance_id);
  if (io.since(5)) io(m.protocol_type, m.protocol_name);
  io(m.assignments);
}

template <class Io>
void fields(Io& io, Like<Io, SyncGroupResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  io(m.error_code);
  if (io.since(5)) io(m.protocol_type, m.protocol_name);
  io(m.assignment);
}

// --- Heartbeat, LeaveGroup -----------------------------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, HeartbeatRequest>& m) {
  io(m.group_id, m.generation_id, m.member_id);
  if (io.since(3)) io(m.group_instance_id);
}
template <class Io>
void fields(Io& io, Like<Io, HeartbeatResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  io(m.error_code);
}

template <class Io>
void fields(Io& io, Like<Io, LeaveGroupRequest::Member>& m) {
  io(m.member_id, m.group_instance_id);
}
template <class Io>
void fields(Io& io, Like<Io, LeaveGroupRequest>& m) {
  io(m.group_id);
  if (io.since(3)) return io(m.members);
  io(io.first(m.members).member_id);
}

template <class Io>
void fields(Io& io, Like<Io, LeaveGroupResponse::Member>& m) {
  io(m.member_id, m.group_instance_id, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, LeaveGroupResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  io(m.error_code);
  if (io.since(3)) io(m.members);
}

// --- DescribeGroups, ListGroups, DeleteGroups ----------------------------------------------------

template <class Io>
void fields(Io& io, Like<Io, DescribeGroupsRequest>& m) {
  io(m.groups);
  if (io.since(3)) io(m.include_authorized_operations);
}

template <class Io>
void fields(Io& io, Like<Io, DescribeGroupsResponse::Member>& m) {
  io(m.member_id);
  if (io.since(4)) io(m.group_instance_id);
  io(m.client_id, m.client_host, m.member_metadata, m.member_assignment);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeGroupsResponse::Group>& m) {
  io(m.error_code, m.group_id, m.group_state, m.protocol_type, m.protocol_data, m.members);
  if (io.since(3)) io(m.authorized_operations);
}
template <class Io>
void fields(Io& io, Like<Io, DescribeGroupsResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  io(m.groups);
}

template <class Io>
void fields(Io& io, Like<Io, ListGroupsRequest>& m) {
  if (io.since(4)) io(m.states_filter);
  if (io.since(5)) io(m.types_filter);
}

template <class Io>
void fields(Io& io, Like<Io, ListGroupsResponse::Group>& m) {
  io(m.group_id, m.protocol_type);
  if (io.since(4)) io(m.group_state);
  if (io.since(5)) io(m.group_type);
}
template <class Io>
void fields(Io& io, Like<Io, ListGroupsResponse>& m) {
  if (io.since(1)) io(m.throttle_time_ms);
  io(m.error_code, m.groups);
}

template <class Io>
void fields(Io& io, Like<Io, DeleteGroupsRequest>& m) {
  io(m.groups);
}

template <class Io>
void fields(Io& io, Like<Io, DeleteGroupsResponse::Group>& m) {
  io(m.group_id, m.error_code);
}
template <class Io>
void fields(Io& io, Like<Io, DeleteGroupsResponse>& m) {
  io(m.throttle_time_ms, m.results);
}

MORAINE_KAFKA_API(JoinGroup);
MORAINE_KAFKA_API(SyncGroup);
MORAINE_KAFKA_API(Heartbeat);
MORAINE_KAFKA_API(LeaveGroup);
MORAINE_KAFKA_API(DescribeGroups);
MORAINE_KAFKA_API(ListGroups);
MORAINE_KAFKA_API(DeleteGroups);

}  // namespace moraine::kafka
