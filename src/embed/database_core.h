// DatabaseCore: the node behind a Database: its own node, or one that other code in this process
// runs.
//
// Promise    run() returns when the coroutine has finished; it may be called from any thread except
//            the node's own.
// Threading  Constructed and destroyed on any thread except the node's own. `services` is used on
//            the node's thread, except where it says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "embed/own_node.h"
#include "embed/scan_registry.h"

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
  Executor& executor() { return parts_.executor; }
  ScanRegistry& scans() { return *scans_; }
  // On the node's thread.
  std::uint64_t device_bytes_used() const;
  std::uint64_t device_bytes_written() const;
  // Makes the devices return dead space now instead of when they are idle.
  Task<void> give_back();

 private:
  const std::unique_ptr<OwnNode> own_;  // Null: connected.
  const NodeParts parts_;
  const std::shared_ptr<ScanRegistry> scans_ = std::make_shared<ScanRegistry>(parts_.executor);
};

}  // namespace moraine::embed
