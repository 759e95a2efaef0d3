#include "app/http_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/node_report.h"
#include "app/node_watch.h"
#include "app/process_metrics.h"
#include "cluster/local/cluster_file.h"
#include "io/run_on.h"
#include "node/tables_report.h"
#include "node/topic_metrics.h"

namespace moraine::app {
namespace {

constexpr std::size_t kTurnedAwayMax = 64;  // Connections past the bound that get an answer.

http::Reply typed(std::string_view type, const std::string& text) {
  http::Reply reply = http::text_reply(200, text);
  reply.head.content_type = type;
  return reply;
}

// The config of the file, with the current groups.
blob::ClusterConfig current_config(blob::BlobNode& node) {
  blob::ClusterConfig config = node.config();
  for (blob::GroupConfig& group : config.groups) {
    const blob::Proxy* proxy = node.proxy(group.id);
    if (proxy != nullptr && proxy->config().generation > group.generation) group = proxy->config();
  }
  return config;
}

}  // namespace

std::vector<std::string> not_ready(const Served& served, const ServePlan& plan) {
  std::vector<std::string> out = served.node.not_ready();
  if (!plan.kafka || served.topics_elsewhere) return out;
  if (!served.node.running()) out.emplace_back("the tablets are not started yet");
  if (!served.kafka || !served.kafka->serving()) {
    out.emplace_back("Kafka clients are not accepted yet");
  }
  return out;
}

HttpPages::HttpPages(const Served& served, const ServePlan& plan, TcpAddress node)
    : served_(served), plan_(plan), node_(std::move(node)) {
  for (std::size_t i = 0; i < served.lanes.size(); ++i) {
    services_.push_back(std::make_unique<http::HttpService>(
        served.lanes.lane(i), registry_, answers_,
        [this, i](http::Exchange& exchange) { return answer(i, exchange); }, options()));
  }
}

http::HttpOptions HttpPages::options() const {
  http::HttpOptions options;
  options.connections_max = std::max<std::size_t>(1, kHttpConnectionsMax / served_.lanes.size());
  options.answer_room = [this](const http::Request& request) {
    const std::string& path = request.target.path;
    return yt::Door::has(path) ? http::kAnswerRoom : rooms_.of(path);
  };
  return options;
}

Result<void> HttpPages::open(const TcpAddress& address) {
  TcpListenerLimits limits;
  limits.connections_max = kHttpConnectionsMax + kTurnedAwayMax;
  std::vector<ServingLane> serving;
  for (std::size_t i = 0; i < services_.size(); ++i) {
    serving.push_back({served_.lanes.lane(i), services_[i]->streams()});
  }
  TRY(listener_, TcpListener::open(served_.lanes.lane(0), address, std::move(serving), limits));
  return {};
}

Task<void> HttpPages::stop() {
  if (listener_) co_await listener_->stop();
}

Task<std::string> HttpPages::metrics() const {
  RealWorld& first = served_.lanes.first();
  std::string text = node_metrics(NodeView{served_.node.storage(), plan_.self, served_.groups,
                                           first.network().peers(), first.lane().now()});
  if (served_.kafka) {
    const TopicCacheFigures cache = served_.node.topic_cache();
    text += to_prometheus(served_.node.topics_report(), cache);
    text += to_prometheus(served_.node.tree_figures());
    if (served_.kafka) text += served_.kafka->metrics().expose();
    text += to_prometheus(co_await report_tables(served_.node.tables()));
  }
  co_return text + to_prometheus(plan_.memory) + lane_metrics(served_.lanes) + registry_.expose() +
      process_metrics();
}

Task<http::Reply> HttpPages::page(std::string path) const {
  if (path == "/ping") co_return http::text_reply(200, "ok\n");
  if (path == "/ready") {
    const std::vector<std::string> missing = not_ready(served_, plan_);
    if (missing.empty()) co_return http::text_reply(200, "ready\n");
    co_return http::text_reply(503, fmt::format("{}\n", fmt::join(missing, "\n")));
  }
  if (path == "/status") {
    RealWorld& first = served_.lanes.first();
    const NodeView view{served_.node.storage(), plan_.self, served_.groups, first.network().peers(),
                        first.lane().now()};
    co_return typed("application/json", node_status(view));
  }
  if (path == "/metrics") {
    co_return typed("text/plain; version=0.0.4; charset=utf-8", co_await metrics());
  }
  if (path == "/cluster.yaml") {
    const blob::ClusterConfig config = current_config(served_.node.storage());
    // With the actual port.
    co_return typed("application/yaml",
                    to_yaml(plan_.folder ? with_address(config, node_) : config));
  }
  co_return http::text_reply(
      404, "no such page; there are /ping, /ready, /status, /metrics and /cluster.yaml\n");
}

Task<void> HttpPages::answer(std::size_t lane, http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  http::Reply reply;
  if (yt::Door::has(request.target.path)) {
    if (yt::Door* const door = served_.yt_door.load()) {
      co_return co_await door->answer(lane, exchange);
    }
    reply = yt::Door::not_ready();
    std::ignore = co_await exchange.reply(std::move(reply));
    co_return;
  }
  if (request.method == "GET" || request.method == "HEAD") {
    reply = co_await run_there(served_.lanes.lane(0),
                               [this, &request] { return page(request.target.path); });
    rooms_.note(request.target.path, reply.body.size());
  } else {
    reply = http::text_reply(405, "only GET and HEAD\n");
    reply.head.fields.add("Allow", "GET, HEAD");
  }
  reply.head.fields.add("Cache-Control", "no-store");
  std::ignore = co_await exchange.reply(std::move(reply));
}

}  // namespace moraine::app
