#include "node/running_topic.h"

#include "base/invariant.h"
#include "scheme/topic_config.h"

namespace moraine {

RunningTopic::RunningTopic(TopicRecord record, const MakeHost& make_host) {
  update(std::move(record), make_host);
}

void RunningTopic::update(TopicRecord record, const MakeHost& make_host) {
  INVARIANT(!info_ || info_->id == record.info.id, "'{}' is another topic", record.info.name);
  INVARIANT(record.tablets.size() >= tablets_.size(), "'{}' loses tablets", record.info.name);
  const queue::PartitionConfig config = partition_config(record.info);
  info_ = std::make_shared<const TopicInfo>(std::move(record.info));
  tablets_ = std::move(record.tablets);
  places_.clear();
  for (std::uint32_t at = 0; at < tablets_.size(); ++at) {
    for (queue::PartitionIndex i = 0; i < tablets_[at].partitions; ++i) places_.push_back({at, i});
  }
  for (std::size_t at = 0; at < hosts_.size(); ++at)
    hosts_[at]->set(tablets_[at].partitions, config);
  while (hosts_.size() < tablets_.size()) {
    hosts_.push_back(make_host(hosts_.size(), tablets_[hosts_.size()], config));
  }
}

ManagedTablets RunningTopic::managed() const {
  ManagedTablets managed;
  for (std::size_t at = 0; at < hosts_.size(); ++at) managed[tablets_[at].info.id] = hosts_[at];
  return managed;
}

std::shared_ptr<queue::Partition> RunningTopic::partition(queue::PartitionIndex index) const {
  if (index >= places_.size()) return nullptr;
  const Place place = places_[index];
  return hosts_[place.host]->partition(place.index);
}

std::optional<Error> RunningTopic::start_error(queue::PartitionIndex index) const {
  if (index >= places_.size()) return std::nullopt;
  return hosts_[places_[index].host]->boot_error();
}

TopicReport RunningTopic::report() const {
  TopicReport report;
  report.topic = info_;
  for (queue::PartitionIndex i = 0; i < places_.size(); ++i) {
    const auto running = partition(i);
    PartitionReport one = running ? report_of(*running, *info_) : PartitionReport();
    one.index = i;
    one.tablet = tablets_[places_[i].host].info.id;
    report.partitions.push_back(std::move(one));
  }
  return report;
}

}  // namespace moraine
