// DatabaseCore: the node behind a Database: its own node, or one that other code in this process
// runs.
//
// Promise    run() returns when the coroutine has finished; it may be called from any thread except
//            the node's own.
// Threading  Constructed and destroyed on any thread except the node's own. `services` and `client`
//            are used on the node's thread, except where they say otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/table_client.h"
#include "embed/own_node.h"

namespace moraine::embed {

class DatabaseCore {
 public:
  static Result<std::unique_ptr<DatabaseCore>> open(const std::string& folder,
                                                    const OpenOptions& options);
  explicit DatabaseCore(NodeParts parts) : parts_(parts) {}
  explicit DatabaseCore(std::unique_ptr<OwnNode> own)
      : own_(std::move(own)), parts_(own_->parts()) {}
  DatabaseCore(const DatabaseCore&) = delete;
  DatabaseCore& operator=(const DatabaseCore&) = delete;

  // Runs a coroutine on the node's thread and waits until it has finished.
  void run(std::function<Task<void>()> body);
  template <class T>
  T get(std::function<Task<T>()> body) {
    std::optional<T> result;
    run([&]() -> Task<void> { result.emplace(co_await body()); });
    return std::move(*result);
  }

  TableServices& services() { return parts_.services; }
  client::TableClient& client() { return client_; }
  Tables& tables() { return client_.tables(); }
  // On the node's thread.
  std::uint64_t device_bytes_used() const;
  std::uint64_t device_bytes_written() const;
  // Makes the devices return dead space now instead of when they are idle.
  Task<void> give_back();

 private:
  const std::unique_ptr<OwnNode> own_;  // Null: connected.
  const NodeParts parts_;
  client::TableClient client_{parts_.executor, parts_.services.tables(), parts_.services};
};

}  // namespace moraine::embed
