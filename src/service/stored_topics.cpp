#include "service/stored_topics.h"

#include <fmt/format.h>

#include "base/invariant.h"
#include "service/topic_attributes.h"

namespace moraine {

StoredTopics::StoredTopics(World world, BlobGroups& groups, QueueTablets& tablets,
                           StoredTopicsOptions options)
    : world_(world),
      groups_(groups),
      tablets_(tablets),
      options_(std::move(options)),
      scheme_(world.executor, "scheme",
              {[this] { return boot_scheme(); },
               [this](const std::shared_ptr<Scheme>& scheme) { follow(*scheme); }, nullptr}) {
  INVARIANT(!options_.groups.empty(), "topics need groups");
}

Task<Result<void>> StoredTopics::start(Instant deadline) {
  scheme_.start();
  co_return co_await wait_known(deadline);
}

Task<Result<void>> StoredTopics::wait_known(Instant deadline) {
  if (co_await scheme_.wait(deadline)) co_return Result<void>();
  co_return fail(Errc::kTimeout, "the scheme does not start");
}

Task<bool> StoredTopics::wait_running(Instant deadline) {
  std::vector<TopicRef> topics;
  for (const auto& [name, topic] : by_name_) topics.push_back(topic);
  for (const TopicRef& topic : topics) {
    const bool running = co_await topic->wait_running(deadline);
    if (!running && by_id_.contains(topic->info()->id)) co_return false;
  }
  co_return true;
}

Task<void> StoredTopics::stop() {
  scope_.close();
  stopping_.wake_all();
  co_await scheme_.stop();
  TaskScope stops;
  for (const auto& [name, topic] : by_name_) {
    for (const HostPtr& host : topic->hosts()) stops.spawn(stop_host(host));
  }
  co_await stops.join();
  co_await scope_.join();
}

Task<void> StoredTopics::stop_host(HostPtr host) {
  co_await stops_.acquire();
  co_await yield(world_.executor);
  co_await host->stop();
  stops_.release();
}

void StoredTopics::abandon() {
  scope_.close();
  stopping_.wake_all();
  scheme_.abandon();
  for (const auto& [name, topic] : by_name_) {
    for (const HostPtr& host : topic->hosts()) host->abandon();
  }
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

TopicsReport StoredTopics::report() const {
  TopicsReport report;
  report.scheme_running = scheme_.get() != nullptr;
  report.tablets_being_deleted = deleting_.size();
  for (const auto& [name, topic] : by_name_) {
    report.topics.push_back(topic->report());
    for (const HostPtr& host : topic->hosts()) {
      ++(host->running() ? report.tablets_running : report.tablets_starting);
    }
  }
  return report;
}

Task<Result<std::unique_ptr<Scheme>>> StoredTopics::boot_scheme() {
  SchemeOptions options;
  options.first_tablet = kFirstTopicTabletId;
  options.leader = options_.leader;
  return Scheme::boot(
      world_, groups_,
      TabletInfo::simple(kSchemeTabletId, options_.groups.front(), kKeyValueChannels), options);
}

// Makes true what the scheme says: topics that are new to this node, topics that have changed,
// topics that are gone, tablets that have to go.
void StoredTopics::follow(const Scheme& scheme) {
  if (scope_.closed()) return;
  for (const NodePtr& node : scheme.all(NodeKind::kTopic)) {
    const auto adopted = adopt(*node);
    if (!adopted)
      log_error("topic not served", {{"topic", node->path}, {"error", adopted.error()}});
  }
  std::vector<TopicRef> gone;
  for (const auto& [name, topic] : by_name_) {
    const NodePtr node = scheme.find(name);
    if (!node || node->id != topic->info()->id) gone.push_back(topic);
  }
  for (const TopicRef& topic : gone) drop(topic);
  for (const TabletInfo& info : scheme.doomed()) begin_deletion(info, nullptr);
}

Result<StoredTopics::TopicRef> StoredTopics::adopt(const PathNode& node) {
  TRY(TopicRecord record, decode_topic(node));
  const RunningTopic::MakeHost make = [this](const TopicTablet& tablet,
                                             const queue::PartitionConfig& config) {
    return make_host(tablet, config);
  };
  if (const auto known = by_id_.find(node.id); known != by_id_.end()) {
    known->second->update(std::move(record), make);
    return known->second;
  }
  if (const auto older = by_name_.find(node.path); older != by_name_.end()) {
    const TopicRef topic = older->second;
    drop(topic);
  }
  auto topic = std::make_shared<RunningTopic>(std::move(record), make);
  by_name_[node.path] = topic;
  by_id_[node.id] = topic;
  return topic;
}

StoredTopics::HostPtr StoredTopics::make_host(const TopicTablet& tablet,
                                              const queue::PartitionConfig& config) {
  return std::make_shared<QueueTabletHost>(world_.executor, tablets_, boots_, tablet.info,
                                           tablet.partitions, config);
}

void StoredTopics::drop(const TopicRef& topic) {
  by_name_.erase(topic->info()->name);
  by_id_.erase(topic->info()->id);
  for (std::size_t at = 0; at < topic->hosts().size(); ++at) {
    begin_deletion(topic->tablets()[at].info, topic->hosts()[at]);
  }
}

void StoredTopics::begin_deletion(const TabletInfo& info, HostPtr host) {
  if (deleting_.insert(info.id).second) scope_.spawn(delete_for_good(info, std::move(host)));
}

Task<void> StoredTopics::delete_for_good(TabletInfo info, HostPtr host) {
  if (host) co_await host->stop();
  Duration pause = kRebootPauseMin;
  while (!scope_.closed()) {
    co_await deletions_.acquire();
    co_await yield(world_.executor);
    const auto deleted = co_await delete_once(info);
    deletions_.release();
    if (deleted) {
      deleting_.erase(info.id);
      co_return;
    }
    if (scope_.closed()) co_return;
    log_warning("tablet not deleted yet", {{"tablet", info.id.value}, {"error", deleted.error()}});
    co_await stopping_.wait_until(world_.executor.now() + pause);
    pause = std::min(pause * 2, kRebootPauseMax);
  }
}

Task<Result<void>> StoredTopics::delete_once(TabletInfo info) {
  if (scope_.closed()) co_return fail(Errc::kUnavailable, "stopping");
  const TabletId id = info.id;
  CO_TRY_VOID(co_await tablets_.remove(std::move(info)));
  const auto running = scheme_.get();
  if (!running) co_return fail(Errc::kUnavailable, "the scheme does not run");
  co_return co_await running->forget_doomed(id);
}

}  // namespace moraine
