#include "gateway/kafka/door.h"

#include "base/log.h"
#include "gateway/kafka/server/connection.h"
#include "io/run_on.h"

namespace moraine::kafka {

KafkaDoor::Serving::Serving(const KafkaDoor::Lane& lane, KafkaDoor& door, Executor& first,
                            NodeBug bug)
    : world(lane.world),
      topics(lane.topics),
      background(lane.background),
      groups(door.groups_, first, lane.world.executor),
      producer_ids(door.producer_ids_, first, lane.world.executor, bug),
      config_changes(door.config_changes_, first, lane.world.executor) {}

KafkaDoor::KafkaDoor(std::vector<Lane> lanes, State state, NodeBug bug)
    : world_(lanes.at(0).world),
      state_(std::move(state)),
      groups_(world_, state_, kGroupsBytesMax, bug),
      producer_ids_(state_) {
  for (const Lane& lane : lanes) {
    lanes_.push_back(std::make_unique<Serving>(lane, *this, world_.executor, bug));
  }
}

Task<Result<void>> KafkaDoor::load() {
  if (!cluster_id_) {
    Result<Uuid> id = co_await load_cluster_id(state_, world_.random);
    if (!id && id.error().code == Errc::kNoSpace) {
      log_warning("no space to store a cluster id; this run uses a temporary one", {});
      id = make_cluster_id(world_.random);
    }
    CO_TRY(cluster_id_, std::move(id));
  }
  co_return co_await groups_.load();
}

void KafkaDoor::open(KafkaOptions options) {
  options.cluster_id = cluster_id_text(*cluster_id_);
  options.request_bytes_max /= lanes_.size();
  options.response_bytes_max /= lanes_.size();
  for (const auto& lane : lanes_) {
    const KafkaParts parts{lane->topics,          lane->groups,      lane->producer_ids,
                           lane->world.executor,  lane->world.clock, registry_,
                           &lane->config_changes, lane->background};
    lane->service = std::make_unique<KafkaService>(parts, options);
  }
}

StreamHandler KafkaDoor::streams(std::size_t lane) {
  return serve_kafka(*lanes_[lane]->service);
}

Task<void> KafkaDoor::stop() {
  for (const auto& lane : lanes_) {
    if (!lane->service) continue;
    co_await run_on(lane->world.executor, world_.executor, [&lane]() -> Task<void> {
      co_await lane->service->stop();
      lane->service.reset();
    });
  }
}

}  // namespace moraine::kafka
