#include "io/real/real_lanes.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "base/invariant.h"

namespace moraine {
namespace {

LaneOptions named(std::string name) {
  LaneOptions options;
  options.name = std::move(name);
  return options;
}

}  // namespace

std::size_t default_lanes() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&allowed)), 1, kLanesMax);
}

RealLanes::Other::Other(RealWorld& first, LaneOptions options)
    : lane(std::move(options)), disks(lane), network(first.network(), first.lane(), lane) {}

RealLanes::RealLanes(std::size_t count, const std::string& name, TcpNetworkOptions network) {
  INVARIANT(count >= 1 && count <= kLanesMax, "{} lanes; 1 to {} are possible", count, kLanesMax);
  first_ = std::make_unique<RealWorld>(named(count == 1 ? name : name + "-0"), std::move(network));
  for (std::size_t i = 1; i < count; ++i) {
    others_.push_back(std::make_unique<Other>(*first_, named(fmt::format("{}-{}", name, i))));
  }
}

void RealLanes::start() {
  for (const auto& other : others_) other->lane.start();
}

void RealLanes::stop() {
  for (const auto& other : others_) other->lane.stop();
}

Lane& RealLanes::lane(std::size_t index) {
  return index == 0 ? first_->lane() : others_[index - 1]->lane;
}

std::string lane_metrics(RealLanes& lanes) {
  std::string out =
      "# HELP moraine_lane_busy_seconds_total Processor time of the lane's thread\n"
      "# TYPE moraine_lane_busy_seconds_total counter\n";
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const double busy = std::chrono::duration<double>(lanes.lane(i).busy()).count();
    out += fmt::format("moraine_lane_busy_seconds_total{{lane=\"{}\"}} {:.6f}\n", i, busy);
  }
  return out;
}

std::vector<World> RealLanes::worlds() {
  std::vector<World> worlds{first_->world()};
  for (const auto& other : others_) {
    worlds.push_back({other->lane, clock_, other->random, other->disks, other->network});
  }
  return worlds;
}

}  // namespace moraine
