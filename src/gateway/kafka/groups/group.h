// Group: one consumer group as a state machine: no I/O, no clock.
//
// Promise    Every join and sync is answered exactly once through take_effects(), unless the group
//            is dropped. An assignment is answered only after stored() reported that it is durable.
//            Members of one generation get what its leader assigned to them.
// Invariants (1) All members have a protocol in common. (2) A static instance is one member.
//            (3) A member whose join or sync is held does not expire by its session; a new one
//            whose join is held expires after kNewMemberTimeout.
// Use        Call a request function, take_effects(), then deadline(): call expire() at that time.
// Limits     group_record.h.
// Tests      group_test.cpp, group_offsets_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gateway/kafka/groups/group_record.h"
#include "gateway/kafka/groups/groups.h"
#include "gateway/kafka/groups/protocol_choice.h"
#include "io/executor.h"

namespace moraine::kafka {

// The first rebalance of an empty group waits so long for more members, again after each one.
inline constexpr Duration kInitialRebalanceDelay = 500ms;
inline constexpr Duration kNewMemberTimeout = 5min;
// A change that could not be stored is retried after this.
inline constexpr Duration kStoreRetry = 1s;
// An empty group that never committed an offset is removed after this.
inline constexpr Duration kEmptyGroupKept = 24h;
// One that did may be removed after this, without a member or a commit, when there are too many.
inline constexpr Duration kIdleGroupKept = 7 * 24h;
inline constexpr std::int16_t kMemberIdRequiredFrom = 4;

enum class GroupState : std::uint8_t {
  kEmpty,
  kPreparingRebalance,   // Waits for joins.
  kCompletingRebalance,  // Waits for the leader's assignment.
  kStable,
  kDead,  // Removed; only its key may still be stored.
};

std::string_view to_string(GroupState state);  // The protocol's name.

// Identifies a request whose answer is held.
using RequestId = std::uint64_t;
// Grows with each change that is to be stored.
using StoreTicket = std::uint64_t;

struct JoinCall {
  RequestId held = 0;
  std::int16_t version = 0;
  JoinGroupRequest request;
  GroupClient client;
  std::string fresh_id;  // For a member that has none yet.
};

struct GroupEffects {
  struct Store {
    StoreTicket ticket = 0;
    std::optional<GroupRecord> record;  // nullopt: remove it.
  };
  template <class Response>
  struct Answer {
    RequestId held = 0;
    Response response;
  };

  std::vector<Answer<JoinGroupResponse>> joins;
  std::vector<Answer<SyncGroupResponse>> syncs;
  std::optional<Store> store;  // Replaces earlier ones.
};

class Group {
 public:
  explicit Group(std::string id, Instant now)
      : id_(std::move(id)), empty_since_(now), committed_at_(now) {}
  // Restores a stored group; the sessions of its members restart.
  Group(GroupRecord record, Instant now);

  // Requires: a session timeout above 0.
  void join(JoinCall call, Instant now);
  void sync(RequestId held, const SyncGroupRequest& request, Instant now);
  ErrorCode heartbeat(const HeartbeatRequest& request, Instant now);
  ErrorCode leave(const LeaveGroupRequest::Member& member, Instant now);
  ErrorCode commit(const OffsetCommitRequest& request, Instant now);
  // kNone: the group is dead.
  ErrorCode remove();
  // `kept`: the changes up to `ticket` are durable; otherwise they may not be.
  void stored(StoreTicket ticket, bool kept, Instant now);
  void expire(Instant now);

  GroupEffects take_effects() { return std::exchange(effects_, {}); }
  Instant deadline() const;
  // The last change to be stored; 0: none.
  StoreTicket last_ticket() const { return last_ticket_; }

  const std::string& id() const { return id_; }
  GroupState state() const { return state_; }
  std::int32_t generation() const { return generation_; }
  const std::string& protocol_type() const { return protocol_type_; }
  // The memory of its members, pending ones and assignments.
  std::size_t bytes() const;
  // Of one member, without its assignment; 0 when there is none.
  std::size_t member_bytes(const std::string& id) const;
  // Of the assignments that those of the request would replace.
  std::size_t replaced_bytes(const SyncGroupRequest& request) const;
  // Can be dropped at once: no member, no pending one, never stored.
  bool forgettable() const;
  // Stored, but may be removed: no member, and no committed offset or none for long.
  bool expendable(Instant now) const;
  bool subscribed(const std::string& topic) const;
  DescribeGroupsResponse::Group describe() const;
  // Requires: kEmpty or kStable, or assignments are just being set; in kPreparingRebalance it has
  // no members: they join anyway.
  GroupRecord record() const;

 private:
  struct Member {
    MemberRecord record;
    Instant deadline;  // Of the session; never() while a request of it is held.
    bool is_new = false;
    bool synced = true;  // Has requested the assignment of this generation, or need not.
    std::optional<RequestId> join;
    std::optional<RequestId> sync;
  };
  // A static member that replaced its predecessor, answered when that is stored.
  struct Replacement {
    StoreTicket ticket = 0;
    RequestId held = 0;
    JoinGroupResponse response;
  };

  // group_join.cpp
  ErrorCode check_join(const JoinCall& call) const;
  void join_without_id(JoinCall call, Instant now);
  void join_with_id(JoinCall call, Instant now);
  void add_member(JoinCall call, std::string id, Instant now);
  void replace_static(Member& member, JoinCall call, Instant now);
  void update(Member& member, const JoinCall& call);
  void hold_join(Member& member, RequestId held, Instant now);
  void rejoin(Member& member, const JoinCall& call, Instant now);
  void refuse_join(RequestId held, ErrorCode error, std::string member_id);
  JoinGroupResponse joined(const Member& member) const;

  // group_rebalance.cpp
  void prepare_rebalance(Instant now);
  void try_complete_join(Instant now);
  void complete_join(Instant now);
  bool elect_leader();
  void become_empty(Instant now);
  ErrorCode check_sync(const SyncGroupRequest& request);
  void assign(const SyncGroupRequest& request);
  void become_stable(Instant now);
  void lose_assignment(Instant now);
  void answer_sync(Member& member, ErrorCode error, Instant now);
  void expire_syncs(Instant now);
  StoreTicket order_store(std::optional<GroupRecord> record);
  Duration longest_rebalance() const;

  // group.cpp
  Member* find(const std::string& id);
  Member* find_instance(const std::optional<std::string>& instance);
  ErrorCode check_member(const std::string& id, const std::optional<std::string>& instance);
  Instant removable_at() const;  // When an empty group is removed.
  void touch(Member& member, Instant now);
  void remove_member(const std::string& id, Instant now);
  void drop_requests(Member& member, ErrorCode error);

  std::string id_;
  GroupState state_ = GroupState::kEmpty;
  std::int32_t generation_ = 0;
  bool has_offsets_ = false;
  bool offsets_kept_ = false;       // The stored record says that it has offsets.
  StoreTicket offsets_ticket_ = 0;  // The first change that says so.
  std::string protocol_type_;
  std::string protocol_;
  std::string leader_;
  std::vector<Member> members_;             // In the order in which they joined.
  std::map<std::string, Instant> pending_;  // Assigned ids that have not joined yet; until when.

  bool initial_ = false;  // The rebalance began with an empty group.
  Instant initial_until_ = Instant::never();
  Instant rebalance_until_ = Instant::never();
  Instant sync_until_ = Instant::never();
  Instant empty_since_;
  Instant committed_at_;
  Instant retry_at_ = Instant::never();

  StoreTicket last_ticket_ = 0;
  bool ever_stored_ = false;
  std::optional<StoreTicket> assignment_ticket_;  // The leader's assignment is being stored.
  std::vector<Replacement> replacements_;
  GroupEffects effects_;
};

}  // namespace moraine::kafka
