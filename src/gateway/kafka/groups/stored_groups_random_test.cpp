// Many consumers that come, go, die, pause and are replaced, under a coordinator that restarts and
// loses power, against an oracle of all assignments.
#include <map>
#include <set>

#include "base/log.h"
#include "gateway/kafka/groups/test_groups.h"

namespace moraine::kafka {
namespace {

constexpr std::int32_t kPartitions = 12;
constexpr std::size_t kConsumersMax = 8;

// Every assignment that was ever answered.
class Oracle {
 public:
  void given(std::int32_t generation, const std::string& owner, const Assignment& assignment) {
    EXPECT_GE(generation, newest_) << "a generation that is over was answered";
    newest_ = std::max(newest_, generation);
    for (const Assignment::Topic& topic : assignment.topics) {
      for (const std::int32_t partition : topic.partitions) {
        const auto [at, fresh] = owners_.try_emplace({generation, partition}, owner);
        EXPECT_EQ(at->second, owner) << "generation " << generation << " partition " << partition;
      }
    }
  }
  std::int32_t newest() const { return newest_; }

 private:
  std::int32_t newest_ = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, std::string> owners_;
};

// A consumer as in real clients: joins, assigns as leader, sends heartbeats, releases all to
// rejoin.
class Consumer {
 public:
  using Coordinator = std::function<StoredGroups*()>;

  Consumer(Executor& executor, Coordinator groups, Oracle& oracle, std::string name,
           std::optional<std::string> instance, std::uint64_t seed)
      : executor_(executor),
        groups_(std::move(groups)),
        oracle_(oracle),
        owner_(instance.value_or(name)),
        instance_(std::move(instance)),
        random_(seed) {}

  Task<void> run() {
    while (!stop_) {
      const bool ready = co_await join() && co_await sync();
      if (ready) co_await beat();
      owned_.reset();
      if (!stop_) co_await sleep_for(executor_, 50ms);
    }
    StoredGroups* groups = groups_();
    if (!leaves_ || groups == nullptr || id_.empty()) co_return;
    LeaveGroupRequest request = leave_request(id_);
    request.members[0].group_instance_id = instance_;
    co_await groups->leave(std::move(request), 3);
  }
  void die() { stop_ = true; }
  void leave() { stop_ = leaves_ = true; }
  void pause(Duration duration) { pause_ = duration; }
  void set_restless(bool restless) { restless_ = restless; }

  bool gone() const { return stop_; }
  bool owns() const { return owned_.has_value(); }
  std::int32_t generation() const { return generation_; }
  const std::optional<std::string>& instance() const { return instance_; }
  const std::set<std::int32_t>& owned() const { return *owned_; }

 private:
  Task<bool> join() {
    StoredGroups* groups = groups_();
    if (groups == nullptr) co_return false;
    JoinGroupRequest request = join_request(id_, instance_);
    const JoinGroupResponse answer = co_await groups->join(std::move(request), 5, {"cli", "/h"});
    if (!accepted(answer.error_code)) {
      if (answer.error_code == ErrorCode::kMemberIdRequired) id_ = answer.member_id;
      co_return false;
    }
    id_ = answer.member_id;
    generation_ = answer.generation_id;
    members_ = answer.members;
    co_return true;
  }
  Task<bool> sync() {
    if (restless_ && random_.one_in(10))
      co_await sleep_for(executor_, std::chrono::seconds(random_.below(40)));
    StoredGroups* groups = groups_();
    if (groups == nullptr || stop_) co_return false;
    SyncGroupRequest request = sync_request(id_, generation_);
    request.group_instance_id = instance_;
    request.assignments = assign();
    const SyncGroupResponse answer = co_await groups->sync(std::move(request), 5);
    if (!accepted(answer.error_code)) co_return false;
    owned_.emplace();
    const auto assignment = decode_assignment(answer.assignment);
    if (!assignment) co_return true;  // The leader did not know this member.
    oracle_.given(generation_, owner_, *assignment);
    for (const auto& topic : assignment->topics) {
      owned_->insert(topic.partitions.begin(), topic.partitions.end());
    }
    co_return true;
  }
  Task<void> beat() {
    while (!stop_) {
      co_await sleep_for(executor_, std::exchange(pause_, Duration(0)) + 1s);
      StoredGroups* groups = groups_();
      if (groups == nullptr || stop_) continue;
      HeartbeatRequest request = heartbeat_request(id_, generation_);
      request.group_instance_id = instance_;
      const ErrorCode error = groups->heartbeat(request).error_code;
      if (error != ErrorCode::kCoordinatorNotAvailable && !accepted(error)) co_return;
    }
  }
  bool accepted(ErrorCode error) {
    if (error == ErrorCode::kUnknownMemberId) id_.clear();
    if (error == ErrorCode::kFencedInstanceId) stop_ = true;
    return error == ErrorCode::kNone && !stop_;
  }
  std::vector<SyncGroupRequest::Assignment> assign() const {
    std::vector<SyncGroupRequest::Assignment> assignments;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Assignment assignment;
      auto& topic = assignment.topics.emplace_back();
      topic.name = "t";
      for (auto p = static_cast<std::int32_t>(i); p < kPartitions;
           p += static_cast<std::int32_t>(members_.size())) {
        topic.partitions.push_back(p);
      }
      assignments.push_back({members_[i].member_id, encode_assignment(assignment)});
    }
    return assignments;
  }

  Executor& executor_;
  Coordinator groups_;
  Oracle& oracle_;
  std::string owner_;
  std::optional<std::string> instance_;
  SeededRandom random_;
  bool stop_ = false;
  bool leaves_ = false;
  bool restless_ = true;  // Sometimes syncs late, or too late.
  Duration pause_{0};
  std::string id_;
  std::int32_t generation_ = 0;
  std::vector<JoinGroupResponse::Member> members_;
  std::optional<std::set<std::int32_t>> owned_;
};

// Slow enough that power cuts often find a write in flight.
SimOptions slow_disk() {
  SimOptions options;
  options.disk.request_min = 10ms;
  options.disk.request_max = 400ms;
  return options;
}

class RandomGroupsTest : public GroupsTest, public testing::WithParamInterface<std::uint64_t> {
 protected:
  RandomGroupsTest() : GroupsTest(GetParam(), slow_disk()), random_(GetParam()) {}

  void add(std::optional<std::string> instance) {
    const std::string name = fmt::format("c{}", consumers_.size());
    consumers_.push_back(std::make_unique<Consumer>(
        world_.executor(), [this] { return groups_.get(); }, oracle_, name, std::move(instance),
        random_.next()));
    scope_.spawn(consumers_.back()->run());
  }
  std::vector<Consumer*> live() {
    std::vector<Consumer*> found;
    for (const auto& consumer : consumers_) {
      if (!consumer->gone()) found.push_back(consumer.get());
    }
    return found;
  }
  // Something happens to a consumer.
  void disturb_consumers() {
    const std::vector<Consumer*> there = live();
    if (there.empty() || (there.size() < kConsumersMax && random_.one_in(3))) {
      std::optional<std::string> instance;
      if (random_.one_in(3)) instance = fmt::format("i{}", consumers_.size());
      return add(instance);
    }
    Consumer& one = *there[random_.below(there.size())];
    switch (random_.below(4)) {
      case 0: return one.die();
      case 1: return one.leave();
      case 2: return one.pause(std::chrono::seconds(random_.below(60)));
      default:
        if (one.instance()) add(one.instance());  // The old one runs on until it is fenced.
    }
  }
  void disturb_coordinator() {
    switch (random_.below(3)) {
      case 0: return restart();
      case 1: return crash();
      default:
        stop_tablet();
        world_.run_for(std::chrono::milliseconds(random_.below(3'000)));
        boot_tablet();
    }
  }
  void expect_quiet() {
    const std::vector<Consumer*> there = live();
    std::set<std::int32_t> owned;
    std::size_t count = 0;
    for (const Consumer* consumer : there) {
      ASSERT_TRUE(consumer->owns());
      EXPECT_EQ(consumer->generation(), oracle_.newest());
      owned.insert(consumer->owned().begin(), consumer->owned().end());
      count += consumer->owned().size();
    }
    EXPECT_EQ(count, owned.size()) << "a partition has two owners";
    EXPECT_EQ(owned.size(), static_cast<std::size_t>(kPartitions));
    EXPECT_EQ(state(), "Stable");
    EXPECT_EQ(groups_->describe({{"g"}, false}).groups.at(0).members.size(), there.size());
  }

  SeededRandom random_;
  Oracle oracle_;
  std::vector<std::unique_ptr<Consumer>> consumers_;
  TaskScope scope_;
};

TEST_P(RandomGroupsTest, NoPartitionHasTwoOwnersAndQuietBringsAllIntoOneGeneration) {
  const ScopedLogCapture silence(0);
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 12; ++i) {
      disturb_consumers();
      // Often in the middle of a rebalance, sometimes after it.
      world_.run_for(std::chrono::milliseconds(random_.below(random_.one_in(3) ? 20'000 : 900)));
      if (random_.one_in(4)) disturb_coordinator();
    }
    if (live().empty()) add(std::nullopt);
    for (Consumer* consumer : live()) consumer->set_restless(false);
    world_.run_for(200s);
    expect_quiet();
    for (Consumer* consumer : live()) consumer->set_restless(true);
    if (HasFailure()) break;
  }
  EXPECT_GT(oracle_.newest(), 20);
  for (const auto& consumer : consumers_) consumer->die();
  halt();
  world_.run_for(200s);
  EXPECT_EQ(scope_.live(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGroupsTest, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace moraine::kafka
