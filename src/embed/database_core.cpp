#include "embed/database_core.h"

#include <algorithm>

#include "base/invariant.h"
#include "embed/completion.h"

namespace moraine::embed {

Result<std::unique_ptr<DatabaseCore>> DatabaseCore::open(const std::string& folder,
                                                         const OpenOptions& options) {
  TRY(std::unique_ptr<OwnNode> own, OwnNode::open(folder, options));
  NodeParts parts = own->parts();
  return std::unique_ptr<DatabaseCore>(new DatabaseCore(std::move(own), std::move(parts)));
}

DatabaseCore::DatabaseCore(std::unique_ptr<OwnNode> own, NodeParts parts)
    : own_(std::move(own)), parts_(std::move(parts)) {
  for (std::size_t i = 0; i < parts_.lanes.size(); ++i) {
    topics_.push_back(std::make_shared<client::TopicClient>(*parts_.topics[i], *parts_.lanes[i],
                                                            parts_.background));
  }
}

client::TopicClient& DatabaseCore::topics() {
  const auto lane = std::ranges::find(parts_.lanes, Executor::current());
  INVARIANT(lane != parts_.lanes.end(), "a Task of a topic was awaited outside of Database::run()");
  return *topics_[static_cast<std::size_t>(lane - parts_.lanes.begin())];
}

void DatabaseCore::end_waits() {
  for (std::size_t i = 0; i < topics_.size(); ++i) {
    parts_.lanes[i]->post([topics = topics_[i]] { topics->end_waits(); });
  }
}

void DatabaseCore::run_on(Executor& lane, std::function<Task<void>()> body) {
  INVARIANT(std::ranges::find(parts_.lanes, Executor::current()) == parts_.lanes.end(),
            "a blocking call was made on the database's own thread; await its Task");
  wait_for(lane, std::move(body));
}

Executor& DatabaseCore::next_lane() {
  const std::size_t turn = next_lane_.fetch_add(1, std::memory_order_relaxed);
  return *parts_.lanes[turn % parts_.lanes.size()];
}

std::uint64_t DatabaseCore::device_bytes_used() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, device] : parts_.node.storage().devices())
    bytes += device->segments().used_bytes();
  return bytes;
}

std::uint64_t DatabaseCore::device_bytes_written() const {
  std::uint64_t bytes = 0;
  for (const auto& [id, device] : parts_.node.storage().devices())
    bytes += device->stats().bytes_appended;
  return bytes;
}

Task<void> DatabaseCore::give_back() {
  for (const auto& [id, device] : parts_.node.storage().devices()) co_await device->give_back();
}

}  // namespace moraine::embed
