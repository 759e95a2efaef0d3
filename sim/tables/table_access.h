// How the scenario accesses tables, independent of how they are served.
//
// TableAccess  Requests of clients. Replies are delivered to the scenario; nothing: timed out.
// TableStage   The serving side: starts, ends and moves it.
// Threading    Events of the scenario; calls are made on the nodes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/sync.h"
#include "sim/tables/table_model.h"

namespace moraine::sim {

template <class T>
using Answer = std::optional<Result<T>>;
template <class T>
using Reply = std::shared_ptr<OneShot<Answer<T>>>;

class TableAccess {
 public:
  virtual ~TableAccess() = default;
  // Rows with one place are read by one call.
  virtual std::uint64_t place_of(const RowName& row) const = 0;
  // Does its table have the extra column by now?
  virtual bool has_extra(const RowName& row) const = 0;

  virtual Task<Answer<Timestamp>> timestamp() = 0;
  // Rows of one place in the order of their names, at least one.
  virtual Task<Answer<std::vector<SeenRow>>> read(std::vector<RowName> rows, Timestamp at) = 0;
  virtual Task<Answer<Timestamp>> commit(ModelTransaction transaction) = 0;
  // All versions of the row that are kept.
  virtual Task<Answer<std::vector<FoundVersion>>> look(RowName row) = 0;
};

class TableStage {
 public:
  virtual ~TableStage() = default;
  // A client node that has just been started.
  virtual void attach(std::size_t client) = 0;
  // No more faults: only starts what is not served.
  virtual void calm() = 0;
  // Nothing is started after this.
  virtual void stop() = 0;
  // Stops the serving nodes cleanly; others take over.
  virtual void move_all() = 0;
  // What is not served, or not decided; empty: nothing.
  virtual std::string unsettled() const = 0;
  virtual std::size_t booting() const = 0;
  // Replaced tablets are removed. False: not yet.
  virtual Task<bool> tidy() = 0;
};

inline constexpr Duration kCallTime = 12s;  // Afterwards the outcome counts as unknown.

template <class T>
Task<void> carry(Task<Result<T>> task, Reply<T> reply) {
  reply->set(co_await std::move(task));
}

// Runs a call on a node. `over`: its run has ended.
template <class T>
Task<Answer<T>> ask_node(SimWorld& world, Executor& node, std::shared_ptr<bool> over,
                         std::function<Task<Result<T>>()> call) {
  auto reply = std::make_shared<OneShot<Answer<T>>>();
  world.executor().schedule(world.executor().now() + kCallTime,
                            [reply] { reply->set(std::nullopt); });
  node.post([over = std::move(over), call = std::move(call), reply] {
    if (*over) {
      reply->set(Result<T>(fail(Errc::kReadOnly, "the node has ended")));
    } else {
      spawn(carry<T>(call(), reply));
    }
  });
  Answer<T> answer = co_await *reply;
  co_await yield(world.executor());
  co_return answer;
}

}  // namespace moraine::sim
