#include "app/http_pages.h"

#include <fmt/format.h>

#include "app/node_report.h"
#include "app/node_watch.h"
#include "app/process_metrics.h"
#include "cluster/local/cluster_file.h"

namespace moraine::app {
namespace {

constexpr std::size_t kTurnedAwayMax = 64;  // Connections past the bound that get an answer.

http::HttpOptions options() {
  http::HttpOptions options;
  options.connections_max = kHttpConnectionsMax;
  return options;
}

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

void add_topics(const Served& served, std::vector<std::string>& out) {
  if (!served.topics) {
    out.emplace_back("topics are not started yet");
    return;
  }
  const TopicsReport report = served.topics->report();
  if (!report.scheme_running) out.emplace_back("the scheme's tablet is not running");
  if (report.tablets_starting > 0) {
    out.push_back(fmt::format("{} of {} tablets of topics are starting", report.tablets_starting,
                              report.tablets_starting + report.tablets_running));
  }
  if (!served.topics->serving()) out.emplace_back("Kafka clients are not accepted yet");
}

}  // namespace

std::vector<std::string> not_ready(const Served& served, const ServePlan& plan) {
  std::vector<std::string> out;
  if (!served.devices_open) {
    out.emplace_back("the devices are being opened");
    return out;
  }
  if (const std::size_t recovering = recovering_vdisks(served.node); recovering > 0) {
    out.push_back(
        fmt::format("{} of {} VDisks are recovering", recovering, served.node.vdisks().size()));
  }
  if (plan.topics && !served.topics_elsewhere) add_topics(served, out);
  return out;
}

HttpPages::HttpPages(const Served& served, const ServePlan& plan, TcpAddress node)
    : served_(served),
      plan_(plan),
      node_(std::move(node)),
      service_(
          served.real.world().executor, registry_,
          [this](http::Exchange& exchange) { return answer(exchange); }, options()) {}

Result<void> HttpPages::open(const TcpAddress& address) {
  TcpListenerLimits limits;
  limits.connections_max = kHttpConnectionsMax + kTurnedAwayMax;
  TRY(listener_, TcpListener::open(served_.real.lane(), address, service_.streams(), limits));
  return {};
}

Task<void> HttpPages::stop() {
  if (listener_) co_await listener_->stop();
}

http::Reply HttpPages::page(const std::string& path) const {
  const auto view = [this] {
    return NodeView{served_.node, plan_.self, served_.groups, served_.real.network().peers(),
                    served_.real.lane().now()};
  };
  if (path == "/ping") return http::text_reply(200, "ok\n");
  if (path == "/ready") {
    const std::vector<std::string> missing = not_ready(served_, plan_);
    if (missing.empty()) return http::text_reply(200, "ready\n");
    return http::text_reply(503, fmt::format("{}\n", fmt::join(missing, "\n")));
  }
  if (path == "/status") return typed("application/json", node_status(view()));
  if (path == "/metrics") {
    std::string text = node_metrics(view());
    if (served_.topics) text += served_.topics->metrics();
    text += registry_.expose() + process_metrics();
    return typed("text/plain; version=0.0.4; charset=utf-8", text);
  }
  if (path == "/cluster.yaml") {
    const blob::ClusterConfig config = current_config(served_.node);
    // With the actual port.
    return typed("application/yaml", to_yaml(plan_.folder ? with_address(config, node_) : config));
  }
  return http::text_reply(
      404, "no such page; there are /ping, /ready, /status, /metrics and /cluster.yaml\n");
}

Task<void> HttpPages::answer(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  http::Reply reply;
  if (request.method == "GET" || request.method == "HEAD") {
    reply = page(request.target.path);
  } else {
    reply = http::text_reply(405, "only GET and HEAD\n");
    reply.head.fields.add("Allow", "GET, HEAD");
  }
  reply.head.fields.add("Cache-Control", "no-store");
  std::ignore = co_await exchange.reply(std::move(reply));
}

}  // namespace moraine::app
