// DatabaseCore: a node inside this process: blob storage, scheme and tables on a thread of their
// own.
//
// Promise    run() ends when the coroutine has; it may be called from any thread but the node's
//            own.
// Threading  start() and stop() from the thread that owns the database. `services` on the node's
//            thread, but for what says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/data_folder.h"
#include "blob/node/blob_node.h"
#include "io/real/real_world.h"
#include "moraine/database.h"
#include "service/table_services.h"

namespace moraine::embed {

class DatabaseCore {
 public:
  static Result<std::unique_ptr<DatabaseCore>> open(const std::string& folder,
                                                    const OpenOptions& options);
  DatabaseCore(const DatabaseCore&) = delete;
  DatabaseCore& operator=(const DatabaseCore&) = delete;
  ~DatabaseCore();

  // Runs a coroutine on the node's thread and waits for its end.
  void run(std::function<Task<void>()> body);
  template <class T>
  T get(std::function<Task<T>()> body) {
    std::optional<T> result;
    run([&]() -> Task<void> { result.emplace(co_await body()); });
    return std::move(*result);
  }

  TableServices& services() { return *services_; }
  Executor& executor() { return world_.lane(); }
  // On the node's thread.
  std::uint64_t device_bytes_used() const;
  std::uint64_t device_bytes_written() const;
  // The devices give dead space back now and not only when they are idle.
  Task<void> give_back();

 private:
  class Groups final : public BlobGroups {
   public:
    explicit Groups(DatabaseCore& core) : core_(core) {}
    blob::Proxy* group(blob::GroupId id) override { return core_.node_->proxy(id); }
    std::optional<blob::DirectPlace> locate(blob::GroupId group, const blob::BlobId& id) override {
      return core_.node_->locate(group, id);
    }

   private:
    DatabaseCore& core_;
  };

  DatabaseCore(app::DataFolder folder, bool fresh, const OpenOptions& options);
  Task<Result<void>> start();
  Task<void> stop();

  const app::DataFolder folder_;
  RealWorld world_;
  Lane background_;
  Groups groups_;
  std::unique_ptr<blob::BlobNode> node_;
  std::unique_ptr<SchemeHost> scheme_;
  std::unique_ptr<TableServices> services_;
  bool node_started_ = false;
  bool services_started_ = false;
};

}  // namespace moraine::embed
