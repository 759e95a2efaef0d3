#include "node/stored_topics.h"

#include <fmt/format.h>

#include "base/invariant.h"
#include "scheme/topic_record.h"

namespace moraine {

StoredTopics::StoredTopics(World world, SchemeHost& scheme, QueueTablets& tablets,
                           StoredTopicsOptions options)
    : world_(world), scheme_(scheme), tablets_(tablets), options_(std::move(options)) {
  INVARIANT(!options_.groups.empty(), "topics need groups");
  scheme_.add_follower([this](const Scheme& tree) { follow(tree); });
}

TopicPtr StoredTopics::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second->info();
}

TopicPtr StoredTopics::find(const TopicId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second->info();
}

std::vector<TopicPtr> StoredTopics::list() const {
  std::vector<TopicPtr> topics;
  topics.reserve(by_name_.size());
  for (const auto& [name, topic] : by_name_) topics.push_back(topic->info());
  return topics;
}

std::shared_ptr<queue::Partition> StoredTopics::partition(const TopicId& topic,
                                                          queue::PartitionIndex index) {
  const auto found = by_id_.find(topic);
  return found == by_id_.end() ? nullptr : found->second->partition(index);
}

HomePartition StoredTopics::home(TabletId tablet, queue::PartitionIndex index) const {
  const auto found = by_tablet_.find(tablet);
  return found == by_tablet_.end() ? HomePartition() : found->second->home(index);
}

std::optional<Error> StoredTopics::start_error(const TopicId& topic,
                                               queue::PartitionIndex index) const {
  const auto found = by_id_.find(topic);
  return found == by_id_.end() ? std::nullopt : found->second->start_error(index);
}

TopicsReport StoredTopics::report() const {
  TopicsReport report;
  report.scheme_running = scheme_.running();
  report.tablets_being_deleted = scheme_.deleting();
  for (const auto& [name, topic] : by_name_) report.topics.push_back(topic->report());
  const TabletsReport tablets = scheme_.tablets().report(NodeKind::kTopic);
  report.tablets_running = tablets.running;
  report.tablets_starting = tablets.starting;
  return report;
}

void StoredTopics::follow(const Scheme& scheme) {
  follow_nodes(
      scheme, NodeKind::kTopic, by_name_, [this](const PathNode& node) { return adopt(node); },
      [this](const TopicRef& topic) { drop(topic); });
}

void StoredTopics::follow(const TreeEffects& effects) {
  for (const TreePutAny& put : effects.puts) {
    const auto* node = std::get_if<NodePut>(&put);
    const bool removed =
        node != nullptr && node->before && !node->after && node->before->kind == NodeKind::kTopic;
    const auto known = removed ? by_id_.find(node->before->id) : by_id_.end();
    if (known != by_id_.end()) drop(TopicRef(known->second));
  }
}

Result<StoredTopics::TopicRef> StoredTopics::adopt(const PathNode& node) {
  TRY(TopicRecord record, decode_topic(node));
  const RunningTopic::MakeHost make = [this, id = node.id](std::size_t index,
                                                           const TopicTablet& tablet,
                                                           const queue::PartitionConfig& config) {
    return make_host(id, index, tablet, config);
  };
  if (const auto known = by_id_.find(node.id); known != by_id_.end()) {
    partitions_ -= known->second->info()->partitions;
    known->second->update(std::move(record), make);
    run(known->second);
    return known->second;
  }
  if (const auto older = by_name_.find(node.path); older != by_name_.end()) {
    const TopicRef topic = older->second;
    drop(topic);
  }
  auto topic = std::make_shared<RunningTopic>(std::move(record), make);
  by_name_[node.path] = topic;
  by_id_[node.id] = topic;
  run(topic);
  return topic;
}

void StoredTopics::run(const TopicRef& topic) {
  partitions_ += topic->info()->partitions;
  scheme_.tablets().set(topic->id(), NodeKind::kTopic, fmt::format("'{}'", topic->info()->name),
                        topic->managed());
  note_topic(*topic);
}

void StoredTopics::note_topic(const RunningTopic& topic) {
  if (!listener_) return;
  TopicChanged changed;
  changed.topic = topic.info();
  for (const TopicTablet& tablet : topic.tablets()) {
    changed.partitions_of_tablets.push_back(tablet.partitions);
  }
  listener_(std::make_shared<const TopicUpdate>(std::move(changed)));
  // Tablets may have started before the topic was known.
  for (std::size_t at = 0; at < topic.hosts().size(); ++at) note_tablet(topic.info()->id, at);
}

void StoredTopics::note_tablet(const TopicId& topic, std::size_t tablet) {
  if (!listener_) return;
  const auto found = by_id_.find(topic);
  if (found == by_id_.end() || tablet >= found->second->hosts().size()) return;
  const TabletId id = found->second->tablets()[tablet].info.id;
  const auto elsewhere = other_node(scheme_.tablets().placement(), id);
  const QueueTabletHost& host = *found->second->hosts()[tablet];
  TopicTabletChanged changed{topic, tablet, host.homes(), host.boot_error(), id, elsewhere};
  listener_(std::make_shared<const TopicUpdate>(std::move(changed)));
}

StoredTopics::HostPtr StoredTopics::make_host(const TopicId& topic, std::size_t index,
                                              const TopicTablet& tablet,
                                              const queue::PartitionConfig& config) {
  TabletReconciler& running = scheme_.tablets();
  const auto made = std::make_shared<QueueTabletHost>(
      world_.executor, tablets_, running.turns(NodeKind::kTopic), tablet.info, tablet.partitions,
      config, [this, topic, index] { note_tablet(topic, index); }, running.placement());
  by_tablet_[tablet.info.id] = made;
  return made;
}

void StoredTopics::drop(const TopicRef& topic) {
  by_name_.erase(topic->info()->name);
  by_id_.erase(topic->info()->id);
  partitions_ -= topic->info()->partitions;
  if (listener_) listener_(std::make_shared<const TopicUpdate>(TopicRemoved{topic->info()->id}));
  for (const TopicTablet& tablet : topic->tablets()) by_tablet_.erase(tablet.info.id);
  scheme_.tablets().remove(topic->id());
  for (const TopicTablet& tablet : topic->tablets()) scheme_.begin_deletion(tablet.info);
}

}  // namespace moraine
