// StoredTopics: the topics of a node, stored in the scheme, their partitions in queue tablets.
//
//   scheme node (topic_record.h)  ->  RunningTopic  ->  a QueueTabletHost for each tablet
//
// Promise    As Topics. Every tablet of every topic is kept running; kBootsMax of a group boot
//            concurrently, and groups do not wait for each other.
//            Whenever the scheme's tablet starts, the running topics follow its state, so a change
//            with an unknown outcome is then either applied or not. The tablets of a removed topic
//            are deleted in the background (scheme_host.h).
// Invariants Changes run one at a time.
// Threading  The control lane. Waiting calls must have ended before it is destroyed.
// Limits     kTopicChangesMax waiting; kPartitionsPerNodeMax partitions; those of Topics and
//            Scheme.
// Errors     As Topics. kUnavailable also when the partitions of a topic do not run within
//            kRunTimeout: the change itself is durable then.
// Tests      stored_topics_test.cpp, stored_topics_queue_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/running_topic.h"
#include "node/scheme_host.h"
#include "node/topic_update.h"

namespace moraine {

inline constexpr std::size_t kBootsMax = 64;  // Of tablets of one group, concurrently.
// Of all topics. Creating more is refused; those that exist run.
inline constexpr std::uint64_t kPartitionsPerNodeMax = 200'000;
inline constexpr std::size_t kTopicChangesMax = 10'000;
inline constexpr Duration kRunTimeout = 60s;

struct StoredTopicsOptions {
  std::vector<GroupId> groups;     // Assigned to new tablets in turn.
  Placement* placement = nullptr;  // None: all tablets are always to run here.
  std::size_t lanes = 1;           // Of the node.
  std::uint64_t partitions_max = kPartitionsPerNodeMax;
};

class StoredTopics final : public Topics {
 public:
  // `scheme` and `tablets` outlive the object; `scheme` has not started. Requires: options.groups.
  StoredTopics(World world, SchemeHost& scheme, QueueTablets& tablets, StoredTopicsOptions options);

  // Called with every later change, on the control lane. Call it before the scheme starts.
  using Listener = std::function<void(const TopicUpdatePtr&)>;
  void set_listener(Listener listener) { listener_ = std::move(listener); }

  // Waits until every partition runs. False: the deadline has passed.
  Task<bool> wait_running(Instant deadline);
  // Called once, after the scheme's.
  Task<void> stop();
  // Requests everything to end, without waiting.
  void abandon();

  Task<Result<TopicPtr>> create(std::string name, TopicSpec spec) override;
  Task<Result<TopicPtr>> alter(std::string name, TopicChange change) override;
  Task<Result<void>> remove(std::string name) override;
  TopicPtr find(const std::string& name) const override;
  TopicPtr find(const TopicId& id) const override;
  std::vector<TopicPtr> list() const override;
  std::shared_ptr<queue::Partition> partition(const TopicId& topic,
                                              queue::PartitionIndex index) override;
  std::optional<Error> start_error(const TopicId& topic,
                                   queue::PartitionIndex index) const override;

  TopicsReport report() const;

 private:
  using TopicRef = std::shared_ptr<RunningTopic>;
  using HostPtr = RunningTopic::HostPtr;

  Task<Result<void>> begin_change();
  Task<Result<TopicRef>> create_locked(std::string name, TopicSpec spec);
  Task<Result<TopicRef>> alter_locked(std::string name, TopicChange change);
  Task<Result<void>> remove_locked(std::string name);
  Task<Result<TopicPtr>> when_running(TopicRef topic);

  // kOverloaded: the node would have too many partitions.
  Result<void> check_partitions(std::uint64_t added) const;
  void follow(const Scheme& scheme);
  Result<TopicRef> adopt(const PathNode& node);
  HostPtr make_host(const TopicId& topic, std::size_t index, const TopicTablet& tablet,
                    const queue::PartitionConfig& config);
  void note_topic(const RunningTopic& topic);
  void note_tablet(const TopicId& topic, std::size_t tablet);
  // The topic was removed from the scheme.
  void drop(const TopicRef& topic);
  Task<void> stop_host(HostPtr host);

  World world_;
  SchemeHost& scheme_;
  QueueTablets& tablets_;
  const StoredTopicsOptions options_;
  std::map<std::string, TopicRef> by_name_;
  std::map<TopicId, TopicRef> by_id_;
  std::uint64_t partitions_ = 0;  // Of all of them.
  Listener listener_;
  Semaphore changes_{1};
  std::map<GroupId, Semaphore> boots_;
  Semaphore stops_{kBootsMax};
  bool stopping_ = false;
};

}  // namespace moraine
