#include "node/lane_topics.h"

#include <utility>

#include "base/node_bug.h"
#include "io/run_on.h"

namespace moraine {

void LaneTopics::apply(const TopicUpdate& update) {
  if (const auto* changed = std::get_if<TopicChanged>(&update)) set(*changed);
  if (const auto* removed = std::get_if<TopicRemoved>(&update)) erase(removed->topic);
  if (const auto* tablet = std::get_if<TopicTabletChanged>(&update)) set(*tablet);
}

void LaneTopics::set(const TopicChanged& changed) {
  // A topic that was removed and created again has another id.
  const auto known = ids_.find(changed.topic->name);
  if (known != ids_.end() && known->second != changed.topic->id) erase(TopicId(known->second));
  TopicView& view = by_id_[changed.topic->id];
  ids_[changed.topic->name] = changed.topic->id;
  view.info = changed.topic;
  view.tablets.resize(changed.partitions_of_tablets.size());
  view.places.clear();
  for (std::uint32_t tablet = 0; tablet < changed.partitions_of_tablets.size(); ++tablet) {
    for (queue::PartitionIndex i = 0; i < changed.partitions_of_tablets[tablet]; ++i) {
      view.places.push_back({tablet, i});
    }
  }
}

void LaneTopics::erase(const TopicId& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  const auto name = ids_.find(found->second.info->name);
  if (name != ids_.end() && name->second == id) ids_.erase(name);
  const TopicView removed = std::move(found->second);
  by_id_.erase(found);
  for (const TabletView& tablet : removed.tablets) {
    for (const auto& [index, remote] : tablet.remote) remote->abandon();
  }
}

LaneTopics::TabletView* LaneTopics::view_of(const TopicTabletChanged& changed) {
  const auto found = by_id_.find(changed.topic);
  if (found == by_id_.end() || changed.tablet >= found->second.tablets.size()) return nullptr;
  return &found->second.tablets[changed.tablet];
}

void LaneTopics::set(const TopicTabletChanged& changed) {
  TabletView* view = view_of(changed);
  if (!view) return;
  if (has_bug(NodeBug::kKeepStalePartitions) && !view->partitions.empty()) return;
  if (view->elsewhere != changed.elsewhere) {
    // Callers that are answered may look for the partition: it is nowhere meanwhile.
    view->elsewhere.reset();
    view->partitions.clear();
    const Remotes left = std::exchange(view->remote, {});
    for (const auto& [index, remote] : left) remote->abandon();
    view = view_of(changed);
    if (!view) return;
  }
  view->start_error = changed.start_error;
  view->id = changed.id;
  view->elsewhere = changed.elsewhere;
  view->partitions.clear();
  for (const HomePartition& home : changed.partitions) {
    view->partitions.push_back(home.for_lane(lane_));
  }
}

Task<Result<TopicPtr>> LaneTopics::create(std::string name, TopicSpec spec) {
  co_return co_await run_on(control_, lane_,
                            [&] { return topics_.create(std::move(name), std::move(spec)); });
}

Task<Result<TopicPtr>> LaneTopics::alter(std::string name, TopicChange change) {
  co_return co_await run_on(control_, lane_,
                            [&] { return topics_.alter(std::move(name), std::move(change)); });
}

Task<Result<void>> LaneTopics::remove(std::string name) {
  co_return co_await run_on(control_, lane_, [&] { return topics_.remove(std::move(name)); });
}

TopicPtr LaneTopics::find(const std::string& name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : find(found->second);
}

TopicPtr LaneTopics::find(const TopicId& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second.info;
}

std::vector<TopicPtr> LaneTopics::list() const {
  std::vector<TopicPtr> topics;
  topics.reserve(ids_.size());
  for (const auto& [name, id] : ids_) topics.push_back(by_id_.at(id).info);
  return topics;
}

std::shared_ptr<queue::Partition> LaneTopics::partition(const TopicId& topic,
                                                        queue::PartitionIndex index) {
  const auto found = by_id_.find(topic);
  if (found == by_id_.end() || index >= found->second.places.size()) return nullptr;
  const Place place = found->second.places[index];
  const TabletView& tablet = found->second.tablets[place.tablet];
  return place.index < tablet.partitions.size() ? tablet.partitions[place.index] : nullptr;
}

std::shared_ptr<queue::Partition> LaneTopics::partition_anywhere(const TopicId& topic,
                                                                 queue::PartitionIndex index) {
  if (auto here = partition(topic, index)) return here;
  const auto found = by_id_.find(topic);
  if (found == by_id_.end() || index >= found->second.places.size()) return nullptr;
  const Place place = found->second.places[index];
  TabletView& tablet = found->second.tablets[place.tablet];
  if (!tablet.elsewhere) return nullptr;
  auto& remote = tablet.remote[place.index];
  if (!remote) remote = remote_.make(*tablet.elsewhere, tablet.id, place.index);
  return remote;
}

std::optional<Error> LaneTopics::start_error(const TopicId& topic,
                                             queue::PartitionIndex index) const {
  const auto found = by_id_.find(topic);
  if (found == by_id_.end() || index >= found->second.places.size()) return std::nullopt;
  return found->second.tablets[found->second.places[index].tablet].start_error;
}

}  // namespace moraine
