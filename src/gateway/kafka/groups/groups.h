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

  // Ends when the rebalance that it takes part in does.
  virtual Task<JoinGroupResponse> join(JoinGroupRequest request, std::int16_t version,
                                       GroupClient client) = 0;
  virtual Task<SyncGroupResponse> sync(SyncGroupRequest request, std::int16_t version) = 0;
  virtual HeartbeatResponse heartbeat(const HeartbeatRequest& request) = 0;
  virtual Task<LeaveGroupResponse> leave(LeaveGroupRequest request, std::int16_t version) = 0;
  virtual DescribeGroupsResponse describe(const DescribeGroupsRequest& request) const = 0;
  // What the longest answer of list() takes in memory.
  virtual std::size_t list_bytes() const = 0;
  virtual ListGroupsResponse list(const ListGroupsRequest& request) const = 0;

  // May this member commit offsets now? Also counts as a sign of life. An unknown group with
  // generation -1 is made by this.
  virtual Task<ErrorCode> admit_commit(const OffsetCommitRequest& request) = 0;
  // kNone: the group is gone; its committed offsets are the caller's to remove. kNonEmptyGroup,
  // kGroupIdNotFound.
  virtual Task<ErrorCode> remove(std::string group) = 0;
  // Whether live members subscribe to the topic (OffsetDelete must refuse then).
  virtual bool exists(const std::string& group) const = 0;
  virtual bool subscribed(const std::string& group, const std::string& topic) const = 0;
};

}  // namespace moraine::kafka
