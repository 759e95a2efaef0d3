#include "scheme/path_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "scheme/path.h"

namespace moraine {

NodePtr PathTree::find(std::string_view path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : found->second;
}

Result<std::vector<NodePtr>> PathTree::list(std::string_view directory) const {
  std::string prefix;
  if (!directory.empty()) {
    const NodePtr node = find(directory);
    if (!node) return fail(Errc::kNotFound, fmt::format("no node '/{}'", directory));
    if (node->kind != NodeKind::kDirectory) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'/{}' is a {}", directory, to_string(node->kind)));
    }
    prefix = fmt::format("{}/", directory);
  }
  std::vector<NodePtr> found;
  // Hidden nodes are before all names.
  auto at = nodes_.lower_bound(directory.empty() ? std::string("$") : prefix);
  while (at != nodes_.end() && at->first.starts_with(prefix)) {
    const std::size_t slash = at->first.find('/', prefix.size());
    if (slash == std::string::npos) {
      found.push_back(at->second);
      ++at;
      continue;
    }
    // Past everything below that child: '0' follows '/'.
    at = nodes_.lower_bound(at->first.substr(0, slash) + '0');
  }
  return found;
}

std::vector<NodePtr> PathTree::all(NodeKind kind) const {
  std::vector<NodePtr> found;
  for (const auto& [path, node] : nodes_) {
    if (node->kind == kind) found.push_back(node);
  }
  return found;
}

Result<std::vector<std::string>> PathTree::missing_parents(std::string_view path,
                                                           bool parents) const {
  TRY_VOID(check_path(path));
  if (const NodePtr node = find(path)) {
    return fail(Errc::kAlreadyExists, fmt::format("'/{}' is a {}", path, to_string(node->kind)));
  }
  std::vector<std::string> missing;
  for (std::string_view at = parent_of(path); !at.empty(); at = parent_of(at)) {
    const NodePtr node = find(at);
    if (node && node->kind != NodeKind::kDirectory) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'/{}' is a {}, not a directory", at, to_string(node->kind)));
    }
    if (node) break;
    if (!parents) return fail(Errc::kNotFound, fmt::format("no directory '/{}'", at));
    missing.emplace_back(at);
  }
  std::ranges::reverse(missing);
  if (nodes_.size() + missing.size() + 1 > kNodesMax) {
    return fail(Errc::kOverloaded, fmt::format("the tree has {} nodes already", nodes_.size()));
  }
  return missing;
}

Result<NodePtr> PathTree::removable(std::string_view path) const {
  NodePtr node = find(path);
  if (!node) return fail(Errc::kNotFound, fmt::format("no node '/{}'", path));
  const std::string prefix = fmt::format("{}/", path);
  const auto below = nodes_.lower_bound(prefix);
  if (below != nodes_.end() && below->first.starts_with(prefix)) {
    return fail(Errc::kConflict, fmt::format("directory '/{}' is not empty", path));
  }
  return node;
}

Result<void> PathTree::set(NodePtr node) {
  const std::string_view parent = parent_of(node->path);
  if (!parent.empty()) {
    const NodePtr directory = find(parent);
    if (!directory || directory->kind != NodeKind::kDirectory) {
      return fail(Errc::kCorrupt, fmt::format("'{}' is in no directory", node->path));
    }
  }
  const std::string path = node->path;
  nodes_[path] = std::move(node);
  return {};
}

void PathTree::erase(std::string_view path) {
  const auto found = nodes_.find(path);
  if (found != nodes_.end()) nodes_.erase(found);
}

}  // namespace moraine
