// HttpPages: the HTTP pages of a running node.
//
//   /ping          alive
//   /ready         200 when everything on this node is up; else 503 with a line for each part
//   /status        disks, groups and peers as JSON
//   /metrics       in the Prometheus format
//   /cluster.yaml  the current config
//   /api, /hosts, /auth, /version, /service, /cluster_connection: YTsaurus's API
//   (gateway/yt/door.h)
//
// Promise    Answers also while the node is starting and stopping.
// Threading  Constructed, opened and stopped on the control lane. Connections are spread over the
//            lanes; pages are made on the control lane, the API is served on those of its clients.
// Limits     kHttpConnectionsMax connections, kHttpAnswerBytesMax; those of gateway/http.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/page_rooms.h"
#include "app/serve_plan.h"
#include "app/served.h"
#include "base/metrics.h"
#include "gateway/http/service.h"
#include "io/real/tcp_stream.h"

namespace moraine::app {

inline constexpr std::size_t kHttpConnectionsMax = 1'024;
// Of answers that are being made or that clients have not taken, on all lanes.
inline constexpr std::size_t kHttpAnswerBytesMax = std::size_t{256} << 20;

// A line for each part of this node that is not up. Empty: all are.
std::vector<std::string> not_ready(const Served& served, const ServePlan& plan);

class HttpPages {
 public:
  // `served` and `plan` outlive the object; `node` is the address of the node's transport.
  HttpPages(const Served& served, const ServePlan& plan, TcpAddress node);
  HttpPages(const HttpPages&) = delete;
  HttpPages& operator=(const HttpPages&) = delete;

  // Requires: a numeric host.
  Result<void> open(const TcpAddress& address);
  std::uint16_t port() const { return listener_ ? listener_->port() : 0; }
  // Returns when no request is in flight any more.
  Task<void> stop();

 private:
  http::HttpOptions options() const;
  Task<void> answer(std::size_t lane, http::Exchange& exchange);
  // On the control lane.
  Task<http::Reply> page(std::string path) const;
  Task<std::string> metrics() const;

  const Served& served_;
  const ServePlan& plan_;
  const TcpAddress node_;
  MetricRegistry registry_;
  http::AnswerBudget answers_{kHttpAnswerBytesMax};
  PageRooms rooms_;
  std::vector<std::unique_ptr<http::HttpService>> services_;  // By lane.
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace moraine::app
