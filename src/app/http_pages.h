// HttpPages: what a running node tells over HTTP.
//
//   /ping          alive
//   /ready         200 when all that is placed on this node is up; 503 with what is not, one a line
//   /status        disks, groups and peers as JSON
//   /metrics       in the form that Prometheus reads
//   /cluster.yaml  the config as it is now
//
// Promise    Answers from before the node is up until it goes down: how far it is can always be
//            asked.
// Threading  The node's executor.
// Limits     kHttpConnectionsMax connections; those of gateway/http.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/serve_plan.h"
#include "app/served.h"
#include "base/metrics.h"
#include "gateway/http/service.h"
#include "io/real/tcp_stream.h"

namespace moraine::app {

inline constexpr std::size_t kHttpConnectionsMax = 1'024;

// What is placed on this node and not up, for people. Empty: all is.
std::vector<std::string> not_ready(const Served& served, const ServePlan& plan);

class HttpPages {
 public:
  // `served` and `plan` outlive it; `node` is where the node itself listens.
  HttpPages(const Served& served, const ServePlan& plan, TcpAddress node);
  HttpPages(const HttpPages&) = delete;
  HttpPages& operator=(const HttpPages&) = delete;

  // Requires: a numeric host.
  Result<void> open(const TcpAddress& address);
  std::uint16_t port() const { return listener_ ? listener_->port() : 0; }
  // Ends when no page is being answered any more.
  Task<void> stop();

 private:
  Task<void> answer(http::Exchange& exchange);
  http::Reply page(const std::string& path) const;

  const Served& served_;
  const ServePlan& plan_;
  const TcpAddress node_;
  MetricRegistry registry_;
  http::HttpService service_;
  std::unique_ptr<TcpListener> listener_;
};

}  // namespace moraine::app
