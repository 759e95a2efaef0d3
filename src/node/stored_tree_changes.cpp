// Changes of the tree (stored_tree.h).

#include <fmt/format.h>

#include <algorithm>

#include "client/table_attributes.h"
#include "node/scheme_changes.h"
#include "node/stored_tree.h"
#include "node/tree_attributes.h"
#include "node/tree_system.h"
#include "scheme/object_id.h"
#include "scheme/value_path.h"

namespace moraine {
namespace {

using client::TreeScope;

// nullptr: a table keeps no such attribute itself.
const client::TableAttribute* find_table_attribute(std::string_view name) {
  const auto known = client::table_attribute_names();
  const auto found = std::ranges::find(known, name, &client::TableAttribute::name);
  return found == known.end() ? nullptr : &*found;
}

Result<NodeKind> kind_to_create(const std::string& type) {
  if (type == "list_node") {
    return fail(Errc::kInvalidArgument,
                "List nodes cannot be created inside Cypress; consider creating a document");
  }
  const auto kind = parse_type_name(type);
  if (kind == NodeKind::kTopic) {
    return fail(Errc::kUnsupported,
                fmt::format("Nodes of type \"{}\" cannot be created here", type));
  }
  if (kind) return *kind;
  return fail(Errc::kInvalidArgument, fmt::format("Unknown object type \"{}\"", type));
}

// Takes the attribute that is the value of a document, scalar or link.
std::optional<YsonNode> take_value(NodeKind kind, YsonMap& attributes) {
  const std::string_view name = kind == NodeKind::kLink ? "target_path" : "value";
  const bool has_value = kind == NodeKind::kLink || kind == NodeKind::kDocument ||
                         (kind >= NodeKind::kString && kind <= NodeKind::kBoolean);
  YsonNode* found = has_value ? attributes.find(name) : nullptr;
  if (found == nullptr) return std::nullopt;
  YsonNode value = std::move(*found);
  attributes.erase(name);
  return value;
}

YsonNode id_of(const NodePtr& node) {
  return to_text(node->id);
}

}  // namespace

Task<Result<PathId>> StoredTree::create_here(TreeScope scope, client::TreeCreate options) {
  if (options.type == "tablet_cell") co_return client::tablet_cell_id();
  NodeToMake request;
  CO_TRY(request.kind, kind_to_create(options.type));
  request.path = options.path;
  request.recursive = options.recursive;
  request.ignore_existing = options.ignore_existing;
  request.lock_existing = options.lock_existing;
  request.force = options.force;
  request.ignore_type_mismatch = options.ignore_type_mismatch;
  request.value = take_value(request.kind, options.attributes);
  request.attributes = std::move(options.attributes);
  bool starts = false;  // Its tablets are to run.
  CO_TRY(const auto earlier, co_await repeated(scope));
  if (request.kind == NodeKind::kTable && !earlier) {
    CO_TRY(const SchemePtr scheme, co_await open(scope));
    CO_TRY(const NodePtr known, known_node(TreeView(scheme->state(), scope.transaction), request));
    if (!known) {
      CO_TRY(auto table, client::table_of_attributes(std::move(request.attributes)));
      request.attributes = std::move(table.user);
      CO_TRY(auto planned, tables_.plan(options.path, std::move(table.table)));
      request.table = {planned.tablets, std::move(planned.record)};
      starts = planned.state != MountState::kUnmounted;
    }
  }
  CO_TRY(const PathId id,
         co_await change_id(std::move(scope), [&](TreeEditor& editor) -> Result<YsonNode> {
           TRY(const NodePtr node, create_node(editor, request));
           return id_of(node);
         }));
  if (starts) {
    (void)co_await scheme_.tablets().wait_running(id, now() + kTabletTimeout);
  }
  co_return id;
}

Task<Result<PathId>> StoredTree::create(TreeScope scope, client::TreeCreate options) {
  co_return co_await there([&] { return create_here(std::move(scope), std::move(options)); });
}

Task<Result<PathId>> StoredTree::copy(TreeScope scope, std::string source, std::string destination,
                                      client::TreeCopy options) {
  co_return co_await there([&] {
    return copy_here(std::move(scope), std::move(source), std::move(destination), options);
  });
}

// Records of tables do not change while they are copied: then the copy is a change of the tables,
// which waits for its turn.
Task<Result<PathId>> StoredTree::copy_here(TreeScope scope, std::string source,
                                           std::string destination, client::TreeCopy options) {
  CopiedTables tables;
  const Change body = [&](TreeEditor& editor) -> Result<YsonNode> {
    tables.made.clear();
    TRY(const NodePtr node, copy_node(editor, source, destination, options, tables));
    return id_of(node);
  };
  auto copied = co_await change_id(scope, body);
  if (copied || tables.found.empty()) co_return copied;
  const std::vector<std::string> found = std::exchange(tables.found, {});
  tables.allowed = true;
  const auto as_change = [&]() -> Task<Result<PathId>> {
    for (const std::string& path : found) {
      CO_TRY_VOID(co_await tables_.settle_locked(path));
    }
    co_return co_await change_id(scope, body);
  };
  copied = co_await tables_.as_change(as_change);
  if (!copied) co_return copied;
  for (const PathId& id : tables.made) {
    (void)co_await scheme_.tablets().wait_running(id, now() + kTabletTimeout);
  }
  co_return copied;
}

Task<Result<PathId>> StoredTree::link(TreeScope scope, std::string target, std::string path,
                                      client::TreeLink options) {
  co_return co_await there([&] {
    return change_id(std::move(scope), [&](TreeEditor& editor) -> Result<YsonNode> {
      TRY(const NodePtr node, link_node(editor, target, path, options));
      return id_of(node);
    });
  });
}

std::optional<StoredTree::TableAttributePath> StoredTree::table_attribute(
    const Scheme& scheme, const TreeScope& scope, const std::string& path) const {
  const TreeView view(scheme.state(), scope.transaction);
  const auto parsed = parse_tree_path(path);
  const auto place = parsed ? find_place(view, *parsed) : std::unexpected(parsed.error());
  if (!place || place->node->kind != NodeKind::kTable) return std::nullopt;
  auto at = attribute_of(*place);
  if (!at || at->name.empty() || find_tree_attribute(at->name) != nullptr) return std::nullopt;
  if (find_table_attribute(at->name) == nullptr) return std::nullopt;
  std::string table = view.stored_path(*place->node);
  return TableAttributePath{std::move(*at), std::move(table)};
}

// It takes effect at once: what a transaction cannot take back is refused in one.
Result<void> StoredTree::check_table_attribute(const TreeScope& scope,
                                               const TableAttributePath& at) {
  if (!find_table_attribute(at.at.name)->writable) return cannot_set(at.at.name);
  const bool own = at.table != at.at.node->path;
  if (!scope.transaction || own) return {};
  return fail(
      Errc::kUnsupported,
      fmt::format("Attribute \"{}\" of a table cannot be changed in a transaction", at.at.name));
}

Task<Result<void>> StoredTree::set_table_attribute(TreeScope scope, TableAttributePath at,
                                                   std::optional<YsonNode> value, bool recursive) {
  CO_TRY_VOID(check_table_attribute(scope, at));
  TreeScope checked = scope;
  checked.mutation = std::nullopt;
  CO_TRY_VOID(co_await change_only(checked, [&](TreeEditor& editor) {
    return editor.take(*at.at.node, {LockMode::kShared, {}, at.at.name});
  }));
  if (!at.at.rest.empty()) {
    CO_TRY(YsonMap now, co_await client::read_table_attributes(tables_, at.table, {at.at.name}));
    const std::string where = fmt::format("{}/@{}", shown_path(*at.at.node), at.at.name);
    YsonNode whole = now.find(at.at.name) ? std::move(*now.find(at.at.name)) : YsonNode(YsonMap());
    if (value) {
      CO_TRY_VOID(set_value(whole, at.at.rest, std::move(*value), recursive, where));
    } else {
      CO_TRY_VOID(remove_value(whole, at.at.rest, false, where));
    }
    value = std::move(whole);
  }
  CO_TRY_VOID(
      co_await client::set_table_attribute(tables_, at.table, at.at.name, std::move(value)));
  if (scope.mutation) {
    CO_TRY_VOID(co_await end_mutation(*scope.mutation, YsonNode()));
  }
  co_return Result<void>();
}

Task<Result<void>> StoredTree::set_here(TreeScope scope, std::string path, YsonNode value,
                                        client::TreeSet options) {
  CO_TRY(const auto earlier, co_await repeated(scope));
  if (earlier) co_return Result<void>();
  CO_TRY(const SchemePtr scheme, co_await open(scope));
  if (auto at = table_attribute(*scheme, scope, path)) {
    co_return co_await set_table_attribute(std::move(scope), std::move(*at), std::move(value),
                                           options.recursive);
  }
  co_return co_await change_only(
      std::move(scope), [&](TreeEditor& editor) { return set_node(editor, path, value, options); });
}

Task<Result<void>> StoredTree::set(TreeScope scope, std::string path, YsonNode value,
                                   client::TreeSet options) {
  co_return co_await there([&] {
    return set_here(std::move(scope), std::move(path), std::move(value), std::move(options));
  });
}

// Those that a table keeps itself are one change of its record, the others one of the tree, which
// was tried before.
Task<Result<void>> StoredTree::set_attributes_here(TreeScope scope, std::string path,
                                                   YsonMap values) {
  CO_TRY(const auto earlier, co_await repeated(scope));
  if (earlier) co_return Result<void>();
  CO_TRY(const SchemePtr scheme, co_await open(scope));
  std::vector<TableAttributePath> own;
  YsonMap own_values;
  YsonMap others;
  for (const YsonPair& pair : values) {
    auto at = path.ends_with('@') ? table_attribute(*scheme, scope, path + pair.key) : std::nullopt;
    if (!at || !at->at.rest.empty()) {
      others.set(pair.key, pair.node);
      continue;
    }
    CO_TRY_VOID(check_table_attribute(scope, *at));
    own_values.set(at->at.name, pair.node);
    own.push_back(std::move(*at));
  }
  const auto set_others = [&](TreeEditor& editor) {
    return set_node_attributes(editor, path, others);
  };
  if (own.empty()) co_return co_await change_only(std::move(scope), set_others);
  TreeScope checked = scope;
  checked.mutation = std::nullopt;
  bool would_do = false;
  const auto tried = co_await change_only(checked, [&](TreeEditor& editor) -> Result<void> {
    TRY_VOID(set_others(editor));
    would_do = true;
    return fail(Errc::kAborted, "only tried");
  });
  if (!would_do) co_return tried;
  CO_TRY_VOID(co_await change_only(checked, [&](TreeEditor& editor) -> Result<void> {
    for (const TableAttributePath& at : own) {
      TRY_VOID(editor.take(*at.at.node, {LockMode::kShared, {}, at.at.name}));
    }
    return {};
  }));
  CO_TRY_VOID(
      co_await client::set_table_attributes(tables_, own.front().table, std::move(own_values)));
  co_return co_await change_only(std::move(scope), set_others);
}

Task<Result<void>> StoredTree::set_attributes(TreeScope scope, std::string path, YsonMap values,
                                              client::TreeSet) {
  co_return co_await there(
      [&] { return set_attributes_here(std::move(scope), std::move(path), std::move(values)); });
}

Task<Result<void>> StoredTree::remove_here(TreeScope scope, std::string path,
                                           client::TreeRemove options) {
  CO_TRY(const auto earlier, co_await repeated(scope));
  if (earlier) co_return Result<void>();
  CO_TRY(const SchemePtr scheme, co_await open(scope));
  if (auto at = table_attribute(*scheme, scope, path)) {
    co_return co_await set_table_attribute(std::move(scope), std::move(*at), std::nullopt, false);
  }
  co_return co_await change_only(
      std::move(scope), [&](TreeEditor& editor) { return remove_node(editor, path, options); });
}

Task<Result<void>> StoredTree::remove(TreeScope scope, std::string path,
                                      client::TreeRemove options) {
  co_return co_await there([&] { return remove_here(std::move(scope), std::move(path), options); });
}

Task<Result<std::optional<YsonNode>>> StoredTree::begin_mutation(client::MutationId mutation) {
  const auto body = [&]() -> Task<Result<std::optional<YsonNode>>> {
    CO_TRY(const SchemePtr scheme, co_await scheme_.scheme());
    const MutationPtr known = scheme->state().mutation(mutation.id);
    if (!known) co_return std::optional<YsonNode>();
    if (!mutation.retry) {
      co_return fail(Errc::kInvalidArgument, "Duplicate request is not marked as \"retry\"");
    }
    co_return std::optional<YsonNode>(from_slice(known->result));
  };
  co_return co_await there(body);
}

Task<Result<void>> StoredTree::end_mutation(client::MutationId mutation, YsonNode result) {
  co_return co_await there([&] {
    return change_only(TreeScope(), [&](TreeEditor& editor) -> Result<void> {
      editor.remember(mutation.id, to_slice(result));
      editor.forget_mutations();
      return {};
    });
  });
}

}  // namespace moraine
