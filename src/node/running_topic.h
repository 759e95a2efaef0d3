// RunningTopic: a topic and the tablets that serve its partitions.
//
// Threading  The control lane. Held by shared_ptr; a caller keeps one while it awaits a call.
// Tests      stored_topics_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "node/queue_tablet_host.h"
#include "node/tablet_reconciler.h"
#include "node/topics_report.h"
#include "scheme/topic_plan.h"

namespace moraine {

class RunningTopic {
 public:
  using HostPtr = std::shared_ptr<QueueTabletHost>;
  // For the tablet with this index.
  using MakeHost =
      std::function<HostPtr(std::size_t, const TopicTablet&, const queue::PartitionConfig&)>;

  // Creates hosts for its tablets; TabletReconciler starts them.
  RunningTopic(TopicRecord record, const MakeHost& make_host);

  // Requires: the same topic, with no fewer partitions.
  void update(TopicRecord record, const MakeHost& make_host);

  const TopicPtr& info() const { return info_; }
  const TopicId& id() const { return info_->id; }
  const std::vector<TopicTablet>& tablets() const { return tablets_; }
  const std::vector<HostPtr>& hosts() const { return hosts_; }
  ManagedTablets managed() const;

  // Null while it is not running.
  std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) const;
  // Why the last boot of its tablet failed. nullopt: it runs, or was not booted yet.
  std::optional<Error> start_error(queue::PartitionIndex index) const;
  TopicReport report() const;

 private:
  struct Place {
    std::uint32_t host = 0;
    queue::PartitionIndex index = 0;  // Within the tablet.
  };

  TopicPtr info_;
  std::vector<TopicTablet> tablets_;
  std::vector<HostPtr> hosts_;  // By tablet.
  std::vector<Place> places_;   // By partition.
};

}  // namespace moraine
