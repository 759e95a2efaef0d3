// Random changes of the tree, in and outside of transactions that are nested up to three deep,
// against a plain model: a map of nodes, and for each transaction the list of what it has done. The
// state is read again from its stored items now and then, as after a restart. Which changes another
// transaction's locks forbid is predicted from what each transaction has touched.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "node/tree_attributes.h"
#include "node/tree_commands.h"
#include "scheme/object_id.h"
#include "scheme/tree_store.h"
#include "yson/yson.h"

namespace moraine {
namespace {

struct ModelNode {
  PathId id{};
  bool directory = false;
  std::int64_t value = 0;
  std::map<std::string, std::int64_t> attributes;
};
using ModelTree = std::map<std::string, ModelNode>;  // By path: "//tmp/a".

bool below(const std::string& path, const std::string& root) {
  return path == root || path.starts_with(root + "/");
}
std::string parent_path(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}
std::string last_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// What a change needs for itself.
struct Resource {
  enum class Kind { kNode, kChild, kAttribute };
  PathId node{};
  Kind kind = Kind::kNode;
  std::string key;
  auto operator<=>(const Resource&) const = default;

  bool conflicts(const Resource& other) const {
    if (node != other.node) return false;
    return kind == Kind::kNode || other.kind == Kind::kNode || *this == other;
  }
};
using Resources = std::set<Resource>;

struct ModelTransaction {
  std::optional<PathId> parent;
  std::vector<std::function<void(ModelTree&)>> done;
  Resources held;
  std::map<PathId, ModelNode> snapshots;
};

class TreeModel {
 public:
  TreeModel() {
    tree_["//tmp"].directory = true;
    tree_["//tmp"].id = TreeState().find("tmp")->id;
  }

  std::map<PathId, ModelTransaction> open;

  std::vector<PathId> chain(std::optional<PathId> transaction) const {
    std::vector<PathId> all;
    while (transaction) {
      all.push_back(*transaction);
      transaction = open.at(*transaction).parent;
    }
    return all;
  }
  bool related(const std::optional<PathId>& transaction, const PathId& ancestor) const {
    const auto all = chain(transaction);
    return std::ranges::find(all, ancestor) != all.end();
  }
  ModelTree view(std::optional<PathId> transaction) const {
    ModelTree seen = tree_;
    const auto all = chain(transaction);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      for (const auto& change : open.at(*at).done) change(seen);
    }
    for (auto& [path, node] : seen) {
      for (const PathId& one : all) {
        const auto kept = open.at(one).snapshots.find(node.id);
        if (kept == open.at(one).snapshots.end()) continue;
        node = kept->second;
        break;
      }
    }
    return seen;
  }
  // Whether locks of others, or its own snapshots, forbid it.
  bool conflict(const std::optional<PathId>& transaction, const Resources& wanted) const {
    for (const Resource& one : wanted) {
      if (transaction && open.at(*transaction).snapshots.contains(one.node)) return true;
      for (const auto& [id, other] : open) {
        if (related(transaction, id)) continue;
        for (const Resource& held : other.held) {
          if (held.conflicts(one)) return true;
        }
      }
    }
    return false;
  }
  void apply(const std::optional<PathId>& transaction, const Resources& taken,
             std::function<void(ModelTree&)> change) {
    if (!transaction) {
      change(tree_);
      return;
    }
    open.at(*transaction).done.push_back(std::move(change));
    open.at(*transaction).held.insert(taken.begin(), taken.end());
  }
  void abort(const PathId& transaction) {
    std::vector<PathId> nested;
    for (const auto& [id, one] : open) {
      if (one.parent == transaction) nested.push_back(id);
    }
    for (const PathId& id : nested) abort(id);
    open.erase(transaction);
  }
  void commit(const PathId& transaction) {
    std::vector<PathId> nested;
    for (const auto& [id, one] : open) {
      if (one.parent == transaction) nested.push_back(id);
    }
    for (const PathId& id : nested) abort(id);
    const ModelTransaction ended = open.at(transaction);
    open.erase(transaction);
    for (const auto& change : ended.done) apply(ended.parent, {}, change);
    if (ended.parent) open.at(*ended.parent).held.insert(ended.held.begin(), ended.held.end());
  }

 private:
  ModelTree tree_;
};

class TreeModelTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  TreeModelTest() : random_(GetParam()), ids_(GetParam() + 1'000) {}

  std::size_t pick(std::size_t count) { return random_.next() % count; }
  template <class T>
  const T& pick(const std::vector<T>& all) {
    return all[pick(all.size())];
  }
  std::optional<PathId> some_transaction() {
    std::vector<std::optional<PathId>> all = {std::nullopt};
    for (const auto& [id, one] : model_.open) all.emplace_back(id);
    return pick(all);
  }
  std::string some_path() {
    std::string path = "//tmp";
    const std::size_t depth = 1 + pick(3);
    for (std::size_t i = 0; i < depth; ++i) path += "/" + pick(names_);
    return path;
  }

  Result<void> edit(std::optional<PathId> transaction,
                    const std::function<Result<void>(TreeEditor&)>& body) {
    TreeEffects effects;
    {
      TreeEditor editor(state_, {++now_ms_, ids_, TabletId{1}, "root"}, transaction);
      TRY_VOID(body(editor));
      TRY(effects, editor.finish());
    }
    for (const TreePutAny& put : effects.puts) {
      auto [key, value] = tree_item(put);
      if (value) {
        items_.insert_or_assign(key, *value);
      } else {
        items_.erase(key);
      }
      state_.apply(put);
    }
    return {};
  }
  void restart() {
    state_ = TreeState();
    for (const auto& [key, value] : items_) {
      const auto loaded = load_tree_item(state_, key, value);
      ASSERT_TRUE(loaded) << key << ": " << loaded.error().message();
    }
  }

  // As "//tmp/a={} x=1".
  static std::string text(const ModelTree& tree) {
    std::string out;
    for (const auto& [path, node] : tree) {
      out += node.directory ? path + "={}" : fmt::format("{}={}", path, node.value);
      for (const auto& [name, value] : node.attributes) out += fmt::format(" {}={}", name, value);
      out += "\n";
    }
    return out;
  }
  ModelTree seen(const std::optional<PathId>& transaction) {
    const TreeView view(state_, transaction);
    ModelTree tree;
    for (const NodePtr& node : view.subtree(view.find("tmp"), 100'000)) {
      ModelNode& made = tree[shown_path(*node)];
      made.id = node->id;
      made.directory = node->kind == NodeKind::kDirectory;
      if (!made.directory) made.value = *from_slice(node->record).as<std::int64_t>();
      for (const YsonPair& pair : user_attributes(*node)) {
        made.attributes[pair.key] = *pair.node.as<std::int64_t>();
      }
    }
    return tree;
  }
  void check_views() {
    EXPECT_EQ(text(seen(std::nullopt)), text(model_.view(std::nullopt)));
    for (const auto& [id, one] : model_.open) {
      ASSERT_EQ(text(seen(id)), text(model_.view(id))) << to_text(id);
    }
  }
  // What came out is what the model expects. True: it was done.
  bool expect(const Result<void>& done, bool valid, bool conflict, const std::string& what) {
    if (!valid || conflict) {
      EXPECT_FALSE(done) << what;
      if (!done && valid) {
        EXPECT_EQ(done.error().code, Errc::kLockConflict) << what << " " << done.error().message();
      }
      ++(conflict ? conflicts_ : refused_);
      return false;
    }
    EXPECT_TRUE(done) << what << ": " << (done ? "" : done.error().message());
    ++done_;
    return done.has_value();
  }

  void make() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    const ModelTree tree = model_.view(transaction);
    const auto parent = tree.find(parent_path(path));
    const bool valid = parent != tree.end() && parent->second.directory && !tree.contains(path);
    ModelNode node;
    node.directory = pick(2) == 0;
    node.value = static_cast<std::int64_t>(pick(1'000));
    Resources wanted;
    if (valid) wanted = {{parent->second.id, Resource::Kind::kChild, last_name(path)}};
    const bool conflict = valid && model_.conflict(transaction, wanted);
    const auto done = edit(transaction, [&](TreeEditor& editor) -> Result<void> {
      if (node.directory) {
        NodeToMake request;
        request.path = path;
        TRY_VOID(create_node(editor, request));
      } else {
        if (tree.contains(path)) return fail(Errc::kAlreadyExists, "");
        TRY_VOID(set_node(editor, path, YsonNode(node.value), {}));
      }
      return {};
    });
    if (!expect(done, valid, conflict, "make " + path)) return;
    node.id = TreeView(state_, transaction).find(path.substr(2))->id;
    model_.apply(transaction, wanted, [=](ModelTree& one) { one[path] = node; });
  }

  void set_value() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    const ModelTree tree = model_.view(transaction);
    const auto node = tree.find(path);
    if (node == tree.end() || node->second.directory) return;
    const Resources wanted = {{node->second.id, Resource::Kind::kNode, ""}};
    const auto value = static_cast<std::int64_t>(pick(1'000));
    const auto done = edit(transaction, [&](TreeEditor& editor) {
      return set_node(editor, path, YsonNode(value), {});
    });
    if (!expect(done, true, model_.conflict(transaction, wanted), "set " + path)) return;
    model_.apply(transaction, wanted, [=](ModelTree& one) { one.at(path).value = value; });
  }

  void set_attribute() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    const ModelTree tree = model_.view(transaction);
    const auto node = tree.find(path);
    if (node == tree.end()) return;
    const std::string name = pick(attributes_);
    const Resources wanted = {{node->second.id, Resource::Kind::kAttribute, name}};
    const bool removes = pick(3) == 0;
    const bool valid = !removes || node->second.attributes.contains(name);
    const auto value = static_cast<std::int64_t>(pick(1'000));
    const auto done = edit(transaction, [&](TreeEditor& editor) {
      const std::string whole = path + "/@" + name;
      return removes ? remove_node(editor, whole, {})
                     : set_node(editor, whole, YsonNode(value), {});
    });
    const bool conflict = model_.conflict(transaction, wanted);
    if (!expect(done, valid, conflict, "attribute of " + path)) return;
    model_.apply(transaction, wanted, [=](ModelTree& one) {
      if (removes) {
        one.at(path).attributes.erase(name);
      } else {
        one.at(path).attributes[name] = value;
      }
    });
  }

  // All nodes from `root` on, and its place in its directory.
  static Resources of_subtree(const ModelTree& tree, const std::string& root) {
    Resources wanted;
    for (const auto& [path, node] : tree) {
      if (below(path, root)) wanted.insert({node.id, Resource::Kind::kNode, ""});
    }
    wanted.insert({tree.at(parent_path(root)).id, Resource::Kind::kChild, last_name(root)});
    return wanted;
  }
  static void erase_subtree(ModelTree& tree, const std::string& root) {
    std::erase_if(tree, [&](const auto& one) { return below(one.first, root); });
  }

  void remove() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    const ModelTree tree = model_.view(transaction);
    const bool valid = tree.contains(path);
    const Resources wanted = valid ? of_subtree(tree, path) : Resources();
    const bool conflict = valid && model_.conflict(transaction, wanted);
    const auto done =
        edit(transaction, [&](TreeEditor& editor) { return remove_node(editor, path, {}); });
    if (!expect(done, valid, conflict, "remove " + path)) return;
    model_.apply(transaction, wanted, [=](ModelTree& one) { erase_subtree(one, path); });
  }

  void copy_or_move(bool move) {
    const auto transaction = some_transaction();
    const std::string from = some_path();
    const std::string to = some_path();
    const ModelTree tree = model_.view(transaction);
    const auto parent = tree.find(parent_path(to));
    std::size_t names = 0;
    for (const auto& [path, node] : tree) {
      if (below(path, from)) names = std::max(names, path.size() - from.size());
    }
    const bool valid = tree.contains(from) && parent != tree.end() && parent->second.directory &&
                       !tree.contains(to) && !below(to, from);
    Resources wanted;
    if (valid) {
      if (move) wanted = of_subtree(tree, from);
      wanted.insert({parent->second.id, Resource::Kind::kChild, last_name(to)});
    }
    const bool conflict = valid && model_.conflict(transaction, wanted);
    client::TreeCopy options;
    options.move = move;
    const auto done = edit(transaction, [&](TreeEditor& editor) -> Result<void> {
      TRY_VOID(copy_node(editor, from, to, options));
      return {};
    });
    if (!expect(done, valid, conflict, fmt::format("from {} to {}", from, to))) return;
    ModelTree made;
    const ModelTree now = seen(transaction);
    for (const auto& [path, node] : tree) {
      if (!below(path, from)) continue;
      const std::string there = to + path.substr(from.size());
      made[there] = node;
      ASSERT_TRUE(now.contains(there)) << there;
      made[there].id = now.at(there).id;
    }
    model_.apply(transaction, wanted, [=](ModelTree& one) {
      if (move) erase_subtree(one, from);
      one.insert(made.begin(), made.end());
    });
  }

  void begin() {
    if (model_.open.size() >= 5) return;
    const auto parent = some_transaction();
    if (parent && model_.chain(parent).size() >= 3) return;
    TransactionPtr made;
    const auto done = edit(std::nullopt, [&](TreeEditor& editor) -> Result<void> {
      TreeTransaction transaction;
      transaction.parent = parent;
      transaction.timeout_ms = 1'000;
      TRY(made, editor.begin(std::move(transaction)));
      return {};
    });
    ASSERT_TRUE(done) << done.error().message();
    model_.open[made->id].parent = parent;
  }

  void end() {
    const auto transaction = some_transaction();
    if (!transaction) return;
    const bool commits = pick(3) != 0;
    const auto done = edit(std::nullopt, [&](TreeEditor& editor) -> Result<void> {
      if (commits) return editor.commit(*transaction);
      editor.abort(*transaction);
      return {};
    });
    ASSERT_TRUE(done) << done.error().message();
    if (commits) {
      model_.commit(*transaction);
    } else {
      model_.abort(*transaction);
    }
    EXPECT_EQ(state_.transactions().size(), model_.open.size());
  }

  // A snapshot of a value, or a lock for itself.
  void lock() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    if (!transaction) return;
    const ModelTree tree = model_.view(transaction);
    const auto node = tree.find(path);
    if (node == tree.end() || node->second.directory) return;
    const bool snapshot = pick(2) == 0;
    ModelTransaction& own = model_.open.at(*transaction);
    bool conflict = false;
    const Resources wanted = {{node->second.id, Resource::Kind::kNode, ""}};
    if (snapshot) {
      // Nodes that the transaction has changed or made, and those of its nested ones, stay theirs.
      const bool theirs = std::ranges::any_of(
          own.held, [&](const Resource& held) { return held.node == node->second.id; });
      const EntryPtr entry = state_.entry(*transaction, path.substr(2));
      if (theirs || (entry && entry->made)) return;
    } else {
      conflict = model_.conflict(transaction, wanted);
    }
    const auto done = edit(transaction, [&](TreeEditor& editor) -> Result<void> {
      LockRequest request;
      request.mode = snapshot ? LockMode::kSnapshot : LockMode::kExclusive;
      TRY_VOID(editor.lock(editor.view().find(path.substr(2)), request, false));
      return {};
    });
    if (!expect(done, true, conflict, "lock " + path)) return;
    if (snapshot) {
      own.snapshots.try_emplace(node->second.id, node->second);
    } else {
      own.held.insert(wanted.begin(), wanted.end());
    }
  }

  void step() {
    switch (pick(12)) {
      case 0: return begin();
      case 1: return end();
      case 2: return remove();
      case 3: return copy_or_move(true);
      case 4: return copy_or_move(false);
      case 5: return lock();
      case 6:
      case 7: return set_attribute();
      case 8:
      case 9: return set_value();
      default: return make();
    }
  }

  const std::vector<std::string> names_ = {"a", "b", "b-c", "d"};
  const std::vector<std::string> attributes_ = {"x", "y"};
  SeededRandom random_;
  SeededRandom ids_;
  TreeState state_;
  std::map<std::string, Slice> items_;
  TreeModel model_;
  std::uint64_t now_ms_ = 1'000'000;
  std::size_t done_ = 0;
  std::size_t refused_ = 0;
  std::size_t conflicts_ = 0;
};

TEST_P(TreeModelTest, RandomChangesGiveWhatTheModelSays) {
  for (std::size_t i = 0; i < 2'000 && !HasFailure(); ++i) {
    step();
    check_views();
    if (pick(20) == 0) restart();
  }
  restart();
  check_views();
  EXPECT_GT(done_, 100u);
  EXPECT_GT(refused_, 100u);
  EXPECT_GT(conflicts_, 2u);
  // Nothing stays of transactions that are over.
  while (!model_.open.empty()) {
    const PathId id = model_.open.begin()->first;
    ASSERT_TRUE(edit(std::nullopt, [&](TreeEditor& editor) { return editor.commit(id); }));
    model_.commit(id);
  }
  check_views();
  EXPECT_TRUE(state_.locks().empty());
  EXPECT_TRUE(state_.entries().empty());
  for (const auto& [key, value] : items_) EXPECT_TRUE(key.starts_with("node/")) << key;
}

INSTANTIATE_TEST_SUITE_P(Seeds, TreeModelTest, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace moraine
