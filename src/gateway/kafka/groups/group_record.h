// GroupRecord: the stored state of a consumer group: its last complete generation.
//
// Invariants (1) Member ids are unique and not empty, instance ids are unique. (2) With members:
//            every member knows the chosen protocol, and the leader is a member or empty. Without:
//            no protocol and no leader.
// Limits     kMembersMax, kProtocolsMax, kMemberBytesMax, kGroupBytesMax.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "gateway/kafka/protocol/group_messages.h"
#include "queue/partition.h"

namespace moraine::kafka {

inline constexpr std::size_t kMembersMax = 1'000;  // Of a group, with those that are pending.
inline constexpr std::size_t kProtocolsMax = 64;   // Of a member.
inline constexpr std::size_t kMemberBytesMax = 1u << 20;  // Metadata of one member.
inline constexpr std::size_t kGroupBytesMax = 8u << 20;   // Of all members; also all assignments.
// Memory of a member, or of a pending one, besides its metadata.
inline constexpr std::size_t kMemberCostBytes = 512;
// A group commits its offsets as the consumer of its name.
inline constexpr std::size_t kGroupIdBytesMax = queue::kConsumerNameBytesMax;

using MemberProtocol = JoinGroupRequest::Protocol;

struct MemberRecord {
  std::string id;
  std::optional<std::string> instance_id;  // A static member.
  std::string client_id;
  std::string client_host;
  std::int32_t session_timeout_ms = 0;
  std::int32_t rebalance_timeout_ms = 0;
  std::vector<MemberProtocol> protocols;  // As the member prefers them.
  Slice assignment;

  std::size_t bytes() const;  // Without the assignment.
};

struct GroupRecord {
  std::string group_id;
  std::int32_t generation = 0;
  bool has_offsets = false;  // A commit of offsets was admitted.
  std::string protocol_type;
  std::string protocol;
  std::string leader;
  std::vector<MemberRecord> members;  // In the order in which they joined.
};

}  // namespace moraine::kafka
