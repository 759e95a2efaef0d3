// StoredGroups: the consumer groups of a node, stored in a key-value tablet under "g/" + group id.
//
// Promise    As Groups, through LaneGroups. A leader's assignment, a static member's new id, a
//            group that became empty and a removal are answered after they are durable. Sessions
//            restart after load().
// Invariants (1) Each group has at most one write in flight; only the newest state waits behind it.
//            (2) A held request is answered exactly once: by its group, or by stop().
// Threading  The world's executor.
// Limits     kGroupsMax, kGroupsBytesMax, kSessionTimeoutMinMs..kSessionTimeoutMaxMs;
//            group_record.h.
// Errors     kCoordinatorLoadInProgress before load() ended; heartbeats are kNone then.
//            kCoordinatorNotAvailable while the tablet is not running, and after stop(); heartbeats
//            of known members are answered while the tablet is not running.
// Tests      stored_groups_test.cpp, stored_groups_random_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "gateway/kafka/groups/group.h"
#include "gateway/kafka/groups/groups.h"
#include "io/sync.h"
#include "io/world.h"
#include "keyvalue/key_value.h"

namespace moraine::kafka {

inline constexpr std::size_t kGroupsMax = 10'000;
// Memory of the members and assignments of all groups.
inline constexpr std::size_t kGroupsBytesMax = std::size_t{256} << 20;
inline constexpr std::int32_t kSessionTimeoutMinMs = 6'000;
inline constexpr std::int32_t kSessionTimeoutMaxMs = 1'800'000;

class StoredGroups {
 public:
  // Null while the tablet restarts.
  using Tablet = std::function<std::shared_ptr<KeyValue>()>;

  StoredGroups(World world, Tablet tablet, std::size_t bytes_max = kGroupsBytesMax);
  StoredGroups(const StoredGroups&) = delete;
  StoredGroups& operator=(const StoredGroups&) = delete;
  ~StoredGroups() { stop(); }

  // Reads all groups. After an error it may be called again. A record that cannot be read is logged
  // and skipped: its members join again.
  Task<Result<void>> load();
  // Held requests are answered, timers are cancelled. Writes in flight end by themselves.
  void stop();

  Task<JoinGroupResponse> join(JoinGroupRequest request, std::int16_t version, GroupClient client);
  Task<SyncGroupResponse> sync(SyncGroupRequest request, std::int16_t version);
  HeartbeatResponse heartbeat(const HeartbeatRequest& request);
  Task<LeaveGroupResponse> leave(LeaveGroupRequest request, std::int16_t version);
  DescribeGroupsResponse describe(const DescribeGroupsRequest& request) const;
  std::size_t list_bytes() const;
  ListGroupsResponse list(const ListGroupsRequest& request) const;
  Task<ErrorCode> admit_commit(const OffsetCommitRequest& request);
  Task<ErrorCode> remove(std::string group);
  bool exists(const std::string& group) const;
  bool subscribed(const std::string& group, const std::string& topic) const;

 private:
  using HeldJoin = std::shared_ptr<OneShot<JoinGroupResponse>>;
  using HeldSync = std::shared_ptr<OneShot<SyncGroupResponse>>;
  using Kept = std::shared_ptr<OneShot<bool>>;

  struct Entry {
    explicit Entry(Group made) : group(std::move(made)) {}

    Group group;
    std::size_t bytes = 0;  // Of the group, as bytes_ counts it.
    TimerId timer;
    Instant timer_at = Instant::never();
    std::optional<GroupEffects::Store> wanted;  // To be written next.
    bool writing = false;
    std::vector<std::pair<StoreTicket, Kept>> waiters;
  };
  // Answers that are being sent; each owns itself.
  struct Wakes {
    std::vector<std::pair<HeldJoin, JoinGroupResponse>> joins;
    std::vector<std::pair<HeldSync, SyncGroupResponse>> syncs;
    std::vector<std::pair<Kept, bool>> kept;
    void wake();
  };

  // stored_groups.cpp: requests.
  ErrorCode status() const;  // kNone when groups may change.
  ErrorCode check_join(const JoinGroupRequest& request) const;
  Entry* find(const std::string& group);
  const Group* find_group(const std::string& group) const;
  Entry* add(const std::string& group);  // Null: there are too many.
  std::string fresh_member_id(const std::string& prefix);

  // group_store.cpp: effects.
  // Executes the effects of the group, then wakes waiters, which may destroy the entry and this.
  void settle(Entry& entry, Wakes wakes = {});
  void count_bytes(Entry& entry);
  Kept when_stored(Entry& entry);  // Waits until the last change is stored.
  void claim(GroupEffects& effects, Wakes& wakes);
  void start_write(Entry& entry);
  Task<void> write(std::shared_ptr<const bool> stopped, std::string group);
  void finish_write(const std::string& group, StoreTicket ticket, bool kept);
  void arm(Entry& entry);
  void on_timer(const std::string& group);
  void drop_if_removed(const Entry& entry);
  void restore(const RangeRead::Item& item);
  Instant now() const { return world_.executor.now(); }

  World world_;
  Tablet tablet_;
  const std::size_t bytes_max_;
  bool loaded_ = false;
  std::shared_ptr<bool> stopped_ = std::make_shared<bool>(false);
  RequestId last_request_ = 0;
  std::map<std::string, Entry> entries_;
  std::size_t bytes_ = 0;  // Of all entries.
  std::unordered_map<RequestId, HeldJoin> joins_;
  std::unordered_map<RequestId, HeldSync> syncs_;
};

}  // namespace moraine::kafka
