#include "sim/node/node_tables.h"

namespace moraine::sim {
namespace {

constexpr Duration kTick = 200ms;

}  // namespace

NodeTables::NodeTables(SimWorld& world, Machines& machines, History& history, TableOptions options)
    : ServiceTables(world, history, std::move(options)), machines_(machines) {
  schedule_tick();
  start_changes();
}

void NodeTables::schedule_tick() {
  world_.executor().schedule(world_.executor().now() + kTick, [this, alive = alive_] {
    if (!*alive) return;
    if (is_calm() && !is_stopped() && !history_.failed()) mount_again();
    schedule_tick();
  });
}

void NodeTables::move_all() {
  if (const auto server = machines_.server()) machines_.stop_process(*server);
}

}  // namespace moraine::sim
