#include "scheme/tree_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "scheme/object_id.h"
#include "scheme/path.h"
#include "scheme/tree_bug.h"

namespace moraine {
namespace {

using Kind = TreeToken::Kind;

void apply_changes(UserAttributes& attributes, const AttributeChanges& changes) {
  for (const auto& [name, value] : changes) {
    if (value) {
      attributes.insert_or_assign(name, *value);
    } else {
      attributes.erase(name);
    }
  }
}

// The first name of `path` below `prefix`.
std::string_view name_below(std::string_view path, std::string_view prefix) {
  path.remove_prefix(prefix.size());
  return path.substr(0, path.find('/'));
}

}  // namespace

NodePtr with_changes(const PathNode& node, const TreeEntry& entry) {
  auto changed = std::make_shared<PathNode>(node);
  if (entry.record) changed->record = *entry.record;
  apply_changes(changed->attributes, entry.attributes);
  apply_changes(changed->system, entry.system);
  changed->modified_ms = std::max(changed->modified_ms, entry.modified_ms);
  changed->revision = std::max(changed->revision, entry.revision);
  return changed;
}

TreeView::TreeView(const TreeState& state, std::optional<PathId> transaction)
    : state_(state), transaction_(std::move(transaction)) {
  auto at = transaction_;
  while (at) {
    chain_.push_back(*at);
    const TransactionPtr known = state_.transaction(*at);
    at = known ? known->parent : std::nullopt;
  }
}

bool TreeView::in_chain(const PathId& transaction) const {
  return std::ranges::find(chain_, transaction) != chain_.end();
}

NodePtr TreeView::find_unfrozen(const std::string& path) const {
  std::vector<EntryPtr> changes;
  NodePtr base;
  bool hidden = false;
  for (const PathId& layer : chain_) {
    const EntryPtr entry = state_.entry(layer, path);
    if (entry && entry->kind == TreeEntry::Kind::kRemoved) return nullptr;
    if (entry && entry->kind == TreeEntry::Kind::kMade) {
      base = entry->made;
      break;
    }
    if (entry) changes.push_back(entry);
    for (std::string_view at = parent_of(path); !at.empty() && !hidden; at = parent_of(at)) {
      const EntryPtr above = state_.entry(layer, std::string(at));
      hidden = above && above->kind != TreeEntry::Kind::kChanged;
    }
    if (hidden) return nullptr;
  }
  if (!base) base = state_.find(path);
  if (!base) return nullptr;
  for (auto at = changes.rbegin(); at != changes.rend(); ++at) base = with_changes(*base, **at);
  return base;
}

SnapshotPtr TreeView::snapshot(const PathId& node) const {
  for (const PathId& layer : chain_) {
    if (const SnapshotPtr found = state_.snapshot(layer, node)) return found;
  }
  return nullptr;
}

std::uint64_t TreeView::rows_before(const PathNode& node) const {
  const SnapshotPtr found = snapshot(node.id);
  return found ? found->rows_before : 0;
}

NodePtr TreeView::frozen(NodePtr node) const {
  if (!node || chain_.empty() || has_bug(TreeBug::kSnapshotSeesChanges)) return node;
  const SnapshotPtr found = snapshot(node->id);
  if (!found) return node;
  auto copy = std::make_shared<PathNode>(*found->node);
  copy->path = node->path;
  return copy;
}

NodePtr TreeView::find(const std::string& path) const {
  return chain_.empty() ? state_.find(path) : frozen(find_unfrozen(path));
}

// Whether a transaction of the chain has changed the node at the path.
bool TreeView::touched(const std::string& path) const {
  return std::ranges::any_of(
      chain_, [&](const PathId& layer) { return state_.entry(layer, path) != nullptr; });
}

std::vector<NodePtr> TreeView::children(const PathNode& directory) const {
  if (chain_.empty()) return state_.children(directory.path);
  if (const SnapshotPtr found = snapshot(directory.id)) {
    std::vector<NodePtr> kept;
    for (const auto& [name, id] : found->children) {
      if (const NodePtr child = find(id)) kept.push_back(child);
    }
    return kept;
  }
  const std::string prefix = directory.path.empty() ? "" : directory.path + "/";
  std::set<std::string, std::less<>> names;
  bool hidden = false;
  for (const PathId& layer : chain_) {
    const auto& entries = state_.entries();
    auto at = entries.lower_bound({layer, prefix});
    while (at != entries.end() && at->first.first == layer &&
           at->first.second.starts_with(prefix)) {
      const std::string name(name_below(at->first.second, prefix));
      const bool deeper = at->first.second.size() > prefix.size() + name.size();
      names.insert(name);
      // Past everything below that child: '0' follows '/'.
      at = deeper ? entries.lower_bound({layer, prefix + name + '0'}) : std::next(at);
    }
    const EntryPtr own = state_.entry(layer, directory.path);
    hidden = own && own->kind == TreeEntry::Kind::kMade;
    if (hidden) break;
  }
  std::vector<NodePtr> found;
  if (!hidden) {
    for (NodePtr& child : state_.children(directory.path)) {
      if (touched(child->path)) {
        names.emplace(name_below(child->path, prefix));
      } else {
        found.push_back(frozen(std::move(child)));
        names.erase(std::string(name_below(found.back()->path, prefix)));
      }
    }
  }
  for (const std::string& name : names) {
    if (NodePtr child = find(prefix + name)) found.push_back(std::move(child));
  }
  std::ranges::sort(found, {},
                    [](const NodePtr& node) -> const std::string& { return node->path; });
  return found;
}

std::vector<NodePtr> TreeView::subtree(const NodePtr& root, std::size_t most) const {
  std::vector<NodePtr> all = {root};
  for (std::size_t i = 0; i < all.size() && all.size() <= most; ++i) {
    if (all[i]->kind != NodeKind::kDirectory) continue;
    const std::vector<NodePtr> below = children(*all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

NodePtr TreeView::find(const PathId& id) const {
  const auto place = state_.place_of(id);
  if (place && !is_hidden(place->path) && (!place->transaction || in_chain(*place->transaction))) {
    const NodePtr node = find(place->path);
    if (node && node->id == id) return node;
  }
  const SnapshotPtr kept = snapshot(id);
  return kept ? kept->node : nullptr;
}

std::string TreeView::stored_path(const PathNode& node) const {
  std::string hidden = hidden_path(node.id);
  return state_.nodes().find(hidden) ? hidden : node.path;
}

bool TreePlace::missing_nodes() const {
  return std::ranges::all_of(rest,
                             [](const TreeToken& token) { return token.kind == Kind::kName; });
}

namespace {

struct Walk {
  const TreeView& view;
  bool follow_last;
  std::size_t links = 0;
};

Result<TreePlace> walk(Walk& state, const TreePath& path, bool follow_last);

// The node that a link leads to.
Result<NodePtr> follow(Walk& state, const PathNode& link) {
  if (++state.links > kLinkDepthMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Maximum resolve depth exceeded at link {}", shown_path(link)));
  }
  TRY(const TreePath target, parse_tree_path(link.record.text()));
  TRY(const TreePlace place, walk(state, target, true));
  if (!place.exact()) return no_node(place);
  return place.node;
}

Result<TreePlace> walk(Walk& state, const TreePath& path, bool follow_last) {
  TreePlace place;
  place.node = path.object ? state.view.find(*path.object) : state.view.find("");
  if (!place.node) {
    return fail(Errc::kNotFound, fmt::format("No such object {}", to_text(*path.object)));
  }
  std::size_t at = 0;
  while (true) {
    const bool last = at == path.tokens.size();
    const bool skip = !last && path.tokens[at].kind == Kind::kNoLink;
    if (skip) ++at;
    if (place.node->kind == NodeKind::kLink) {
      place.no_link = skip || (last && !follow_last);
      if (place.no_link) break;
      TRY(place.node, follow(state, *place.node));
    }
    if (at == path.tokens.size() || path.tokens[at].kind != Kind::kName) break;
    if (place.node->kind != NodeKind::kDirectory) break;
    NodePtr child =
        state.view.find(child_path(place.node->path, scheme_name(path.tokens[at].name)));
    if (!child) break;
    place.node = std::move(child);
    ++at;
  }
  place.rest.assign(path.tokens.begin() + static_cast<std::ptrdiff_t>(at), path.tokens.end());
  return place;
}

}  // namespace

Result<TreePlace> find_place(const TreeView& view, const TreePath& path, bool follow_last) {
  Walk state{view, follow_last};
  return walk(state, path, follow_last);
}

std::unexpected<Error> no_node(const TreePlace& place) {
  const std::string where = shown_path(*place.node);
  if (place.node->kind == NodeKind::kDirectory && !place.rest.empty() &&
      place.rest.front().kind == Kind::kName) {
    return fail(Errc::kNotFound, fmt::format("Node {} has no child with key \"{}\"", where,
                                             place.rest.front().name));
  }
  return fail(Errc::kNotFound, fmt::format("Node {} cannot have children", where));
}

std::string shown_path(const PathNode& node) {
  return tree_path_of(node.path);
}

std::string child_path(std::string_view directory, std::string_view scheme_name) {
  return directory.empty() ? std::string(scheme_name)
                           : fmt::format("{}/{}", directory, scheme_name);
}

std::string key_of(const PathNode& node) {
  if (is_hidden(node.path)) return "";
  const std::size_t slash = node.path.rfind('/');
  return tree_name(slash == std::string::npos ? node.path : node.path.substr(slash + 1));
}

}  // namespace moraine
