// PathTree: the nodes by their paths, in memory.
//
// Promise    Pure. The parent of every node is a directory of the tree or the root, which is the
//            empty path and no node.
// Limits     kNodesMax.
// Tests      path_tree_test.cpp.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scheme/path_node.h"

namespace moraine {

inline constexpr std::size_t kNodesMax = 1'000'000;

class PathTree {
 public:
  // Null when there is none.
  NodePtr find(std::string_view path) const;
  // The children of a directory, by path. kNotFound; kInvalidArgument: no directory.
  Result<std::vector<NodePtr>> list(std::string_view directory) const;
  std::vector<NodePtr> all(NodeKind kind) const;
  std::size_t size() const { return nodes_.size(); }

  // The directories that have to be created first, outermost first, for a node at `path`.
  // kAlreadyExists; kNotFound: without `parents`, a missing one; kInvalidArgument: a bad path, or a
  // parent that is no directory; kOverloaded: too many nodes.
  Result<std::vector<std::string>> missing_parents(std::string_view path, bool parents) const;
  // kNotFound; kConflict: a directory that is not empty.
  Result<NodePtr> removable(std::string_view path) const;

  // Adds or replaces. kCorrupt: its parent is no directory of the tree.
  Result<void> set(NodePtr node);
  void erase(std::string_view path);

 private:
  std::map<std::string, NodePtr, std::less<>> nodes_;
};

}  // namespace moraine
