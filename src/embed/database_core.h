// DatabaseCore: the node behind a Database: its own node, or one that other code in this process
// runs.
//
// The database has lanes of its own (`OpenOptions::lanes`), over which its tablets are spread, and
// one thread for merging and packing.
//
// Promise    run() returns when the coroutine has finished; it may be called from any thread except
//            the node's lanes.
// Threading  Constructed and destroyed on any thread except the node's lanes. `services` is used on
//            the control lane, except where it says otherwise; `client` on any lane.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "client/lane_tables.h"
#include "client/table_client.h"
#include "client/topic_client.h"
#include "embed/own_node.h"

namespace moraine::embed {

class DatabaseCore {
 public:
  static Result<std::unique_ptr<DatabaseCore>> open(const std::string& folder,
                                                    const OpenOptions& options);
  explicit DatabaseCore(NodeParts parts) : DatabaseCore(nullptr, std::move(parts)) {}
  DatabaseCore(const DatabaseCore&) = delete;
  DatabaseCore& operator=(const DatabaseCore&) = delete;

  // Runs a coroutine on the control lane and waits until it has finished.
  void run(std::function<Task<void>()> body) { run_on(control(), std::move(body)); }
  // The same on another lane.
  void run_on(Executor& lane, std::function<Task<void>()> body);
  // The lanes in turn.
  Executor& next_lane();
  Executor& control() { return *parts_.lanes.front(); }
  template <class T>
  T get(std::function<Task<T>()> body) {
    return get_on<T>(control(), std::move(body));
  }
  template <class T>
  T get_on(Executor& lane, std::function<Task<T>()> body) {
    std::optional<T> result;
    run_on(lane, [&]() -> Task<void> { result.emplace(co_await body()); });
    return std::move(*result);
  }

  TableServices& services() { return parts_.services; }
  Node& node() { return parts_.node; }
  client::TableClient& client() { return client_; }
  Tables& tables() { return client_.tables(); }
  // Those of the current lane.
  client::TopicClient& topics();
  // On any thread: reads of topics that wait fail.
  void end_waits();
  // In the Prometheus format; empty for a node that other code runs.
  std::string lane_metrics() { return own_ ? own_->lane_metrics() : std::string(); }
  // On the control lane.
  std::uint64_t device_bytes_used() const;
  std::uint64_t device_bytes_written() const;
  // Makes the devices return dead space now instead of when they are idle.
  Task<void> give_back();

 private:
  DatabaseCore(std::unique_ptr<OwnNode> own, NodeParts parts);

  const std::unique_ptr<OwnNode> own_;  // Null: connected.
  const NodeParts parts_;
  LaneTables tables_{parts_.services.tables(), *parts_.lanes.front()};
  client::TableClient client_{*parts_.lanes.front(), tables_, parts_.services};
  std::vector<std::shared_ptr<client::TopicClient>> topics_;  // Of each lane.
  std::atomic<std::size_t> next_lane_{0};
};

}  // namespace moraine::embed
