#include "sim/tables/table_options.h"

#include <fmt/format.h>

namespace moraine::sim {

void jump_some_clock(Cluster& cluster, History& history, SeededRandom& random,
                     const TableOptions& options) {
  const std::size_t client = random.below(cluster.clients());
  const auto span = static_cast<std::uint64_t>(options.jump_max.count());
  const auto distance = std::chrono::milliseconds(random.below(2 * span + 1)) - options.jump_max;
  history.tally.add(Trouble::kClockJump);
  if (history.verbose()) {
    history.say(fmt::format("the clock of client {} jumps by {} ms", client, distance.count()));
  }
  cluster.node(cluster.client_host(client)).clock().jump(distance);
}

}  // namespace moraine::sim
