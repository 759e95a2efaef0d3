#include "embed/database_core.h"

#include <algorithm>

#include "base/invariant.h"
#include "embed/completion.h"

namespace moraine::embed {

Result<std::unique_ptr<DatabaseCore>> DatabaseCore::open(const std::string& folder,
                                                         const OpenOptions& options) {
  TRY(std::unique_ptr<OwnNode> own, OwnNode::open(folder, options));
  return std::make_unique<DatabaseCore>(std::move(own));
}

void DatabaseCore::run_on(Executor& lane, std::function<Task<void>()> body) {
  INVARIANT(std::ranges::find(parts_.lanes, Executor::current()) == parts_.lanes.end(),
            "a blocking call was made on the database's own thread; await its _async form");
  wait_for(lane, std::move(body));
}

Executor& DatabaseCore::next_lane() {
  const std::size_t turn = next_lane_.fetch_add(1, std::memory_order_relaxed);
  return *parts_.lanes[turn % parts_.lanes.size()];
}

std::uint64_t DatabaseCore::device_bytes_used() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, device] : parts_.node.devices()) bytes += device->segments().used_bytes();
  return bytes;
}

std::uint64_t DatabaseCore::device_bytes_written() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, device] : parts_.node.devices()) bytes += device->stats().bytes_appended;
  return bytes;
}

Task<void> DatabaseCore::give_back() {
  for (const auto& [id, device] : parts_.node.devices()) co_await device->give_back();
}

}  // namespace moraine::embed
