// Groups: the coordinator of consumer groups, Kafka's classic protocol.
//
// Promise    At most one generation of a group is current; a member's assignment is answered only
//            when it is durable, so a restart of the server finds the group as its members know it.
// Threading  The node's executor.
// Limits     kGroupsMax, kMembersMax; sessions within kSessionTimeoutMin..Max.
// Errors     Error codes of the protocol, inside the responses.
#pragma once

#include <string>

#include "gateway/kafka/protocol/messages.h"
#include "io/task.h"

namespace moraine::kafka {

struct GroupClient {
  std::string id;    // The client_id of the request.
  std::string host;  // "/127.0.0.1"
};

class Groups {
 public:
  virtual ~Groups() = default;

  // Returns at the end of the rebalance.
  virtual Task<JoinGroupResponse> join(JoinGroupRequest request, std::int16_t version,
                                       GroupClient client) = 0;
  virtual Task<SyncGroupResponse> sync(SyncGroupRequest request, std::int16_t version) = 0;
  virtual HeartbeatResponse heartbeat(const HeartbeatRequest& request) = 0;
  virtual Task<LeaveGroupResponse> leave(LeaveGroupRequest request, std::int16_t version) = 0;
  virtual DescribeGroupsResponse describe(const DescribeGroupsRequest& request) const = 0;
  // The memory of the longest answer of list().
  virtual std::size_t list_bytes() const = 0;
  virtual ListGroupsResponse list(const ListGroupsRequest& request) const = 0;

  // Whether this member may commit offsets now. Also counts as a heartbeat. Creates an unknown
  // group when the generation is -1.
  virtual Task<ErrorCode> admit_commit(const OffsetCommitRequest& request) = 0;
  // kNone: the group was removed; the caller removes its committed offsets. kNonEmptyGroup,
  // kGroupIdNotFound.
  virtual Task<ErrorCode> remove(std::string group) = 0;
  // Whether live members subscribe to the topic (OffsetDelete must refuse then).
  virtual bool exists(const std::string& group) const = 0;
  virtual bool subscribed(const std::string& group, const std::string& topic) const = 0;
};

}  // namespace moraine::kafka
