// RunningTopic: a topic and the tablets that serve its partitions.
//
// Threading  The node's executor. Held by shared_ptr: whoever awaits a call keeps one.
// Tests      stored_topics_test.cpp.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "service/queue_tablet_host.h"
#include "service/topic_plan.h"
#include "service/topics_report.h"

namespace moraine {

class RunningTopic {
 public:
  using HostPtr = std::shared_ptr<QueueTabletHost>;
  using MakeHost = std::function<HostPtr(const TopicTablet&, const queue::PartitionConfig&)>;

  // Hosts are made and started for its tablets.
  RunningTopic(TopicRecord record, const MakeHost& make_host);

  // Requires: the same topic, with no fewer partitions.
  void update(TopicRecord record, const MakeHost& make_host);

  const TopicPtr& info() const { return info_; }
  const std::vector<TopicTablet>& tablets() const { return tablets_; }
  const std::vector<HostPtr>& hosts() const { return hosts_; }

  // Null while it does not run.
  std::shared_ptr<queue::Partition> partition(queue::PartitionIndex index) const;
  // Why its tablet did not start last time. nullopt: it runs, or was not tried.
  std::optional<Error> start_error(queue::PartitionIndex index) const;
  // Waits until all partitions run. False: not by the deadline, or never again.
  Task<bool> wait_running(Instant deadline) const;
  TopicReport report() const;

 private:
  struct Place {
    std::uint32_t host = 0;
    queue::PartitionIndex index = 0;  // In the tablet.
  };

  TopicPtr info_;
  std::vector<TopicTablet> tablets_;
  std::vector<HostPtr> hosts_;  // By tablet.
  std::vector<Place> places_;   // By partition.
};

}  // namespace moraine
