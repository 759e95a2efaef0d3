#include "app/kafka_server.h"

#include "base/log.h"

namespace moraine::app {
namespace {

constexpr Duration kLoadRetry = 50ms;

}  // namespace

KafkaServer::KafkaServer(RealLanes& lanes, Node& node, KafkaServerOptions options)
    : lanes_(lanes),
      node_(node),
      options_(std::move(options)),
      door_(door_lanes(), [&node] { return node.gateway_state(); }) {}

std::vector<kafka::KafkaDoor::Lane> KafkaServer::door_lanes() {
  std::vector<kafka::KafkaDoor::Lane> lanes;
  for (std::size_t i = 0; i < node_.lanes(); ++i) {
    lanes.push_back({node_.lane(i), node_.topics(i), &node_.background()});
  }
  return lanes;
}

kafka::KafkaOptions KafkaServer::door_options() const {
  kafka::KafkaOptions made;
  made.node_id = options_.node_id;
  made.advertised_host =
      options_.advertised_host.empty() ? options_.kafka.host : options_.advertised_host;
  made.advertised_port = listener_->port();
  made.auto_create_topics = options_.auto_create_topics;
  made.default_partitions = options_.default_partitions;
  made.request_bytes_max = options_.request_bytes;
  made.response_bytes_max = options_.response_bytes;
  return made;
}

Task<Result<void>> KafkaServer::start(Instant deadline) {
  CO_TRY_VOID(co_await load(deadline));
  // One that does not start must not prevent the others from being served.
  if (!co_await node_.wait_topics(deadline)) {
    log_warning("some partitions are still being started; clients get errors that they retry", {});
  }
  std::vector<ServingLane> serving;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    // No connection is accepted before this lane's next turn, so the services are there in time.
    serving.push_back({lanes_.lane(i), [this, i](std::shared_ptr<ByteStream> stream) {
                         return door_.streams(i)(std::move(stream));
                       }});
  }
  CO_TRY(listener_, TcpListener::open(lanes_.lane(0), options_.kafka, std::move(serving)));
  door_.open(door_options());
  co_return Result<void>();
}

Task<Result<void>> KafkaServer::load(Instant deadline) {
  Executor& executor = node_.lane(0).executor;
  while (true) {
    if (!co_await node_.wait_gateway_state(deadline)) {
      co_return fail(Errc::kTimeout, "the tablet of consumer groups has not started");
    }
    const Result<void> loaded = co_await door_.load();
    if (loaded) co_return loaded;
    if (executor.now() >= deadline) co_return fail(Errc::kTimeout, loaded.error().message());
    co_await sleep_for(executor, kLoadRetry);
  }
}

Task<void> KafkaServer::stop() {
  door_.stop_groups();
  TaskScope stops;
  stops.spawn(node_.stop_tablets());
  if (listener_) stops.spawn(listener_->stop());
  co_await stops.join();
  co_await door_.stop();
}

}  // namespace moraine::app
