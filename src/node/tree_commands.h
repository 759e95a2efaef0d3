// Changes of the tree that clients ask for, as steps of an editor.
//
// Promise    Pure; semantics and messages are those of YTsaurus. After an error the editor's change
//            is to be given up.
// Errors     As client/tree.h.
// Tests      stored_tree_test.cpp, tree_model_test.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/tree.h"
#include "scheme/tree_editor.h"

namespace moraine {

// A table that `create` is to make.
struct TableToMake {
  std::uint32_t tablets = 0;
  TableRecordOf record;
};

// `user` and `system` of the request are the attributes of the new node; `value` that of a document
// or scalar, or the target of a link.
struct NodeToMake {
  NodeKind kind = NodeKind::kDirectory;
  std::string path;
  YsonMap attributes;  // The user's and those of tree_attributes().
  std::optional<YsonNode> value;
  TableToMake table;
  bool recursive = false;
  bool ignore_existing = false;
  bool lock_existing = false;
  bool force = false;
  bool ignore_type_mismatch = false;
};

// The node, new or known.
Result<NodePtr> create_node(TreeEditor& editor, const NodeToMake& request);
// The known node that create_node() would return without making one; nullptr: it would make one.
Result<NodePtr> known_node(const TreeView& view, const NodeToMake& request);
Result<void> set_node(TreeEditor& editor, const std::string& path, YsonNode value,
                      const client::TreeSet& options);
Result<void> set_node_attributes(TreeEditor& editor, const std::string& path,
                                 const YsonMap& values);
Result<void> remove_node(TreeEditor& editor, const std::string& path,
                         const client::TreeRemove& options);
// The tables of a subtree that is copied, or moved in a transaction.
struct CopiedTables {
  bool allowed = false;  // False: they are only listed, and the copy fails with kAborted.
  std::vector<std::string> found{};  // Their paths in the scheme.
  std::vector<PathId> made{};        // Copies, and their sources.
};
Result<NodePtr> copy_node(TreeEditor& editor, const std::string& source,
                          const std::string& destination, const client::TreeCopy& options,
                          CopiedTables& tables);
Result<NodePtr> link_node(TreeEditor& editor, const std::string& target, const std::string& path,
                          const client::TreeLink& options);

// Whether clients may set it on a node: not one of tree_attributes() that has a meaning of its own.
Result<void> set_one_attribute(TreeEditor& editor, const NodePtr& node, const std::string& name,
                               const YsonNode& value);

// The path of an attribute: what follows the node is "/@", its name and a path in its value.
struct AttributePath {
  NodePtr node;
  std::string name;  // Empty: all attributes.
  TreeTokens rest;
};
// nullopt: the path leads to no attribute of a node.
std::optional<AttributePath> attribute_of(const TreePlace& place);

}  // namespace moraine
