// Consumer groups: membership and administration. The metadata of members is opaque bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/protocol/api.h"
#include "gateway/kafka/protocol/cluster_messages.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

struct JoinGroupResponse {
  static constexpr ApiKey kApi = ApiKey::kJoinGroup;
  struct Member {
    std::string member_id;
    std::optional<std::string> group_instance_id;
    Slice metadata;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::int32_t generation_id = -1;
  std::optional<std::string> protocol_type;
  std::optional<std::string> protocol_name = std::string();
  std::string leader;
  std::string member_id;
  std::vector<Member> members;
};

struct JoinGroupRequest {
  static constexpr ApiKey kApi = ApiKey::kJoinGroup;
  using Response = JoinGroupResponse;
  struct Protocol {
    std::string name;
    Slice metadata;
  };

  std::string group_id;
  std::int32_t session_timeout_ms = 0;
  std::int32_t rebalance_timeout_ms = -1;  // -1: as the session timeout.
  std::string member_id;
  std::optional<std::string> group_instance_id;
  std::string protocol_type;
  std::vector<Protocol> protocols;
};

struct SyncGroupResponse {
  static constexpr ApiKey kApi = ApiKey::kSyncGroup;

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::optional<std::string> protocol_type;
  std::optional<std::string> protocol_name;
  Slice assignment;
};

struct SyncGroupRequest {
  static constexpr ApiKey kApi = ApiKey::kSyncGroup;
  using Response = SyncGroupResponse;
  struct Assignment {
    std::string member_id;
    Slice assignment;
  };

  std::string group_id;
  std::int32_t generation_id = -1;
  std::string member_id;
  std::optional<std::string> group_instance_id;
  std::optional<std::string> protocol_type;
  std::optional<std::string> protocol_name;
  std::vector<Assignment> assignments;
};

struct HeartbeatResponse {
  static constexpr ApiKey kApi = ApiKey::kHeartbeat;

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
};

struct HeartbeatRequest {
  static constexpr ApiKey kApi = ApiKey::kHeartbeat;
  using Response = HeartbeatResponse;

  std::string group_id;
  std::int32_t generation_id = -1;
  std::string member_id;
  std::optional<std::string> group_instance_id;
};

struct LeaveGroupResponse {
  static constexpr ApiKey kApi = ApiKey::kLeaveGroup;
  struct Member {
    std::string member_id;
    std::optional<std::string> group_instance_id;
    ErrorCode error_code = ErrorCode::kNone;
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::vector<Member> members;  // From version 3.
};

struct LeaveGroupRequest {
  static constexpr ApiKey kApi = ApiKey::kLeaveGroup;
  using Response = LeaveGroupResponse;
  struct Member {
    std::string member_id;
    std::optional<std::string> group_instance_id;
  };

  std::string group_id;
  std::vector<Member> members;  // Versions below 3: exactly one.
};

struct DescribeGroupsResponse {
  static constexpr ApiKey kApi = ApiKey::kDescribeGroups;
  struct Member {
    std::string member_id;
    std::optional<std::string> group_instance_id;
    std::string client_id;
    std::string client_host;
    Slice member_metadata;
    Slice member_assignment;
  };
  struct Group {
    ErrorCode error_code = ErrorCode::kNone;
    std::string group_id;
    std::string group_state;
    std::string protocol_type;
    std::string protocol_data;
    std::vector<Member> members;
    std::int32_t authorized_operations = kOperationsNotAsked;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Group> groups;
};

struct DescribeGroupsRequest {
  static constexpr ApiKey kApi = ApiKey::kDescribeGroups;
  using Response = DescribeGroupsResponse;

  std::vector<std::string> groups;
  bool include_authorized_operations = false;
};

inline constexpr std::string_view kClassicGroup = "Classic";

struct ListGroupsResponse {
  static constexpr ApiKey kApi = ApiKey::kListGroups;
  struct Group {
    std::string group_id;
    std::string protocol_type;
    std::string group_state;
    std::string group_type = std::string(kClassicGroup);
  };

  std::int32_t throttle_time_ms = 0;
  ErrorCode error_code = ErrorCode::kNone;
  std::vector<Group> groups;
};

struct ListGroupsRequest {
  static constexpr ApiKey kApi = ApiKey::kListGroups;
  using Response = ListGroupsResponse;

  std::vector<std::string> states_filter;  // Empty: all.
  std::vector<std::string> types_filter;   // Empty: all.
};

struct DeleteGroupsResponse {
  static constexpr ApiKey kApi = ApiKey::kDeleteGroups;
  struct Group {
    std::string group_id;
    ErrorCode error_code = ErrorCode::kNone;
  };

  std::int32_t throttle_time_ms = 0;
  std::vector<Group> results;
};

struct DeleteGroupsRequest {
  static constexpr ApiKey kApi = ApiKey::kDeleteGroups;
  using Response = DeleteGroupsResponse;

  std::vector<std::string> groups;
};

}  // namespace moraine::kafka
