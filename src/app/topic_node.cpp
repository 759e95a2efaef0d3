#include "app/topic_node.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "app/topic_metrics.h"
#include "base/log.h"
#include "blob/group/erasure.h"
#include "cluster/tablet_ids.h"
#include "gateway/kafka/server/connection.h"

namespace moraine::app {
namespace {

constexpr Duration kLoadRetry = 50ms;

StoredTopicsOptions topics_options(const blob::ClusterConfig& config) {
  StoredTopicsOptions options;
  for (const blob::GroupConfig& group : config.groups) options.groups.push_back(group.id);
  return options;
}

kafka::KafkaOptions kafka_options(const TopicNodeOptions& options, std::uint16_t port,
                                  const kafka::Uuid& cluster_id) {
  kafka::KafkaOptions made;
  made.node_id = options.node_id;
  made.advertised_host =
      options.advertised_host.empty() ? options.kafka.host : options.advertised_host;
  made.advertised_port = port;
  made.auto_create_topics = options.auto_create_topics;
  made.default_partitions = options.default_partitions;
  made.request_bytes_max = options.request_bytes;
  made.cluster_id = kafka::cluster_id_text(cluster_id);
  return made;
}

}  // namespace

std::size_t default_cache_bytes() {
  const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
  const auto page = static_cast<std::size_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
  return std::clamp(pages * page / 8, kCacheBytesMin, kCacheBytesMax);
}

TopicNode::TopicNode(RealWorld& real, blob::BlobNode& node, TopicNodeOptions options)
    : real_(real),
      node_(node),
      options_(std::move(options)),
      blob_groups_(node),
      cache_(options_.cache_bytes),
      tablets_(real.world(), blob_groups_, cache_),
      scheme_(real.world(), blob_groups_,
              SchemeHostOptions{options_.places.at(kSchemeTabletId), {}, nullptr}),
      topics_(real.world(), scheme_, tablets_, topics_options(node.config())),
      gateway_state_(real.world(), blob_groups_,
                     TabletInfo::simple(kGatewayTabletId, options_.places.at(kGatewayTabletId),
                                        kKeyValueChannels)),
      groups_(real.world(), [this] { return gateway_state_.get(); }),
      producer_ids_([this] { return gateway_state_.get(); }) {}

TopicNode::~TopicNode() = default;

Task<Result<void>> TopicNode::start(Instant deadline) {
  if (!started_) {
    CO_TRY_VOID(check_segments());
  }
  if (!std::exchange(started_, true)) {
    gateway_state_.start();
    scheme_.start();
  }
  CO_TRY_VOID(co_await scheme_.wait_known(deadline));
  CO_TRY_VOID(co_await load_gateway_state(deadline));
  // One that does not start must not prevent the others from being served.
  if (!co_await topics_.wait_running(deadline)) {
    log_warning("some partitions are still being started; clients are told to retry", {});
  }
  // No connection is accepted before the lane's next turn, so the service is created in time.
  StreamHandler handler = [this](std::shared_ptr<ByteStream> stream) {
    return kafka::serve_kafka(*service_)(std::move(stream));
  };
  CO_TRY(listener_, TcpListener::open(real_.lane(), options_.kafka, std::move(handler)));
  World world = real_.world();
  service_ = std::make_unique<kafka::KafkaService>(
      kafka::KafkaParts{topics_, groups_, producer_ids_, world.executor, world.clock, registry_},
      kafka_options(options_, listener_->port(), *cluster_id_));
  co_return Result<void>();
}

// Tablets write blobs of up to kBlobSizeMax.
Result<void> TopicNode::check_segments() const {
  std::uint32_t needed = 0;
  for (const blob::GroupConfig& group : node_.config().groups) {
    needed = std::max(needed, blob::stored_part_size(group.geometry.species(), blob::kBlobSizeMax));
  }
  for (const blob::NodeConfig& config : node_.config().nodes) {
    if (config.id.value != static_cast<std::uint32_t>(options_.node_id)) continue;
    for (const blob::DeviceConfig& device : config.devices) {
      const blob::Device* const opened = node_.device(device.id);
      if (!opened || opened->data_size_max() >= needed) continue;
      return fail(Errc::kInvalidArgument,
                  fmt::format("{}: its segments are too small for topics; folders of 256MiB and "
                              "more have large ones (--kafka off serves blobs only)",
                              opened->path()));
    }
  }
  return {};
}

Task<Result<void>> TopicNode::load_gateway_state(Instant deadline) {
  World world = real_.world();
  while (true) {
    if (!co_await gateway_state_.wait(deadline)) {
      co_return fail(Errc::kTimeout, "the tablet of consumer groups has not started");
    }
    Result<void> loaded = co_await load_cluster_id();
    if (loaded) loaded = co_await groups_.load();
    if (loaded) co_return loaded;
    if (world.executor.now() >= deadline) co_return fail(Errc::kTimeout, loaded.error().message());
    co_await sleep_for(world.executor, kLoadRetry);
  }
}

Task<Result<void>> TopicNode::load_cluster_id() {
  if (cluster_id_) co_return Result<void>();
  std::function<std::shared_ptr<KeyValue>()> tablet = [this] { return gateway_state_.get(); };
  Random& random = real_.world().random;
  Result<kafka::Uuid> id = co_await kafka::load_cluster_id(std::move(tablet), random);
  if (!id && id.error().code == Errc::kNoSpace) {
    log_warning("no space to store a cluster id; this run uses a temporary one", {});
    id = kafka::make_cluster_id(random);
  }
  CO_TRY(cluster_id_, std::move(id));
  co_return Result<void>();
}

Task<void> TopicNode::stop_topics() {
  co_await scheme_.stop();
  co_await topics_.stop();
}

Task<void> TopicNode::stop() {
  if (!started_) co_return;
  groups_.stop();
  // Together: handlers wait for writes, which end when their partitions do.
  TaskScope stops;
  stops.spawn(stop_topics());
  if (listener_) stops.spawn(listener_->stop());
  co_await stops.join();
  if (service_) co_await service_->stop();
  co_await gateway_state_.stop();
}

std::string TopicNode::metrics() const {
  return registry_.expose() + topic_metrics(topics_.report(), cache_);
}

}  // namespace moraine::app
