// TreeView: the tree as a transaction sees it, or as it is outside of transactions; and how paths
// of clients lead to nodes.
//
// Promise    Pure. A transaction sees its own changes over those of its ancestors over what is
//            committed; nodes that it or an ancestor has snapshots of, as they were.
// Limits     kLinkDepthMax links on the way to a node.
// Errors     kNotFound: no such node; kNoTransaction; kInvalidArgument: links lead in a circle.
// Tests      node/tree_model_test.cpp, node/tree_transactions_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheme/tree_path.h"
#include "scheme/tree_state.h"

namespace moraine {

inline constexpr std::size_t kLinkDepthMax = 32;

class TreeView {
 public:
  // The state does not change while the view is used, but through this view's own editor.
  explicit TreeView(const TreeState& state, std::optional<PathId> transaction = std::nullopt);

  const TreeState& state() const { return state_; }
  const std::optional<PathId>& transaction() const { return transaction_; }
  // The transaction and its ancestors, innermost first.
  const std::vector<PathId>& chain() const { return chain_; }
  bool in_chain(const PathId& transaction) const;

  // Null: there is none. Of a table that a transaction has made, the record is elsewhere
  // (stored_path()).
  NodePtr find(const std::string& path) const;
  // Of a directory, in the order of their names.
  std::vector<NodePtr> children(const PathNode& directory) const;
  bool has_children(const PathNode& directory) const { return !children(directory).empty(); }
  // The node and all below it, parents first. Ends after `most` nodes.
  std::vector<NodePtr> subtree(const NodePtr& root, std::size_t most) const;
  NodePtr find(const PathId& id) const;
  // Of a table of which the transaction or an ancestor has a snapshot: its rows_before. Otherwise
  // 0.
  std::uint64_t rows_before(const PathNode& node) const;
  // The path in the scheme of the node's record: its own, or that of its hidden node.
  std::string stored_path(const PathNode& node) const;

 private:
  NodePtr find_unfrozen(const std::string& path) const;
  NodePtr frozen(NodePtr node) const;
  SnapshotPtr snapshot(const PathId& node) const;
  bool touched(const std::string& path) const;

  const TreeState& state_;
  const std::optional<PathId> transaction_;
  std::vector<PathId> chain_;
};

// `node` with the changes of an entry of kind kChanged.
NodePtr with_changes(const PathNode& node, const TreeEntry& entry);

// Where a path leads.
struct TreePlace {
  NodePtr node;     // The last node that is there.
  TreeTokens rest;  // What follows it: names that are not there, keys of its value, attributes.
  bool no_link = false;  // The node is a link that was asked for itself.

  bool exact() const { return rest.empty(); }
  // All that follows are names of nodes that could be made.
  bool missing_nodes() const;
};
// `follow_last`: a path that ends at a link leads to its target.
Result<TreePlace> find_place(const TreeView& view, const TreePath& path, bool follow_last = true);
// kNotFound with the message of YTsaurus when `place` does not lead to a node itself.
std::unexpected<Error> no_node(const TreePlace& place);

// "//tmp/a".
std::string shown_path(const PathNode& node);
std::string child_path(std::string_view directory, std::string_view scheme_name);
// The last name of the path, as clients see it.
std::string key_of(const PathNode& node);

}  // namespace moraine
