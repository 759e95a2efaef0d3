// YtServer: YTsaurus's HTTP API of a running node; its requests come from HttpPages.
//
// Promise    Requests are served as soon as it exists.
// Threading  Made and destroyed on the control lane, while no request is in flight; door() on any
//            lane.
#pragma once

#include <memory>
#include <string>

#include "client/lane_tables.h"
#include "client/table_client.h"
#include "gateway/yt/door.h"
#include "node/node.h"

namespace moraine::app {

class YtServer {
 public:
  // `node`, whose tablets have been started, outlives the object. `address`: of its HTTP port.
  YtServer(Node& node, std::string address);
  YtServer(const YtServer&) = delete;
  YtServer& operator=(const YtServer&) = delete;

  yt::Door& door() { return door_; }

 private:
  LaneTables tables_;
  client::TableClient client_;
  yt::Door door_;
};

}  // namespace moraine::app
