// A node with several lanes on a simulated machine. For tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "io/sim/run_on_lane.h"
#include "node/node.h"

namespace moraine {

class TestNode {
 public:
  static constexpr std::uint32_t kSegmentBytes = 32u << 20;

  // `placement` as in NodeOptions.
  explicit TestNode(std::size_t lanes, std::uint64_t seed = 9, Placement* placement = nullptr)
      : owned_(std::make_unique<SimWorld>(seed, options())),
        world_(*owned_),
        machine_(world_.add_node()),
        lanes_(lanes),
        placement_(placement) {
    start();
  }
  // Another machine of the world, with devices of its own.
  TestNode(SimWorld& world, std::size_t lanes, Placement* placement)
      : world_(world), machine_(world_.add_node()), lanes_(lanes), placement_(placement) {
    start();
  }
  ~TestNode() {
    stop();
    if (owned_) world_.shutdown();
  }
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;

  SimWorld& world() { return world_; }
  Node& node() { return *node_; }
  Executor& lane(std::size_t index) { return node_->lane(index).executor; }
  NodeId id() const { return machine_.id(); }
  Instant soon() { return world_.executor().now() + 60s; }

  void start() {
    NodeOptions options;
    options.placement = placement_;
    node_ = std::make_unique<Node>(machine_.lanes(lanes_), machine_.world().executor, config(),
                                   machine_.id(), options);
    on_lane<bool>(0, [this] { return begin(); });
  }
  void stop() {
    on_lane<bool>(0, [this]() -> Task<bool> {
      co_await node_->stop();
      co_return true;
    });
    node_.reset();
  }
  void restart() {
    stop();
    start();
  }
  void cut_power() {
    machine_.on_stop([this] { node_->abandon(); });
    machine_.on_crash([this] { node_.reset(); });
    machine_.crash();
    machine_.restart();
    start();
  }

  // Runs `body` on a lane and returns its result.
  template <class T>
  T on_lane(std::size_t index, std::function<Task<T>()> body) {
    return run_on_lane<T>(world_, lane(index), std::move(body));
  }

 private:
  static SimOptions options() {
    SimOptions made;
    made.jitter_max = 50us;
    return made;
  }
  blob::ClusterConfig config() {
    blob::ClusterConfig config = blob::single_node_config("device", 64ull * kSegmentBytes);
    config.nodes[0].id = machine_.id();
    config.nodes[0].devices[0].segment_size = kSegmentBytes;
    config.groups[0].disks[0].node = machine_.id();
    return config;
  }
  Task<bool> begin() {
    const auto opened = co_await node_->open();
    INVARIANT(opened, "{}", opened.error().message());
    const auto located = co_await node_->locate_system(soon());
    INVARIANT(located, "{}", located.error().message());
    const auto started = co_await node_->start(soon());
    INVARIANT(started, "{}", started.error().message());
    const auto transactions = co_await node_->wait_transactions(soon());
    INVARIANT(transactions, "{}", transactions.error().message());
    INVARIANT(co_await node_->wait_topics(soon()), "not all partitions run");
    co_return true;
  }

  std::unique_ptr<SimWorld> owned_;  // Null: the world is another's.
  SimWorld& world_;
  SimNode& machine_;
  const std::size_t lanes_;
  Placement* const placement_;
  std::unique_ptr<Node> node_;
};

}  // namespace moraine
