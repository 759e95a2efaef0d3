#include "node/tree_commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "node/tree_attributes.h"
#include "scheme/object_id.h"
#include "scheme/path.h"
#include "scheme/table_copy.h"
#include "scheme/value_path.h"

namespace moraine {
namespace {

using Kind = TreeToken::Kind;

bool is_scalar(NodeKind kind) {
  return kind >= NodeKind::kString && kind <= NodeKind::kBoolean;
}

std::optional<NodeKind> kind_of_value(const YsonNode& value) {
  switch (value.type()) {
    case YsonType::kInt64: return NodeKind::kInt64;
    case YsonType::kUint64: return NodeKind::kUint64;
    case YsonType::kDouble: return NodeKind::kDouble;
    case YsonType::kBoolean: return NodeKind::kBoolean;
    case YsonType::kString: return NodeKind::kString;
    case YsonType::kMap: return NodeKind::kDirectory;
    case YsonType::kEntity:
    case YsonType::kList: return std::nullopt;
  }
  return std::nullopt;
}

YsonNode default_value(NodeKind kind) {
  switch (kind) {
    case NodeKind::kString: return "";
    case NodeKind::kInt64: return 0;
    case NodeKind::kUint64: return std::uint64_t{0};
    case NodeKind::kDouble: return 0.0;
    case NodeKind::kBoolean: return false;
    default: return {};
  }
}

YsonNode without_attributes(YsonNode value) {
  if (value.has_attributes()) value.mutable_attributes() = YsonMap();
  return value;
}

Result<void> check_depth(const YsonNode& value) {
  // By levels: a value may be deep.
  std::vector<const YsonNode*> level = {&value};
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    if (depth > kTreeValueDepthMax) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("A value of more than {} levels", kTreeValueDepthMax));
    }
    std::vector<const YsonNode*> below;
    for (const YsonNode* node : level) {
      for (const YsonPair& pair : node->attributes()) below.push_back(&pair.node);
      if (const auto* map = node->as<YsonMap>()) {
        for (const YsonPair& pair : *map) below.push_back(&pair.node);
      }
      if (const auto* list = node->as<YsonList>()) {
        for (const YsonNode& item : *list) below.push_back(&item);
      }
    }
    level = std::move(below);
  }
  return {};
}

// The attributes that a new node starts with.
Result<void> fill_attributes(PathNode& node, const YsonMap& attributes) {
  for (const YsonPair& pair : attributes) {
    const TreeAttribute* known = find_tree_attribute(pair.key);
    if (known == nullptr) {
      TRY_VOID(check_depth(pair.node));
      node.attributes.emplace(pair.key, to_slice(pair.node));
      continue;
    }
    if (!known->stored) return cannot_set(pair.key);
    TRY(Slice bytes, encode_tree_attribute(pair.key, pair.node));
    node.system.emplace(pair.key, std::move(bytes));
  }
  return {};
}

Result<NodePtr> make_directory(TreeEditor& editor, const std::string& path) {
  PathNode node;
  node.path = path;
  return editor.make(std::move(node));
}

// Makes the directories on the way to a node that is not there. Returns the node's path.
Result<std::string> make_way(TreeEditor& editor, const TreePlace& place, bool recursive) {
  if (place.node->kind != NodeKind::kDirectory || !place.missing_nodes()) return no_node(place);
  if (place.rest.size() > 1 && !recursive) return no_node(place);
  std::string path = place.node->path;
  for (std::size_t i = 0; i < place.rest.size(); ++i) {
    path = child_path(path, scheme_name(place.rest[i].name));
    if (i + 1 == place.rest.size()) break;
    TRY_VOID(make_directory(editor, path));
  }
  return path;
}

Result<Slice> value_record(NodeKind kind, const YsonNode& value) {
  if (is_scalar(kind) && kind_of_value(value) != kind) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Cannot update \"{}\" node with \"{}\" value; types must match",
                            to_string(kind), yson_type_name(value)));
  }
  TRY_VOID(check_depth(value));
  return to_slice(without_attributes(value));
}

std::unexpected<Error> exists_already(const PathNode& node, std::optional<NodeKind> wanted) {
  if (!wanted || node.kind == *wanted) {
    return fail(Errc::kAlreadyExists, fmt::format("Node {} already exists", shown_path(node)));
  }
  return fail(
      Errc::kAlreadyExists,
      fmt::format("{} already exists and has type \"{}\" while node of \"{}\" type is about "
                  "to be created",
                  shown_path(node), type_name(node.kind), type_name(*wanted)));
}

Result<void> check_new_path(const TreePath& path) {
  for (const TreeToken& token : path.tokens) {
    if (token.kind == Kind::kName || token.kind == Kind::kNoLink) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("Path {} is not that of a node", to_text(path)));
  }
  return {};
}

// Nodes of a value, below a path that is free.
Result<void> make_of_value(TreeEditor& editor, const std::string& path, const YsonNode& value) {
  const auto kind = kind_of_value(value);
  if (!kind) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} nodes cannot be created inside Cypress; consider creating a document",
                    value.is_entity() ? "Entity" : "List"));
  }
  PathNode node;
  node.kind = *kind;
  node.path = path;
  TRY_VOID(fill_attributes(node, value.attributes()));
  if (*kind != NodeKind::kDirectory) {
    TRY(node.record, value_record(*kind, value));
  }
  TRY_VOID(editor.make(std::move(node)));
  if (*kind != NodeKind::kDirectory) return {};
  // The depth of the recursion is that of a path of the scheme.
  for (const YsonPair& pair : *value.as<YsonMap>()) {
    if (pair.key.empty()) return fail(Errc::kInvalidArgument, "Node key cannot be empty");
    TRY_VOID(make_of_value(editor, child_path(path, scheme_name(pair.key)), pair.node));
  }
  return {};
}

}  // namespace

Result<NodePtr> known_node(const TreeView& view, const NodeToMake& request) {
  TRY(const TreePath path, parse_tree_path(request.path));
  TRY_VOID(check_new_path(path));
  TRY(TreePlace place, find_place(view, path, false));
  if (!place.exact()) {
    if (place.node->kind != NodeKind::kDirectory || !place.missing_nodes()) return no_node(place);
    return NodePtr();
  }
  // A link stands for its target, unless a link is to be made.
  if (place.node->kind == NodeKind::kLink && request.kind != NodeKind::kLink && !request.force) {
    if (const auto target = find_place(view, path); target && target->exact()) {
      place.node = target->node;
    }
  }
  if (request.force) return NodePtr();
  if (!request.ignore_existing) return exists_already(*place.node, std::nullopt);
  if (place.node->kind == request.kind || request.ignore_type_mismatch) return place.node;
  return exists_already(*place.node, request.kind);
}

Result<NodePtr> create_node(TreeEditor& editor, const NodeToMake& request) {
  TRY(const NodePtr known, known_node(editor.view(), request));
  if (known) {
    if (request.lock_existing) {
      TRY_VOID(editor.take(*known, {LockMode::kExclusive, {}, {}}));
    }
    return known;
  }
  TRY(const TreePath path, parse_tree_path(request.path));
  TRY(TreePlace place, find_place(editor.view(), path, false));
  PathNode node;
  node.kind = request.kind;
  if (place.exact()) {
    node.path = place.node->path;
    TRY_VOID(editor.remove(place.node));
  } else {
    TRY(node.path, make_way(editor, place, request.recursive));
  }
  TRY_VOID(fill_attributes(node, request.attributes));
  if (request.kind == NodeKind::kLink) {
    const auto* target = request.value ? request.value->as<std::string>() : nullptr;
    if (target == nullptr) {
      return fail(Errc::kInvalidArgument, "A link needs the attribute \"target_path\"");
    }
    TRY_VOID(parse_tree_path(*target));
    node.record = Slice::copy_of(*target);
  } else if (is_scalar(request.kind) || request.kind == NodeKind::kDocument) {
    TRY(node.record,
        value_record(request.kind, request.value.value_or(default_value(request.kind))));
  }
  return editor.make(std::move(node), request.table.tablets, request.table.record);
}

std::optional<AttributePath> attribute_of(const TreePlace& place) {
  if (place.rest.empty() || place.rest[0].kind != Kind::kAttributes) return std::nullopt;
  AttributePath found;
  found.node = place.node;
  if (place.rest.size() == 1) return found;
  if (place.rest[1].kind != Kind::kName) return std::nullopt;
  found.name = place.rest[1].name;
  found.rest.assign(place.rest.begin() + 2, place.rest.end());
  return found;
}

Result<void> set_one_attribute(TreeEditor& editor, const NodePtr& node, const std::string& name,
                               const YsonNode& value) {
  if (name.empty()) return fail(Errc::kInvalidArgument, "Attribute key cannot be empty");
  const TreeAttribute* known = find_tree_attribute(name);
  if (known == nullptr) {
    TRY_VOID(check_depth(value));
    return editor.set_attribute(node, name, to_slice(value), false);
  }
  if (!known->stored) return cannot_set(name);
  TRY(Slice bytes, encode_tree_attribute(name, value));
  return editor.set_attribute(node, name, std::move(bytes), true);
}

namespace {

// A value at a path inside an attribute.
Result<void> set_in_attribute(TreeEditor& editor, const AttributePath& at, YsonNode value,
                              bool recursive) {
  if (at.rest.empty()) return set_one_attribute(editor, at.node, at.name, value);
  auto whole = user_attribute(*at.node, at.name);
  if (const TreeAttribute* known = find_tree_attribute(at.name)) {
    if (!known->stored) return cannot_set(at.name);
    whole = read_tree_attribute(editor.view(), *at.node, at.name, 0);
  }
  if (!whole && !recursive) {
    return fail(Errc::kNotFound, fmt::format("Attribute \"{}\" is not found", at.name));
  }
  if (!whole) whole = YsonNode(YsonMap());
  const std::string where = fmt::format("{}/@{}", shown_path(*at.node), at.name);
  TRY_VOID(set_value(*whole, at.rest, std::move(value), recursive, where));
  return set_one_attribute(editor, at.node, at.name, *whole);
}

// "set //tmp/t/@ {a=1}": these are the user's attributes then.
Result<void> replace_attributes(TreeEditor& editor, NodePtr node, const YsonNode& value) {
  const auto* values = value.as<YsonMap>();
  if (values == nullptr) {
    return fail(Errc::kInvalidArgument, "Attributes of a node are a map");
  }
  for (const auto& [name, old] : node->attributes) {
    if (values->find(name) != nullptr) continue;
    TRY_VOID(editor.set_attribute(node, name, std::nullopt, false));
  }
  const std::string path = node->path;
  for (const YsonPair& pair : *values) {
    TRY_VOID(set_one_attribute(editor, editor.view().find(path), pair.key, pair.node));
  }
  return {};
}

Result<void> set_self(TreeEditor& editor, const NodePtr& node, const YsonNode& value, bool force) {
  const std::string path = node->path;
  switch (node->kind) {
    case NodeKind::kDirectory: {
      const auto* values = value.as<YsonMap>();
      if (values == nullptr) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("Cannot update \"map\" node with \"{}\" value; types must match",
                                yson_type_name(value)));
      }
      if (!force) {
        return fail(
            Errc::kInvalidArgument,
            fmt::format("\"set\" command without \"force\" flag is forbidden for map node {}; "
                        "use \"create\" for creating new map nodes",
                        shown_path(*node)));
      }
      for (const NodePtr& child : editor.view().children(*node)) {
        TRY_VOID(editor.remove(child));
      }
      for (const YsonPair& pair : *values) {
        if (pair.key.empty()) return fail(Errc::kInvalidArgument, "Node key cannot be empty");
        TRY_VOID(make_of_value(editor, child_path(path, scheme_name(pair.key)), pair.node));
      }
      break;
    }
    case NodeKind::kTopic:
    case NodeKind::kTable:
    case NodeKind::kFile:
    case NodeKind::kLink:
      return fail(Errc::kInvalidArgument, fmt::format("Node {} of type \"{}\" cannot be set",
                                                      shown_path(*node), type_name(node->kind)));
    default: {
      TRY(Slice record, value_record(node->kind, value));
      TRY_VOID(editor.set_record(node, std::move(record)));
    }
  }
  for (const YsonPair& pair : value.attributes()) {
    TRY_VOID(set_one_attribute(editor, editor.view().find(path), pair.key, pair.node));
  }
  return {};
}

std::unexpected<Error> no_children(const PathNode& node) {
  return fail(Errc::kNotFound, fmt::format("\"{}\" node {} cannot have children",
                                           type_name(node.kind), shown_path(node)));
}

}  // namespace

Result<void> set_node(TreeEditor& editor, const std::string& path, YsonNode value,
                      const client::TreeSet& options) {
  TRY_VOID(check_depth(value));
  TRY(const TreePath parsed, parse_tree_path(path));
  TRY(const TreePlace place, find_place(editor.view(), parsed));
  if (place.exact()) return set_self(editor, place.node, value, options.force);
  if (const auto attribute = attribute_of(place)) {
    if (attribute->name.empty()) return replace_attributes(editor, place.node, value);
    return set_in_attribute(editor, *attribute, std::move(value), options.recursive);
  }
  if (place.node->kind == NodeKind::kDocument) {
    YsonNode whole = from_slice(place.node->record);
    TRY_VOID(
        set_value(whole, place.rest, std::move(value), options.recursive, shown_path(*place.node)));
    return editor.set_record(place.node, to_slice(whole));
  }
  if (place.node->kind != NodeKind::kDirectory) return no_children(*place.node);
  TRY(const std::string made, make_way(editor, place, options.recursive));
  return make_of_value(editor, made, value);
}

Result<void> set_node_attributes(TreeEditor& editor, const std::string& path,
                                 const YsonMap& values) {
  TRY(const TreePath parsed, parse_tree_path(path));
  TRY(const TreePlace place, find_place(editor.view(), parsed));
  const auto attribute = attribute_of(place);
  if (!attribute) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Path {} is not that of attributes: it has to end in \"/@\"", path));
  }
  const std::string node = place.node->path;
  for (const YsonPair& pair : values) {
    AttributePath one = *attribute;
    one.node = editor.view().find(node);
    if (one.name.empty()) {
      one.name = pair.key;
    } else {
      one.rest.push_back({Kind::kName, pair.key});
    }
    TRY_VOID(set_in_attribute(editor, one, pair.node, false));
  }
  return {};
}

namespace {

Result<void> remove_attribute(TreeEditor& editor, const AttributePath& at, bool force) {
  const TreeAttribute* known = find_tree_attribute(at.name);
  if (known != nullptr && !known->stored) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Builtin attribute \"{}\" cannot be removed", at.name));
  }
  const bool system = known != nullptr;
  const bool there =
      system ? at.node->system.contains(at.name) : at.node->attributes.contains(at.name);
  if (!there) {
    if (force) return {};
    return fail(Errc::kNotFound, fmt::format("Attribute \"{}\" is not found", at.name));
  }
  if (at.rest.empty()) return editor.set_attribute(at.node, at.name, std::nullopt, system);
  YsonNode whole = from_slice((system ? at.node->system : at.node->attributes).at(at.name));
  const std::string where = fmt::format("{}/@{}", shown_path(*at.node), at.name);
  TRY_VOID(remove_value(whole, at.rest, force, where));
  return set_one_attribute(editor, at.node, at.name, whole);
}

Result<void> remove_rest(TreeEditor& editor, const TreePlace& place, bool force) {
  const bool all = place.rest.size() == 1 && place.rest[0].kind == Kind::kAll;
  if (all && place.node->kind == NodeKind::kDirectory) {
    for (const NodePtr& child : editor.view().children(*place.node)) {
      TRY_VOID(editor.remove(child));
    }
    return {};
  }
  if (const auto attribute = attribute_of(place)) {
    if (!attribute->name.empty()) return remove_attribute(editor, *attribute, force);
  }
  const bool attributes = place.rest[0].kind == Kind::kAttributes;
  if (attributes && place.rest.size() == 2 && place.rest[1].kind == Kind::kAll) {
    return replace_attributes(editor, place.node, YsonNode(YsonMap()));
  }
  if (attributes) {
    return fail(Errc::kInvalidArgument, "Path of an attribute to remove has no name");
  }
  if (place.node->kind == NodeKind::kDocument) {
    YsonNode whole = from_slice(place.node->record);
    TRY_VOID(remove_value(whole, place.rest, force, shown_path(*place.node)));
    return editor.set_record(place.node, to_slice(whole));
  }
  if (force) return {};
  return no_node(place);
}

}  // namespace

Result<void> remove_node(TreeEditor& editor, const std::string& path,
                         const client::TreeRemove& options) {
  TRY(const TreePath parsed, parse_tree_path(path));
  const auto found = find_place(editor.view(), parsed, false);
  if (!found && options.force && found.error().code == Errc::kNotFound) return {};
  if (!found) return std::unexpected(found.error());
  if (!found->exact()) return remove_rest(editor, *found, options.force);
  const bool full =
      found->node->kind == NodeKind::kDirectory && editor.view().has_children(*found->node);
  if (full && !options.recursive) {
    return fail(Errc::kNotEmpty,
                fmt::format("Cannot remove non-empty composite node {}", shown_path(*found->node)));
  }
  return editor.remove(found->node);
}

namespace {

bool is_below(const std::string& path, const std::string& root) {
  return root.empty() || path == root || path.starts_with(root + "/");
}

Result<void> check_movable(const TreeView& view, const NodePtr& root) {
  for (const NodePtr& node : view.subtree(root, kTreePutsMax)) {
    if (node->kind == NodeKind::kTopic) {
      return fail(Errc::kUnsupported, fmt::format("Topic {} cannot be moved", shown_path(*node)));
    }
    if (node->kind != NodeKind::kTable) continue;
    const NodePtr stored = view.state().nodes().find(view.stored_path(*node));
    if (!stored) return fail(Errc::kNotFound, fmt::format("No such table {}", shown_path(*node)));
    TRY(const TableRecord record, decode_table(*stored));
    TRY_VOID(check_movable(record, shown_path(*node)));
  }
  return {};
}

// A copy of one node, below another root.
Result<void> copy_one(TreeEditor& editor, const PathNode& node, std::string path,
                      const client::TreeCopy& options, CopiedTables& tables) {
  if (node.kind == NodeKind::kTopic) {
    return fail(Errc::kUnsupported,
                fmt::format("Copying topic {} is not supported", shown_path(node)));
  }
  PathNode copy = node;
  copy.path = std::move(path);
  if (!options.preserve_creation_time) copy.created_ms = 0;
  if (!options.preserve_modification_time) copy.modified_ms = 0;
  if (!options.preserve_expiration_time) copy.system.erase(std::string(kExpirationTime));
  if (!options.preserve_expiration_timeout) copy.system.erase(std::string(kExpirationTimeout));
  if (node.kind != NodeKind::kTable) {
    TRY_VOID(editor.make(std::move(copy)));
    return {};
  }
  if (!tables.allowed) {
    tables.found.push_back(editor.view().stored_path(node));
    return {};
  }
  TRY(const NodePtr made, editor.make_table_copy(std::move(copy), node));
  tables.made.push_back(made->id);
  tables.made.push_back(node.id);
  return {};
}

// Expiry does not move along unless asked for.
Result<void> drop_expiry(TreeEditor& editor, const std::string& root,
                         const client::TreeCopy& options) {
  const NodePtr moved = editor.view().find(root);
  for (const NodePtr& node : editor.view().subtree(moved, kTreePutsMax)) {
    for (const std::string_view name : {kExpirationTime, kExpirationTimeout}) {
      const bool kept = name == kExpirationTime ? options.preserve_expiration_time
                                                : options.preserve_expiration_timeout;
      if (kept || !node->system.contains(name)) continue;
      TRY_VOID(editor.set_attribute(editor.view().find(node->path), std::string(name), std::nullopt,
                                    true));
    }
  }
  return {};
}

}  // namespace

Result<NodePtr> copy_node(TreeEditor& editor, const std::string& source,
                          const std::string& destination, const client::TreeCopy& options,
                          CopiedTables& tables) {
  TRY(const TreePath from_path, parse_tree_path(source));
  TRY(const TreePath to_path, parse_tree_path(destination));
  TRY_VOID(check_new_path(to_path));
  TRY(const TreePlace from, find_place(editor.view(), from_path, !options.move));
  if (!from.exact()) return no_node(from);
  TRY(const TreePlace to, find_place(editor.view(), to_path, false));
  const std::string_view verb = options.move ? "move" : "copy";
  if (options.move && is_builtin(from.node->path)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Node {} cannot be moved", shown_path(*from.node)));
  }
  if (to.exact()) {
    if (options.ignore_existing) return to.node;
    if (!options.force) return exists_already(*to.node, std::nullopt);
    if (is_below(from.node->path, to.node->path)) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("Cannot {} a node over itself or its ancestor", verb));
    }
  }
  if (is_below(to.node->path, from.node->path)) {
    return fail(Errc::kInvalidArgument, fmt::format("Cannot {} a node to its descendant", verb));
  }
  if (options.move) {
    TRY_VOID(check_movable(editor.view(), from.node));
  }
  const std::vector<NodePtr> nodes = editor.view().subtree(from.node, kTreeWritesMax / 2);
  if (nodes.size() > kTreeWritesMax / 2) {
    return fail(Errc::kOverloaded, fmt::format("{} has more than {} nodes; {} parts of it",
                                               shown_path(*from.node), kTreeWritesMax / 2, verb));
  }
  std::string path = to.node->path;
  if (to.exact()) {
    TRY_VOID(editor.remove(to.node));
  } else {
    TRY(path, make_way(editor, to, options.recursive));
  }
  const std::string root = from.node->path;
  if (options.move && !editor.transaction()) {
    TRY_VOID(editor.move(from.node, path));
    TRY_VOID(drop_expiry(editor, path, options));
    return editor.view().find(path);
  }
  for (const NodePtr& node : nodes) {
    TRY_VOID(copy_one(editor, *node, path + node->path.substr(root.size()), options, tables));
  }
  if (!tables.found.empty()) return fail(Errc::kAborted, "tables are to be copied");
  if (options.move) {
    TRY_VOID(editor.remove(from.node));
  }
  return editor.view().find(path);
}

Result<NodePtr> link_node(TreeEditor& editor, const std::string& target, const std::string& path,
                          const client::TreeLink& options) {
  TRY(const TreePath target_path, parse_tree_path(target));
  const auto found = find_place(editor.view(), target_path);
  if (!options.force) {
    if (!found) return std::unexpected(found.error());
    if (!found->exact()) return no_node(*found);
  }
  TRY(const TreePath link_path, parse_tree_path(path));
  TRY(const TreePlace there, find_place(editor.view(), link_path, false));
  if (found && found->exact() && there.exact() && found->node->id == there.node->id) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Failed to create link: link {} would lead to itself", path));
  }
  NodeToMake request;
  request.kind = NodeKind::kLink;
  request.path = path;
  request.value = YsonNode(target);
  request.recursive = options.recursive;
  request.ignore_existing = options.ignore_existing;
  request.lock_existing = options.lock_existing;
  request.force = options.force;
  return create_node(editor, request);
}

}  // namespace moraine
