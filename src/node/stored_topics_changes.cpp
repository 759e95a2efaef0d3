// Changes of topics: decided, made durable in the scheme, then applied.

#include <fmt/format.h>

#include "node/stored_topics.h"
#include "scheme/topic_config.h"
#include "scheme/topic_record.h"

namespace moraine {

Task<Result<TopicPtr>> StoredTopics::when_running(Result<TopicRef> changed) {
  CO_TRY(const TopicRef topic, std::move(changed));
  const TopicPtr info = topic->info();
  const Instant deadline = world_.executor.now() + kRunTimeout;
  if (co_await scheme_.tablets().wait_running(info->id, deadline)) co_return info;
  co_return fail(Errc::kTimeout,
                 fmt::format("'{}' is stored, but its partitions do not run yet", info->name));
}

Task<Result<TopicPtr>> StoredTopics::create(std::string name, TopicSpec spec) {
  CO_TRY_VOID(check_topic_name(name));
  CO_TRY_VOID(check_spec(spec));
  const auto change = [&] { return create_locked(std::move(name), std::move(spec)); };
  co_return co_await when_running(co_await changes_.run(change));
}

Result<void> StoredTopics::check_partitions(std::uint64_t added) const {
  if (added == 0 || partitions_ + added <= options_.partitions_max) return {};
  return fail(Errc::kOverloaded,
              fmt::format("the node has {} partitions; with {} more it would have more than {}",
                          partitions_, added, options_.partitions_max));
}

Task<Result<StoredTopics::TopicRef>> StoredTopics::create_locked(std::string name, TopicSpec spec) {
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  if (by_name_.contains(name)) {
    co_return fail(Errc::kAlreadyExists, fmt::format("'{}' is a topic", name));
  }
  if (by_name_.size() >= kTopicsMax) {
    co_return fail(Errc::kOverloaded, fmt::format("there are {} topics", by_name_.size()));
  }
  CO_TRY_VOID(check_partitions(spec.partitions));
  TopicRecord record;
  record.info.config = std::move(spec.config);
  record.info.consumers = std::move(spec.consumers);
  CreateNode request;
  request.kind = NodeKind::kTopic;
  request.path = std::move(name);
  request.parents = true;
  const std::uint32_t per_tablet =
      partitions_per_tablet(record.info, spec.partitions, options_.lanes);
  request.tablets = tablets_to_add({}, spec.partitions, per_tablet);
  request.record = [record, partitions = spec.partitions, per_tablet, this](TabletId first) {
    TopicRecord placed = record;
    placed.tablets = spread({}, partitions, per_tablet, first, options_.groups);
    return encode_topic(placed);
  };
  CO_TRY(const NodePtr node, with_outcome(co_await tree->create(std::move(request))));
  co_return adopt(*node);
}

Task<Result<TopicPtr>> StoredTopics::alter(std::string name, TopicChange change) {
  const auto altered = [&] { return alter_locked(std::move(name), std::move(change)); };
  co_return co_await when_running(co_await changes_.run(altered));
}

Task<Result<StoredTopics::TopicRef>> StoredTopics::alter_locked(std::string name,
                                                                TopicChange change) {
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    co_return fail(Errc::kNotFound, fmt::format("no topic '{}'", name));
  }
  TopicRecord record;
  CO_TRY(record.info, changed(*found->second->info(), change));
  CO_TRY_VOID(check_partitions(record.info.partitions - found->second->info()->partitions));
  record.tablets = found->second->tablets();
  AlterNode request;
  request.path = std::move(name);
  request.id = record.info.id;
  const std::uint32_t per_tablet =
      partitions_per_tablet(record.info, record.info.partitions, options_.lanes);
  request.tablets = tablets_to_add(record.tablets, record.info.partitions, per_tablet);
  request.record = [record, per_tablet, this](TabletId first) {
    TopicRecord placed = record;
    placed.tablets =
        spread(record.tablets, record.info.partitions, per_tablet, first, options_.groups);
    return encode_topic(placed);
  };
  CO_TRY(const NodePtr node, with_outcome(co_await tree->alter(std::move(request))));
  co_return adopt(*node);
}

Task<Result<void>> StoredTopics::remove(std::string name) {
  const auto change = [&] { return remove_locked(std::move(name)); };
  co_return co_await changes_.run(change);
}

Task<Result<void>> StoredTopics::remove_locked(std::string name) {
  CO_TRY(const std::shared_ptr<Scheme> tree, co_await scheme_.scheme());
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    co_return fail(Errc::kNotFound, fmt::format("no topic '{}'", name));
  }
  const TopicRef topic = found->second;
  RemoveNode request;
  request.path = std::move(name);
  request.id = topic->info()->id;
  for (const TopicTablet& tablet : topic->tablets()) request.deleted.push_back(tablet.info);
  CO_TRY_VOID(with_outcome(co_await tree->remove(std::move(request))));
  // Unless the scheme has restarted meanwhile and follow() has done it.
  const auto still = by_id_.find(topic->info()->id);
  if (still != by_id_.end()) drop(topic);
  co_return Result<void>();
}

}  // namespace moraine
