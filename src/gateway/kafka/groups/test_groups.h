// Consumer groups on a simulated machine, on a tablet that can be restarted. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "gateway/kafka/groups/stored_groups.h"
#include "gateway/kafka/protocol/consumer_protocol.h"
#include "tablet/test_tablet.h"

namespace moraine::kafka {

template <class T>
using Later = std::shared_ptr<std::optional<T>>;

template <class T>
Task<void> keep(Task<T> task, Later<T> out) {
  out->emplace(co_await std::move(task));
}

// Starts `task`; its result is set when it has ended.
template <class T>
Later<T> begin(Task<T> task) {
  auto out = std::make_shared<std::optional<T>>();
  spawn(keep(std::move(task), out));
  return out;
}

inline Slice topics_of(std::vector<std::string> topics) {
  Subscription subscription;
  subscription.topics = std::move(topics);
  return encode_subscription(subscription);
}

inline JoinGroupRequest join_request(const std::string& member = "",
                                     std::optional<std::string> instance = std::nullopt) {
  JoinGroupRequest request;
  request.group_id = "g";
  request.session_timeout_ms = 10'000;
  request.rebalance_timeout_ms = 30'000;
  request.member_id = member;
  request.group_instance_id = std::move(instance);
  request.protocol_type = "consumer";
  request.protocols = {{"range", topics_of({"t"})}};
  return request;
}

inline SyncGroupRequest sync_request(const std::string& member, std::int32_t generation) {
  SyncGroupRequest request;
  request.group_id = "g";
  request.member_id = member;
  request.generation_id = generation;
  return request;
}

inline HeartbeatRequest heartbeat_request(const std::string& member, std::int32_t generation) {
  HeartbeatRequest request;
  request.group_id = "g";
  request.member_id = member;
  request.generation_id = generation;
  return request;
}

inline LeaveGroupRequest leave_request(const std::string& member) {
  LeaveGroupRequest request;
  request.group_id = "g";
  request.members.push_back({member, std::nullopt});
  return request;
}

class GroupsTest : public testing::Test {
 protected:
  explicit GroupsTest(std::uint64_t seed = 5, SimOptions options = {})
      : world_(seed, options), storage_(world_) {
    start();
  }
  ~GroupsTest() override {
    halt();
    world_.shutdown();
  }

  void boot_tablet() {
    auto booted = world_.run(
        KeyValue::boot(storage_.world(), storage_, TabletInfo::simple(TabletId{7}, kTestGroup, 3)));
    INVARIANT(booted, "{}", booted.error().message());
    tablet_ = std::move(*booted);
  }
  void stop_tablet() {
    std::shared_ptr<KeyValue> tablet = std::move(tablet_);
    if (tablet) world_.run(tablet->stop());
  }
  void make_groups() {
    groups_ =
        std::make_unique<StoredGroups>(storage_.world(), [this] { return tablet_; }, bytes_max_);
  }
  void start() {
    boot_tablet();
    make_groups();
    const auto loaded = world_.run(groups_->load());
    INVARIANT(loaded, "{}", loaded.error().message());
  }
  void halt() {
    const std::unique_ptr<StoredGroups> groups = std::move(groups_);
    if (groups) groups->stop();
    stop_tablet();
  }
  void restart() {
    halt();
    start();
  }
  // A power cut: unanswered changes may be lost.
  void crash() {
    storage_.node().on_stop([this] {
      const std::unique_ptr<StoredGroups> groups = std::move(groups_);
      if (groups) groups->stop();
      tablet_->abandon();
    });
    storage_.node().on_crash([this] { tablet_.reset(); });
    storage_.crash();
    start();
  }

  Later<JoinGroupResponse> join(JoinGroupRequest request, std::int16_t version = 3) {
    return begin(groups_->join(std::move(request), version, {"cli", "/127.0.0.1"}));
  }
  Later<SyncGroupResponse> sync(SyncGroupRequest request) {
    return begin(groups_->sync(std::move(request), 5));
  }
  ErrorCode heartbeat(const std::string& member, std::int32_t generation) {
    return groups_->heartbeat(heartbeat_request(member, generation)).error_code;
  }
  ErrorCode leave(const std::string& member) {
    return world_.run(groups_->leave(leave_request(member), 1)).error_code;
  }
  std::string state() {
    DescribeGroupsRequest request;
    request.groups = {"g"};
    return groups_->describe(request).groups.at(0).group_state;
  }

  // The leader assigns "for <id>" to each member; all get it.
  void sync_all(const std::vector<JoinGroupResponse>& members) {
    std::vector<Later<SyncGroupResponse>> answers;
    for (const JoinGroupResponse& member : members) {
      SyncGroupRequest request = sync_request(member.member_id, member.generation_id);
      for (const auto& each : member.members) {
        request.assignments.push_back({each.member_id, Slice::copy_of("for " + each.member_id)});
      }
      answers.push_back(sync(std::move(request)));
    }
    world_.run_for(100ms);
    for (std::size_t i = 0; i < members.size(); ++i) {
      ASSERT_TRUE(answers[i]->has_value());
      EXPECT_EQ((*answers[i])->error_code, ErrorCode::kNone);
      EXPECT_EQ((*answers[i])->assignment.text(), "for " + members[i].member_id);
    }
  }
  // Members that join together; Stable at the end.
  std::vector<JoinGroupResponse> stable(std::vector<JoinGroupRequest> requests) {
    std::vector<Later<JoinGroupResponse>> joins;
    for (JoinGroupRequest& request : requests) joins.push_back(join(std::move(request)));
    world_.run_for(kInitialRebalanceDelay + 10ms);
    std::vector<JoinGroupResponse> answers;
    for (const auto& answer : joins) answers.push_back(answer->value());
    sync_all(answers);
    EXPECT_EQ(state(), "Stable");
    return answers;
  }

  std::size_t bytes_max_ = kGroupsBytesMax;
  SimWorld world_;
  TestStorage storage_;
  std::shared_ptr<KeyValue> tablet_;
  std::unique_ptr<StoredGroups> groups_;
};

}  // namespace moraine::kafka
