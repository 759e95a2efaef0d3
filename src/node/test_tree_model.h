// TreeModel: what a tree of map nodes and numbers with attributes has to look like, outside of
// transactions and in each of them, and which changes locks forbid. For tests and the simulator.
//
//   plan  ->  do it with the real tree  ->  apply, if it was done
//
// Promise    Plain: a map of nodes, and for each transaction the list of what it has done. Which
//            changes are refused is predicted from what each transaction has touched.
// Limits     Small trees: every view is built from the start.
// Tests      tree_model_test.cpp compares TreeEditor with it, sim/node/ a whole node.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheme/path_node.h"

namespace moraine {

struct ModelNode {
  std::uint64_t id = 0;  // The model's own.
  bool directory = false;
  std::int64_t value = 0;
  std::map<std::string, std::int64_t> attributes;
};
using ModelTree = std::map<std::string, ModelNode>;  // By path: "//tmp/a".

// As "//tmp/a={} x=1".
inline std::string to_text(const ModelTree& tree) {
  std::string out;
  for (const auto& [path, node] : tree) {
    out += node.directory ? path + "={}" : fmt::format("{}={}", path, node.value);
    for (const auto& [name, value] : node.attributes) out += fmt::format(" {}={}", name, value);
    out += "\n";
  }
  return out;
}

class TreeModel {
 public:
  using Transaction = std::optional<PathId>;

  // What a change needs for itself.
  struct Resource {
    enum class Kind { kNode, kChild, kAttribute };
    std::uint64_t node = 0;
    Kind kind = Kind::kNode;
    std::string key;
    auto operator<=>(const Resource&) const = default;

    bool conflicts(const Resource& other) const {
      if (node != other.node) return false;
      return kind == Kind::kNode || other.kind == Kind::kNode || *this == other;
    }
  };
  using Resources = std::set<Resource>;

  // A change, and how it has to end.
  struct Plan {
    Transaction transaction;
    bool valid = false;
    bool conflict = false;  // Locks forbid it.
    Resources wanted;
    std::function<void(ModelTree&)> change;
    std::string what;

    bool allowed() const { return valid && !conflict; }
  };

  struct Open {
    Transaction parent;
    std::vector<std::function<void(ModelTree&)>> done;
    Resources held;
    std::map<std::uint64_t, ModelNode> snapshots;
  };

  // A tree of one directory.
  explicit TreeModel(const std::string& root) {
    tree_[root].directory = true;
    tree_[root].id = ++ids_;
  }

  // Changed by begin(), commit() and abort() only.
  const std::map<PathId, Open>& open() const { return open_; }
  std::vector<PathId> chain(Transaction transaction) const {
    std::vector<PathId> all;
    while (transaction) {
      all.push_back(*transaction);
      transaction = open_.at(*transaction).parent;
    }
    return all;
  }
  ModelTree view(Transaction transaction) const {
    ModelTree seen = tree_;
    const auto all = chain(transaction);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      for (const auto& change : open_.at(*at).done) change(seen);
    }
    for (auto& [path, node] : seen) {
      for (const PathId& one : all) {
        const auto kept = open_.at(one).snapshots.find(node.id);
        if (kept == open_.at(one).snapshots.end()) continue;
        node = kept->second;
        break;
      }
    }
    return seen;
  }

  Plan make(Transaction transaction, const std::string& path, bool directory, std::int64_t value) {
    const ModelTree tree = view(transaction);
    const auto parent = tree.find(parent_path(path));
    Plan plan = plan_of(transaction, fmt::format("make {} = {}", path, directory ? -1 : value));
    plan.valid = parent != tree.end() && parent->second.directory && !tree.contains(path);
    if (!plan.valid) return plan;
    ModelNode node;
    node.id = ++ids_;
    node.directory = directory;
    node.value = value;
    plan.wanted = {{parent->second.id, Resource::Kind::kChild, last_name(path)}};
    plan.change = [=](ModelTree& one) { one[path] = node; };
    return checked(std::move(plan));
  }

  // Requires: there is a number at the path.
  Plan set_value(Transaction transaction, const std::string& path, std::int64_t value) {
    Plan plan = plan_of(transaction, fmt::format("set {} = {}", path, value));
    plan.valid = true;
    plan.wanted = {{view(transaction).at(path).id, Resource::Kind::kNode, ""}};
    plan.change = [=](ModelTree& one) { one.at(path).value = value; };
    return checked(std::move(plan));
  }

  // nullopt: it is removed. Requires: there is a node at the path.
  Plan set_attribute(Transaction transaction, const std::string& path, const std::string& name,
                     std::optional<std::int64_t> value) {
    const ModelNode node = view(transaction).at(path);
    Plan plan = plan_of(transaction, fmt::format("attribute {} of {}", name, path));
    plan.valid = value || node.attributes.contains(name);
    plan.wanted = {{node.id, Resource::Kind::kAttribute, name}};
    plan.change = [=](ModelTree& one) {
      if (value) {
        one.at(path).attributes[name] = *value;
      } else {
        one.at(path).attributes.erase(name);
      }
    };
    return checked(std::move(plan));
  }

  Plan remove(Transaction transaction, const std::string& path) {
    const ModelTree tree = view(transaction);
    Plan plan = plan_of(transaction, "remove " + path);
    plan.valid = tree.contains(path);
    if (!plan.valid) return plan;
    plan.wanted = of_subtree(tree, path);
    plan.change = [=](ModelTree& one) { erase_subtree(one, path); };
    return checked(std::move(plan));
  }

  // Nodes that are copied are new ones, as are those that a transaction moves.
  Plan copy(Transaction transaction, const std::string& from, const std::string& to, bool moves) {
    const ModelTree tree = view(transaction);
    const auto parent = tree.find(parent_path(to));
    Plan plan = plan_of(transaction, fmt::format("{} {} to {}", moves ? "move" : "copy", from, to));
    plan.valid = tree.contains(from) && parent != tree.end() && parent->second.directory &&
                 !tree.contains(to) && !below(to, from);
    if (!plan.valid) return plan;
    if (moves) plan.wanted = of_subtree(tree, from);
    plan.wanted.insert({parent->second.id, Resource::Kind::kChild, last_name(to)});
    ModelTree made;
    for (const auto& [path, node] : tree) {
      if (!below(path, from)) continue;
      ModelNode& there = made[to + path.substr(from.size())];
      there = node;
      if (!moves || transaction) there.id = ++ids_;
    }
    plan.change = [=](ModelTree& one) {
      if (moves) erase_subtree(one, from);
      one.insert(made.begin(), made.end());
    };
    return checked(std::move(plan));
  }

  // An exclusive lock. Requires: a transaction, and a node at the path.
  Plan lock(const PathId& transaction, const std::string& path) {
    Plan plan = plan_of(transaction, "lock " + path);
    plan.valid = true;
    plan.wanted = {{view(transaction).at(path).id, Resource::Kind::kNode, ""}};
    return checked(std::move(plan));
  }
  // Whether the transaction may take a snapshot lock of the node: it, and its nested ones, have not
  // changed it or made it.
  bool snapshot_allowed(const PathId& transaction, const std::string& path) const {
    const std::uint64_t id = view(transaction).at(path).id;
    const Open& own = open_.at(transaction);
    const bool theirs =
        std::ranges::any_of(own.held, [&](const Resource& held) { return held.node == id; });
    return !theirs && !made_in(transaction, path);
  }
  void snapshot(const PathId& transaction, const std::string& path) {
    const ModelNode node = view(transaction).at(path);
    open_.at(transaction).snapshots.try_emplace(node.id, node);
  }

  // The change was made.
  void apply(const Plan& plan) { apply(plan.transaction, plan.wanted, plan.change); }
  void begin(const PathId& transaction, Transaction parent) { open_[transaction].parent = parent; }
  void abort(const PathId& transaction) {
    for (const PathId& id : nested(transaction)) abort(id);
    open_.erase(transaction);
  }
  void commit(const PathId& transaction) {
    for (const PathId& id : nested(transaction)) abort(id);
    const Open ended = open_.at(transaction);
    open_.erase(transaction);
    for (const auto& change : ended.done) apply(ended.parent, {}, change);
    if (ended.parent) open_.at(*ended.parent).held.insert(ended.held.begin(), ended.held.end());
  }

 private:
  static bool below(const std::string& path, const std::string& root) {
    return path == root || path.starts_with(root + "/");
  }
  static std::string parent_path(const std::string& path) {
    return path.substr(0, path.rfind('/'));
  }
  static std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
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

  static Plan plan_of(const Transaction& transaction, std::string what) {
    Plan plan;
    plan.transaction = transaction;
    plan.what = std::move(what);
    return plan;
  }
  Plan checked(Plan plan) const {
    plan.conflict = conflict(plan.transaction, plan.wanted);
    return plan;
  }
  // Whether locks of others, or its own snapshots, forbid it.
  bool conflict(const Transaction& transaction, const Resources& wanted) const {
    const auto own = chain(transaction);
    for (const Resource& one : wanted) {
      if (transaction && open_.at(*transaction).snapshots.contains(one.node)) return true;
      for (const auto& [id, other] : open_) {
        if (std::ranges::find(own, id) != own.end()) continue;
        for (const Resource& held : other.held) {
          if (held.conflicts(one)) return true;
        }
      }
    }
    return false;
  }
  // Whether the node at the path is one that the transaction itself has made.
  bool made_in(const PathId& transaction, const std::string& path) const {
    const std::uint64_t id = view(transaction).at(path).id;
    const ModelTree before = view(open_.at(transaction).parent);
    return std::ranges::none_of(before, [&](const auto& one) { return one.second.id == id; });
  }
  std::vector<PathId> nested(const PathId& transaction) const {
    std::vector<PathId> all;
    for (const auto& [id, one] : open_) {
      if (one.parent == transaction) all.push_back(id);
    }
    return all;
  }
  void apply(const Transaction& transaction, const Resources& taken,
             const std::function<void(ModelTree&)>& change) {
    if (!transaction) {
      if (change) change(tree_);
      return;
    }
    Open& own = open_.at(*transaction);
    if (change) own.done.push_back(change);
    own.held.insert(taken.begin(), taken.end());
  }

  std::uint64_t ids_ = 0;
  ModelTree tree_;
  std::map<PathId, Open> open_;
};

}  // namespace moraine
