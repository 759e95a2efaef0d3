// Tree: the tree of nodes with attributes, as doors use it: map nodes, documents, scalars, links,
// tables and topics, with transactions and locks. Semantics and messages are those of YTsaurus.
//
// Promise    A call sees and changes the view of its scope. A change is durable and atomic when it
//            returns OK. A change with a mutation id that is repeated returns the first result,
//            also after a restart, and changes nothing again. Nodes expire by their attributes
//            expiration_time and expiration_timeout.
// Threading  Any lane; the object outlives the calls.
// Limits     Those of the scheme.
// Errors     kNotFound: no such node or attribute; kAlreadyExists; kNotEmpty; kLockConflict;
//            kNoTransaction; kInvalidArgument; kReadOnly: the state of a table does not allow this;
//            kUnknownOutcome: the change may or may not have been made.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/task.h"
#include "scheme/object_id.h"
#include "yson/node.h"

namespace moraine::client {

// A request that its client may repeat.
struct MutationId {
  PathId id{};
  bool retry = false;  // The client has sent it before: a result that is known is returned.
};

// Which view of the tree a call sees, and for whom.
struct TreeScope {
  std::optional<PathId> transaction;
  bool ping_ancestors = false;
  std::vector<PathId> prerequisites;  // Transactions that must still be open.
  std::optional<MutationId> mutation;
  std::string user = "root";
  // Nodes that a call reads keep their access_time.
  bool suppress_access_tracking = false;
  // Their expiration_timeout does not begin again.
  bool suppress_expiration_renewal = false;
};

// Attributes that the nodes of an answer have beside their values.
struct WantedAttributes {
  bool all = false;
  std::vector<std::string> names;  // Names, or paths below them: "a/b".
};

struct TreeGet {
  WantedAttributes attributes;
  std::optional<std::int64_t> max_size;  // Children of a map; more: <incomplete=%true>.
};
struct TreeSet {
  bool recursive = false;
  bool force = false;  // Needed to replace a map node.
};
struct TreeCreate {
  std::string type;  // "table", "map_node", "document", ...
  std::string path;
  YsonMap attributes;
  bool recursive = false;
  bool ignore_existing = false;
  bool lock_existing = false;
  bool force = false;
  bool ignore_type_mismatch = false;
};
struct TreeCopy {
  bool recursive = false;
  bool ignore_existing = false;
  bool force = false;
  bool preserve_creation_time = false;
  bool preserve_modification_time = false;
  bool preserve_expiration_time = false;
  bool preserve_expiration_timeout = false;
  bool move = false;
};
struct TreeLink {
  bool recursive = false;
  bool ignore_existing = false;
  bool lock_existing = false;
  bool force = false;
};
struct TreeRemove {
  bool recursive = true;
  bool force = false;  // A missing node is no error.
};

enum class TreeLockMode : std::uint8_t { kSnapshot, kShared, kExclusive };
struct TreeLock {
  TreeLockMode mode = TreeLockMode::kExclusive;
  std::optional<std::string> child_key;      // Of shared locks.
  std::optional<std::string> attribute_key;  // Of shared locks.
  bool waitable = false;
};
struct TreeLocked {
  PathId lock{};
  PathId node{};
  std::uint64_t revision = 0;  // 0: the lock is pending.
};

struct TreeTransactionOptions {
  std::optional<PathId> parent;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
  std::optional<std::uint64_t> deadline_ms;  // Since 1970.
  YsonMap attributes;
};

// The node of a path, for commands on tables.
struct TreeNode {
  PathId id{};
  std::string type;  // "table", "map_node", ...
  std::string path;  // As Tables takes it (tables.h): of the scheme, or "#" and the id.
  // Of a table that the transaction has locked as a snapshot: rows are read that were committed,
  // and in chunks, before this timestamp. 0: all rows.
  std::uint64_t rows_before = 0;
};

class Tree {
 public:
  virtual ~Tree() = default;

  // Paths are YPath: "//tmp/t/@schema", "#1-2-10191-5f/@id", "//tmp/link&".
  virtual Task<Result<YsonNode>> get(TreeScope scope, std::string path, TreeGet options) = 0;
  // Names of children, each with the attributes that were asked for.
  virtual Task<Result<YsonNode>> list(TreeScope scope, std::string path, TreeGet options) = 0;
  virtual Task<Result<bool>> exists(TreeScope scope, std::string path) = 0;
  virtual Task<Result<void>> set(TreeScope scope, std::string path, YsonNode value,
                                 TreeSet options) = 0;
  // `path` ends in "/@": sets these attributes, all or none.
  virtual Task<Result<void>> set_attributes(TreeScope scope, std::string path, YsonMap values,
                                            TreeSet options) = 0;
  virtual Task<Result<void>> remove(TreeScope scope, std::string path, TreeRemove options) = 0;
  virtual Task<Result<PathId>> create(TreeScope scope, TreeCreate options) = 0;
  virtual Task<Result<PathId>> copy(TreeScope scope, std::string source, std::string destination,
                                    TreeCopy options) = 0;
  virtual Task<Result<PathId>> link(TreeScope scope, std::string target, std::string path,
                                    TreeLink options) = 0;

  virtual Task<Result<PathId>> begin(TreeScope scope, TreeTransactionOptions options) = 0;
  virtual Task<Result<void>> ping(TreeScope scope, PathId transaction) = 0;
  virtual Task<Result<void>> commit(TreeScope scope, PathId transaction) = 0;
  virtual Task<Result<void>> abort(TreeScope scope, PathId transaction, bool force) = 0;
  virtual Task<Result<TreeLocked>> lock(TreeScope scope, std::string path, TreeLock options) = 0;
  virtual Task<Result<void>> unlock(TreeScope scope, std::string path) = 0;

  // Follows links. Fails as a command on the node would: `writes`, if another transaction has a
  // lock on it.
  virtual Task<Result<TreeNode>> resolve(TreeScope scope, std::string path, bool writes) = 0;

  // For changes that are not of the tree, such as mounting. begin_mutation() returns the result of
  // an earlier call with this id; nothing: it is the first one, and end_mutation() follows.
  virtual Task<Result<std::optional<YsonNode>>> begin_mutation(MutationId mutation) = 0;
  virtual Task<Result<void>> end_mutation(MutationId mutation, YsonNode result) = 0;
};

}  // namespace moraine::client
