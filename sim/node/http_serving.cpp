#include "sim/node/http_serving.h"

namespace moraine::sim {
namespace {

constexpr std::size_t kAnswerBytes = std::size_t{64} << 20;

std::vector<World> worlds_of(const Node& node) {
  std::vector<World> worlds;
  for (std::size_t i = 0; i < node.lanes(); ++i) worlds.push_back(node.lane(i));
  return worlds;
}

}  // namespace

HttpServing::HttpServing(Node& node)
    : tables_(node.tables().tables(), node.lane(0).executor),
      client_(node.lane(0).executor, tables_, node.tables()),
      door_(worlds_of(node), yt::DoorServices{client_, &node.tree()}, yt::DoorOptions{}),
      answers_(kAnswerBytes) {
  for (std::size_t i = 0; i < node.lanes(); ++i) {
    services_.push_back(std::make_unique<http::HttpService>(
        node.lane(i).executor, registry_, answers_,
        [this, i](http::Exchange& exchange) { return door_.answer(i, exchange); }));
  }
}

}  // namespace moraine::sim
