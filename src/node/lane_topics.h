// LaneTopics: the topics of a node, for one of its lanes.
//
// Promise    As Topics. A change that was made through this object is visible here when it returns;
//            changes of others a moment after they are on the control lane. When a partition gets
//            another place, all changes in flight to the earlier one are answered before the new
//            one is visible: a retry never finds a later write stored.
// Invariants Updates are applied in the order of StoredTopics.
// Threading  `lane`.
// Tests      lanes_test.cpp, two_nodes_test.cpp.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/remote_partition.h"
#include "node/topic_update.h"

namespace moraine {

class LaneTopics final : public Topics {
 public:
  // `topics` is used on `control`, `network` on `lane`; all outlive the object and its calls.
  // `number`: the lane's.
  LaneTopics(Topics& topics, Executor& control, Executor& lane, Network& network,
             std::size_t number)
      : topics_(topics), control_(control), lane_(lane), remote_(lane, network, number) {}

  void apply(const TopicUpdate& update);
  // Calls to partitions of other nodes fail from now on, also those in flight.
  void close() { remote_.close(); }
  // Closes, and waits until nothing is in flight to other nodes: within kAttemptTimeout.
  Task<void> stop() { return remote_.stop(); }

  Task<Result<TopicPtr>> create(std::string name, TopicSpec spec) override;
  Task<Result<TopicPtr>> alter(std::string name, TopicChange change) override;
  Task<Result<void>> remove(std::string name) override;
  TopicPtr find(const std::string& name) const override;
  TopicPtr find(const TopicId& id) const override;
  std::vector<TopicPtr> list() const override;
  std::shared_ptr<queue::Partition> partition(const TopicId& topic,
                                              queue::PartitionIndex index) override;
  std::shared_ptr<queue::Partition> partition_anywhere(const TopicId& topic,
                                                       queue::PartitionIndex index) override;
  std::optional<Error> start_error(const TopicId& topic,
                                   queue::PartitionIndex index) const override;

 private:
  using Remotes = std::map<queue::PartitionIndex, std::shared_ptr<RemotePartition>>;
  struct Place {
    std::uint32_t tablet = 0;
    queue::PartitionIndex index = 0;  // Within the tablet.
  };
  struct TabletView {
    std::vector<std::shared_ptr<queue::Partition>> partitions;
    std::optional<Error> start_error;
    TabletId id;
    std::optional<NodeId> elsewhere;
    // Made when they are asked for, as long as that node runs it.
    Remotes remote;
  };
  struct TopicView {
    TopicPtr info;
    std::vector<Place> places;  // By partition.
    std::vector<TabletView> tablets;
  };

  void set(const TopicChanged& changed);
  void erase(const TopicId& id);
  void set(const TopicTabletChanged& changed);
  // Null: not known.
  TabletView* view_of(const TopicTabletChanged& changed);

  Topics& topics_;
  Executor& control_;
  Executor& lane_;
  RemotePartitions remote_;
  std::map<TopicId, TopicView> by_id_;
  std::map<std::string, TopicId> ids_;
};

}  // namespace moraine
