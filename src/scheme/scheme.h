// Scheme: the path tree of the system, stored by a tablet: directories, topics, tables.
//
//   keys of the tablet: "node/" path        a node (path_node.h)
//                       "doomed/" 16 hex    a tablet to be deleted (tablet_record.h)
//                       "next_tablet"       version u8 = 1  id u64  crc32c u32
//                       "change/" id path   of a transaction (tree_records.h, as those below)
//                       "lock/" id  "mutation/" id  "snapshot/" id id  "transaction/" id
//                                           ids as 32 hex digits
//
// Promise    A change is durable and atomic when it returns OK; until then nobody sees it.
//            Transactions of the tree, their locks and results of mutations are there after a
//            restart. A node that such a transaction has locked is not changed by others. Ids of
//            tablets are allocated in the same transaction as the node that uses them, and never
//            reused. The tablets of a removed node stay on a durable list until they are known to
//            be deleted.
// Invariants Changes run one at a time, so each sees all earlier ones.
// Threading  The world's executor. The caller keeps the Scheme alive while a change is awaited.
// Limits     kNodesMax, those of path_node.h, kTabletsPerChangeMax, kPendingDeletionsMax,
//            kSchemeChangesMax waiting.
// Errors     kInvalidArgument, kNotFound, kAlreadyExists, kOverloaded; kConflict: a directory that
//            is not empty, or a newer incarnation of the tablet; kUnavailable: the outcome is
//            unknown and this incarnation is over.
// Tests      scheme_test.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keyvalue/key_value.h"
#include "scheme/path_tree.h"
#include "scheme/tree_editor.h"
#include "scheme/tree_state.h"

namespace moraine {

inline constexpr std::uint32_t kTabletsPerChangeMax = 4'096;
inline constexpr std::size_t kPendingDeletionsMax = 1'000'000;
inline constexpr std::size_t kSchemeChangesMax = 10'000;

// Gets the first of the tablet ids that the change allocates; the others follow it.
using RecordOf = std::function<Slice(TabletId first)>;

struct CreateNode {
  NodeKind kind = NodeKind::kDirectory;
  std::string path;
  bool parents = false;  // Creates missing directories.
  std::uint32_t tablets = 0;
  RecordOf record;  // None: an empty record.
  UserAttributes attributes;
};
// Replaces the record; the attributes stay.
struct AlterNode {
  std::string path;
  PathId id{};  // kNotFound when the node at the path has another id.
  std::uint32_t tablets = 0;
  RecordOf record;
  std::vector<TabletInfo> deleted;  // Tablets that it does not need any more.
};
// Changes attributes; the record stays. Applied as a whole or not at all.
struct AlterAttributes {
  std::string path;
  PathId id{};                                          // As in AlterNode.
  std::map<std::string, std::optional<Slice>> changes;  // nullopt: removed, if there is one.
  bool replace = false;  // Removes attributes that `changes` does not name.
};
struct RemoveNode {
  std::string path;
  PathId id{};
  std::vector<TabletInfo> deleted;  // Its tablets.
};

struct SchemeOptions {
  TabletId first_tablet{1};  // The lowest id that is allocated.
  LeaderOptions leader;
};

class Scheme {
 public:
  static Task<Result<std::unique_ptr<Scheme>>> boot(World world, BlobGroups& groups,
                                                    TabletInfo info, SchemeOptions options = {});
  Task<void> stop() { return tablet_->stop(); }
  void abandon() { tablet_->abandon(); }
  void on_end(Callback hook) { tablet_->on_end(std::move(hook)); }

  Task<Result<NodePtr>> create(CreateNode request);
  Task<Result<NodePtr>> alter(AlterNode request);
  Task<Result<NodePtr>> alter_attributes(AlterAttributes request);
  Task<Result<void>> remove(RemoveNode request);

  // Runs a change of the tree: `decide` is called with an editor when all earlier changes are done,
  // and what it put is stored, unless it fails.
  using Decide = std::function<Result<void>(TreeEditor&)>;
  Task<Result<TreeEffects>> edit(std::optional<PathId> transaction, std::string user,
                                 Decide decide);

  // Null when there is none.
  NodePtr find(std::string_view path) const { return state_.nodes().find(path); }
  Result<std::vector<NodePtr>> list(std::string_view directory) const {
    return state_.nodes().list(directory);
  }
  std::vector<NodePtr> all(NodeKind kind) const { return state_.nodes().all(kind); }
  std::size_t size() const { return state_.nodes().size(); }
  const TreeState& state() const { return state_; }
  void postpone_expiry(const std::string& path, std::uint64_t at_ms) {
    state_.postpone(path, at_ms);
  }

  // Tablets of removed nodes that still have to be deleted.
  std::vector<TabletInfo> pending_deletions() const;
  bool is_to_be_deleted(TabletId id) const { return deletions_.contains(id); }
  // Takes a tablet that was deleted off the list.
  Task<Result<void>> forget_deleted(TabletId id);

 private:
  Scheme(World world, TabletId first_tablet) : world_(world), next_tablet_(first_tablet) {}

  Task<Result<void>> load();
  Result<void> load_item(const std::string& key, const Slice& value);
  // Returns OK with the permit of changes_ acquired.
  Task<Result<void>> begin_change();
  Task<Result<NodePtr>> create_locked(CreateNode request);
  Task<Result<NodePtr>> alter_locked(AlterNode request);
  Task<Result<NodePtr>> alter_attributes_locked(AlterAttributes request);
  Task<Result<void>> remove_locked(RemoveNode request);
  Task<Result<TreeEffects>> edit_locked(std::optional<PathId> transaction, std::string user,
                                        Decide decide);
  Task<Result<void>> commit(const TreeEffects& effects);
  // Fails if a transaction of the tree does not allow this.
  Result<void> check_locks(const std::string& path, bool new_node);
  Result<NodePtr> find_same(const std::string& path, const PathId& id) const;
  Result<Slice> make_record(const RecordOf& record, std::uint32_t tablets) const;
  Result<void> check_deletions(const std::vector<TabletInfo>& deleted) const;
  // `after`: the node then. Null: it is gone.
  void keep_shared(std::vector<TabletInfo>& deleted, const PathNode& before,
                   const PathNode* after) const;
  void add_deletions(const std::vector<TabletInfo>& deleted);
  Task<Result<void>> store_nodes(std::vector<NodePtr> nodes, std::uint32_t tablets,
                                 std::vector<TabletInfo> deleted = {});
  TreeEditContext edit_context(std::string user);
  // Its time and revision are those of a change that is made now.
  void note_change(PathNode& node) const;

  World world_;
  std::unique_ptr<KeyValue> tablet_;
  TreeState state_;
  std::map<TabletId, TabletInfo> deletions_;
  TabletId next_tablet_;
  Semaphore changes_{world_.executor, 1};
};

}  // namespace moraine
