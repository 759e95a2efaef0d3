#include "app/yt_server.h"

#include "app/version.h"

namespace moraine::app {
namespace {

std::vector<World> worlds_of(const Node& node) {
  std::vector<World> worlds;
  for (std::size_t i = 0; i < node.lanes(); ++i) worlds.push_back(node.lane(i));
  return worlds;
}

}  // namespace

YtServer::YtServer(Node& node, std::string address)
    : tables_(node.tables().tables(), node.lane(0).executor),
      client_(node.lane(0).executor, tables_, node.tables()),
      door_(worlds_of(node), yt::DoorServices{client_, &node.tree()},
            yt::DoorOptions{kVersionText, std::move(address)}) {}

}  // namespace moraine::app
