// StoredTopics: the topics of a node, stored in the scheme, their partitions in queue tablets.
//
//   scheme node (topic_record.h)  ->  RunningTopic  ->  a QueueTabletHost for each tablet, which
//                                                       TabletReconciler runs
//
// Promise    As Topics. Whenever the scheme's tablet starts, the running topics follow its state,
//            so a change with an unknown outcome is then either applied or not. The tablets of a
//            removed topic are deleted in the background (scheme_host.h).
// Invariants Changes run one at a time.
// Threading  The control lane. Waiting calls must have ended before it is destroyed.
// Limits     kPartitionsPerNodeMax partitions; those of Topics, Scheme and SchemeChanges.
// Errors     As Topics. kTimeout when the partitions of a topic do not run within kRunTimeout: the
//            change itself is durable then.
// Tests      stored_topics_test.cpp, stored_topics_queue_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/running_topic.h"
#include "node/scheme_changes.h"
#include "node/scheme_host.h"
#include "node/topic_update.h"

namespace moraine {

// Of all topics. Creating more is refused; those that exist run.
inline constexpr std::uint64_t kPartitionsPerNodeMax = 200'000;
inline constexpr Duration kRunTimeout = 60s;

struct StoredTopicsOptions {
  std::vector<GroupId> groups;  // Assigned to new tablets in turn.
  std::size_t lanes = 1;        // Of the node.
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
  Task<bool> wait_running(Instant deadline) {
    return scheme_.tablets().wait_running(NodeKind::kTopic, deadline);
  }

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

  // Topics that the tree has removed (stored_tree.h).
  void follow(const TreeEffects& effects);

  TopicsReport report() const;
  // The partition of a tablet of this node, on its own lane. Null: it does not run here.
  HomePartition home(TabletId tablet, queue::PartitionIndex index) const;

 private:
  using TopicRef = std::shared_ptr<RunningTopic>;
  using HostPtr = RunningTopic::HostPtr;

  Task<Result<TopicRef>> create_locked(std::string name, TopicSpec spec);
  Task<Result<TopicRef>> alter_locked(std::string name, TopicChange change);
  Task<Result<void>> remove_locked(std::string name);
  Task<Result<TopicPtr>> when_running(Result<TopicRef> changed);

  // kOverloaded: the node would have too many partitions.
  Result<void> check_partitions(std::uint64_t added) const;
  void follow(const Scheme& scheme);
  Result<TopicRef> adopt(const PathNode& node);
  // The record of the topic is new.
  void run(const TopicRef& topic);
  HostPtr make_host(const TopicId& topic, std::size_t index, const TopicTablet& tablet,
                    const queue::PartitionConfig& config);
  void note_topic(const RunningTopic& topic);
  void note_tablet(const TopicId& topic, std::size_t tablet);
  // The topic was removed from the scheme.
  void drop(const TopicRef& topic);

  World world_;
  SchemeHost& scheme_;
  QueueTablets& tablets_;
  const StoredTopicsOptions options_;
  std::map<std::string, TopicRef> by_name_;
  std::map<TopicId, TopicRef> by_id_;
  std::uint64_t partitions_ = 0;  // Of all of them.
  Listener listener_;
  std::map<TabletId, HostPtr> by_tablet_;
  SchemeChanges changes_{world_.executor};
};

}  // namespace moraine
