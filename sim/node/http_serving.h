// HttpServing: YTsaurus's HTTP API of one process, on all lanes, as `moraine serve` builds it.
//
// Threading  Made and destroyed on the control lane, while no request is in flight; streams() on
//            their lane.
#pragma once

#include <memory>
#include <vector>

#include "client/lane_tables.h"
#include "client/table_client.h"
#include "gateway/http/service.h"
#include "gateway/yt/door.h"
#include "node/node.h"

namespace moraine::sim {

class HttpServing {
 public:
  // `node`, whose tablets have been started, outlives the object.
  explicit HttpServing(Node& node);
  HttpServing(const HttpServing&) = delete;
  HttpServing& operator=(const HttpServing&) = delete;

  StreamHandler streams(std::size_t lane) { return services_[lane]->streams(); }

 private:
  LaneTables tables_;
  client::TableClient client_;
  yt::Door door_;
  MetricRegistry registry_;
  http::AnswerBudget answers_;
  std::vector<std::unique_ptr<http::HttpService>> services_;  // By lane.
};

}  // namespace moraine::sim
