// Random changes of the tree, in and outside of transactions that are nested up to three deep,
// against a plain model (test_tree_model.h). The state is read again from its stored items now and
// then, as after a restart.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "node/test_tree_model.h"
#include "node/tree_attributes.h"
#include "node/tree_commands.h"
#include "scheme/object_id.h"
#include "scheme/tree_store.h"
#include "yson/yson.h"

namespace moraine {
namespace {

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
    for (const auto& [id, one] : model_.open()) all.emplace_back(id);
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

  ModelTree seen(const std::optional<PathId>& transaction) {
    const TreeView view(state_, transaction);
    ModelTree tree;
    for (const NodePtr& node : view.subtree(view.find("tmp"), 100'000)) {
      ModelNode& made = tree[shown_path(*node)];
      made.directory = node->kind == NodeKind::kDirectory;
      if (!made.directory) made.value = *from_slice(node->record).as<std::int64_t>();
      for (const YsonPair& pair : user_attributes(*node)) {
        made.attributes[pair.key] = *pair.node.as<std::int64_t>();
      }
    }
    return tree;
  }
  void check_views() {
    EXPECT_EQ(to_text(seen(std::nullopt)), to_text(model_.view(std::nullopt)));
    for (const auto& [id, one] : model_.open()) {
      ASSERT_EQ(to_text(seen(id)), to_text(model_.view(id))) << to_text(id);
    }
  }
  // Does what is planned, and checks that it ends as the model expects.
  void carry_out(const TreeModel::Plan& plan,
                 const std::function<Result<void>(TreeEditor&)>& body) {
    const auto done = edit(plan.transaction, body);
    if (plan.allowed()) {
      ASSERT_TRUE(done) << plan.what << ": " << done.error().message();
      ++done_;
      model_.apply(plan);
      return;
    }
    ASSERT_FALSE(done) << plan.what;
    if (plan.valid) {
      EXPECT_EQ(done.error().code, Errc::kLockConflict) << plan.what << done.error().message();
    }
    ++(plan.conflict ? conflicts_ : refused_);
  }

  void make() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    const bool directory = pick(2) == 0;
    const auto value = static_cast<std::int64_t>(pick(1'000));
    const bool there = model_.view(transaction).contains(path);
    carry_out(model_.make(transaction, path, directory, value),
              [&](TreeEditor& editor) -> Result<void> {
                if (directory) {
                  NodeToMake request;
                  request.path = path;
                  TRY_VOID(create_node(editor, request));
                  return {};
                }
                if (there) return fail(Errc::kAlreadyExists, "");
                return set_node(editor, path, YsonNode(value), {});
              });
  }

  void set_value() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    const ModelTree tree = model_.view(transaction);
    const auto node = tree.find(path);
    if (node == tree.end() || node->second.directory) return;
    const auto value = static_cast<std::int64_t>(pick(1'000));
    carry_out(model_.set_value(transaction, path, value),
              [&](TreeEditor& editor) { return set_node(editor, path, YsonNode(value), {}); });
  }

  void set_attribute() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    if (!model_.view(transaction).contains(path)) return;
    const std::string name = pick(attributes_);
    std::optional<std::int64_t> value = static_cast<std::int64_t>(pick(1'000));
    if (pick(3) == 0) value = std::nullopt;
    carry_out(model_.set_attribute(transaction, path, name, value), [&](TreeEditor& editor) {
      const std::string whole = path + "/@" + name;
      return value ? set_node(editor, whole, YsonNode(*value), {}) : remove_node(editor, whole, {});
    });
  }

  void remove() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    carry_out(model_.remove(transaction, path),
              [&](TreeEditor& editor) { return remove_node(editor, path, {}); });
  }

  void copy_or_move(bool move) {
    const auto transaction = some_transaction();
    const std::string from = some_path();
    const std::string to = some_path();
    client::TreeCopy options;
    options.move = move;
    carry_out(model_.copy(transaction, from, to, move), [&](TreeEditor& editor) -> Result<void> {
      CopiedTables tables;
      TRY_VOID(copy_node(editor, from, to, options, tables));
      return {};
    });
  }

  void begin() {
    if (model_.open().size() >= 5) return;
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
    model_.begin(made->id, parent);
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
    EXPECT_EQ(state_.transactions().size(), model_.open().size());
  }

  // A snapshot of a value, or a lock for itself.
  void lock() {
    const auto transaction = some_transaction();
    const std::string path = some_path();
    if (!transaction) return;
    const ModelTree tree = model_.view(transaction);
    const auto node = tree.find(path);
    if (node == tree.end() || node->second.directory) return;
    const auto take = [&](LockMode mode) {
      return [&, mode](TreeEditor& editor) -> Result<void> {
        TRY_VOID(editor.lock(editor.view().find(path.substr(2)), {mode, {}, {}}, false));
        return {};
      };
    };
    if (pick(2) == 0) return carry_out(model_.lock(*transaction, path), take(LockMode::kExclusive));
    // Nodes that the transaction has changed or made, and those of its nested ones, stay theirs.
    if (!model_.snapshot_allowed(*transaction, path)) return;
    const auto done = edit(transaction, take(LockMode::kSnapshot));
    ASSERT_TRUE(done) << path << ": " << done.error().message();
    model_.snapshot(*transaction, path);
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
  TreeModel model_{"//tmp"};
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
  while (!model_.open().empty()) {
    const PathId id = model_.open().begin()->first;
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
