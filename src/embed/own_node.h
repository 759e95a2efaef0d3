// OwnNode: a node inside this process: blob storage, scheme and tables on a thread of their own.
//
// Promise    open() returns a node whose tables run; the destructor stops it cleanly.
// Errors     kNoSpace: not enough free space for what a start writes. kTimeout: the text says what
//            did not start.
// Threading  open() and the destructor: the thread that owns the object. The objects that `parts`
//            refers to are used on the node's own thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cluster/local/data_folder.h"
#include "embed/node_parts.h"
#include "io/real/real_world.h"
#include "moraine/database.h"

namespace moraine::embed {

class OwnNode {
 public:
  static Result<std::unique_ptr<OwnNode>> open(const std::string& folder,
                                               const OpenOptions& options);
  OwnNode(const OwnNode&) = delete;
  OwnNode& operator=(const OwnNode&) = delete;
  ~OwnNode();

  NodeParts parts() { return {world_.lane(), *services_, *node_}; }

 private:
  class Groups final : public BlobGroups {
   public:
    explicit Groups(OwnNode& own) : own_(own) {}
    blob::Proxy* group(blob::GroupId id) override { return own_.node_->proxy(id); }
    std::optional<blob::DirectPlace> locate(blob::GroupId group, const blob::BlobId& id) override {
      return own_.node_->locate(group, id);
    }

   private:
    OwnNode& own_;
  };

  OwnNode(DataFolder folder, bool fresh, const OpenOptions& options);
  Task<Result<void>> start();
  // The services need the places of the system's tablets.
  Task<Result<void>> make_services(Instant deadline);
  Task<Result<void>> wait_running(Instant deadline);
  std::optional<Error> boot_error() const;
  Task<void> stop();

  const DataFolder folder_;
  const OpenOptions options_;
  RealWorld world_;
  Lane background_;
  Groups groups_;
  std::unique_ptr<blob::BlobNode> node_;
  // Set by start(), if the system's tablets were found.
  std::unique_ptr<SchemeHost> scheme_;
  std::unique_ptr<TableServices> services_;
};

}  // namespace moraine::embed
