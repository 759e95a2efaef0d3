#include "node/stored_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/table_attributes.h"
#include "node/scheme_changes.h"
#include "node/tree_attributes.h"
#include "node/tree_system.h"
#include "scheme/object_id.h"
#include "scheme/tree_bug.h"
#include "scheme/value_path.h"

namespace moraine {
namespace {

using client::TreeScope;
using Kind = TreeToken::Kind;

bool table_has(std::string_view name) {
  const auto known = client::table_attribute_names();
  return std::ranges::find(known, name, &client::TableAttribute::name) != known.end();
}

std::unexpected<Error> no_attribute(std::string_view name) {
  return fail(Errc::kNotFound, fmt::format("Attribute \"{}\" is not found", name));
}

// What the root of the system's objects says of itself.
std::optional<YsonNode> cluster_attribute(const PathNode& node, std::string_view name) {
  if (node.path != "sys") return std::nullopt;
  if (name == "cluster_name") return "moraine";
  if (name != "cluster_connection") return std::nullopt;
  YsonMap connection;
  connection.set("cluster_name", "moraine");
  return connection;
}

}  // namespace

StoredTree::StoredTree(World world, SchemeHost& scheme, StoredTables& tables, StoredTopics& topics)
    : world_(world), scheme_(scheme), tables_(tables), topics_(topics), visit_(world.executor) {
  scheme_.add_follower([this](const Scheme& tree) { follow(tree); });
}

Task<void> StoredTree::stop() {
  scope_.close();
  co_await scope_.join();
}

std::uint64_t StoredTree::now_ms() const {
  return static_cast<std::uint64_t>(world_.clock.since_epoch().count());
}

Task<Result<StoredTree::SchemePtr>> StoredTree::open(const TreeScope& scope) {
  CO_TRY(const SchemePtr scheme, co_await scheme_.scheme());
  if (scope.transaction) {
    CO_TRY_VOID(TreeEditor::check_open(scheme->state(), *scope.transaction));
    pinged(*scope.transaction);
  }
  for (const PathId& needed : scope.prerequisites) {
    if (scheme->state().transaction(needed)) continue;
    co_return fail(
        Errc::kNoTransaction,
        fmt::format("Prerequisite check failed: transaction {} is missing", to_text(needed)));
  }
  co_return scheme;
}

Task<Result<std::optional<YsonNode>>> StoredTree::repeated(const TreeScope& scope) {
  if (!scope.mutation || has_bug(TreeBug::kRunRepeated)) co_return std::optional<YsonNode>();
  co_return co_await begin_mutation(*scope.mutation);
}

Task<Result<YsonNode>> StoredTree::change(TreeScope scope, Change body) {
  CO_TRY(std::optional<YsonNode> earlier, co_await repeated(scope));
  if (earlier) co_return std::move(*earlier);
  CO_TRY(const SchemePtr scheme, co_await open(scope));
  YsonNode result;
  const Scheme::Decide decide = [&](TreeEditor& editor) -> Result<void> {
    for (const PathId& needed : scope.prerequisites) {
      TRY_VOID(TreeEditor::check_open(editor.state(), needed));
    }
    if (scope.mutation) {
      if (const MutationPtr known = editor.state().mutation(scope.mutation->id)) {
        if (!scope.mutation->retry) {
          return fail(Errc::kInvalidArgument, "Duplicate request is not marked as \"retry\"");
        }
        result = from_slice(known->result);
        if (has_bug(TreeBug::kRunRepeated)) {
          TRY_VOID(body(editor));
        }
        return {};
      }
    }
    TRY(result, body(editor));
    if (scope.mutation && !has_bug(TreeBug::kForgetAnswers)) {
      editor.remember(scope.mutation->id, to_slice(result));
      editor.forget_mutations();
    }
    return {};
  };
  const auto effects = with_outcome(co_await scheme->edit(scope.transaction, scope.user, decide));
  if (!effects) {
    // It may have been made while this call of it waited.
    CO_TRY(earlier, co_await repeated(scope));
    if (earlier) co_return std::move(*earlier);
    co_return std::unexpected(effects.error());
  }
  follow(*effects);
  co_return result;
}

Task<Result<PathId>> StoredTree::change_id(TreeScope scope, Change body) {
  CO_TRY(const YsonNode result, co_await change(std::move(scope), std::move(body)));
  const auto* text = result.as<std::string>();
  if (text == nullptr) co_return fail(Errc::kCorrupt, "The result of a mutation is no id");
  co_return parse_object_id(*text);
}

Task<Result<void>> StoredTree::change_only(TreeScope scope,
                                           std::function<Result<void>(TreeEditor&)> body) {
  const Change whole = [body = std::move(body)](TreeEditor& editor) -> Result<YsonNode> {
    TRY_VOID(body(editor));
    return YsonNode();
  };
  CO_TRY_VOID(co_await change(std::move(scope), whole));
  co_return Result<void>();
}

void StoredTree::follow(const TreeEffects& effects) {
  if (effects.puts.empty()) return;
  tables_.follow(effects);
  topics_.follow(effects);
  for (const TabletInfo& info : effects.deleted) scheme_.begin_deletion(info);
  for (const TreePutAny& put : effects.puts) {
    const auto* transaction = std::get_if<TransactionPut>(&put);
    if (transaction == nullptr) continue;
    if (transaction->after) {
      leases_[transaction->key] = {now(), now_ms()};
    } else {
      leases_.erase(transaction->key);
    }
  }
  visit_.set();
}

std::optional<std::string> StoredTree::accessed(const PathNode& node, const TreeScope& scope) {
  if (has_bug(TreeBug::kIgnoreAccesses)) return std::nullopt;
  const bool expires = !node.system.empty() && expiration_timeout_of(node) > 0;
  if (!expires && accessed_.size() >= kAccessTimesMax && !accessed_.contains(node.id)) {
    return std::nullopt;
  }
  Access& access = accessed_[node.id];
  if (!scope.suppress_access_tracking) access.read_ms = now_ms();
  if (scope.suppress_expiration_renewal) return std::nullopt;
  access.renewed_ms = now_ms();
  if (!expires || !is_access_due(node)) return std::nullopt;
  return node.path;
}

bool StoredTree::is_access_due(const PathNode& node) const {
  return node.touched_ms + access_slack_ms(expiration_timeout_of(node)) <= now_ms();
}

Task<void> StoredTree::store_access(std::optional<std::string> path) {
  if (!path) co_return;
  const auto stored = co_await change_only(TreeScope(), [&](TreeEditor& editor) -> Result<void> {
    const NodePtr node = editor.state().find(*path);
    // Another reader may have stored its access, and a transaction may have read a node of its own
    // at the path.
    if (!node || !is_access_due(*node)) return {};
    const std::uint64_t renewed = access_of(*node).renewed_ms;
    if (renewed > node->touched_ms) editor.touch(node, renewed);
    return {};
  });
  if (!stored) log_debug("access not stored", {{"path", *path}, {"error", stored.error()}});
}

StoredTree::Access StoredTree::access_of(const PathNode& node) const {
  const auto found = accessed_.find(node.id);
  return found == accessed_.end() ? Access() : found->second;
}

// Answers.

std::optional<Result<YsonNode>> StoredTree::system_answer(const Scheme& scheme,
                                                          const TreeScope& scope,
                                                          const TreePath& path) const {
  const TreeView view(scheme.state(), scope.transaction);
  const LastPing ping = [this](const PathId& id) { return last_ping_ms(id); };
  if (path.object) {
    if (view.find(*path.object)) return std::nullopt;
    auto attributes = object_attributes(scheme.state(), ping, *path.object);
    if (!attributes) return std::nullopt;
    YsonNode object;
    object.mutable_attributes() = std::move(*attributes);
    return get_value(object, path.tokens, "#" + to_text(*path.object));
  }
  if (path.tokens.size() < 2 || path.tokens[0] != TreeToken{Kind::kName, "sys"} ||
      path.tokens[1].kind != Kind::kName) {
    return std::nullopt;
  }
  const std::string& name = path.tokens[1].name;
  if (view.find(child_path("sys", scheme_name(name)))) return std::nullopt;
  std::optional<std::string> item;
  if (path.tokens.size() > 2 && path.tokens[2].kind == Kind::kName) item = path.tokens[2].name;
  const auto value = system_value(scheme.state(), ping, name, item);
  if (!value) return std::nullopt;
  return get_value(*value, std::span(path.tokens).subspan(2), "//sys/" + name);
}

Task<Result<void>> StoredTree::fill_attributes(SchemePtr scheme, TreeScope scope,
                                               AnswerNodes& nodes, std::size_t from,
                                               const client::WantedAttributes& wanted) {
  if (!wanted.all && wanted.names.empty()) co_return Result<void>();
  struct OfTable {
    std::size_t at;
    std::string path;
    std::vector<std::string> names;
  };
  std::vector<OfTable> of_tables;
  {
    const TreeView view(scheme->state(), scope.transaction);
    for (std::size_t i = from; i < nodes.size(); ++i) {
      const PathNode& node = *nodes[i].node;
      auto wish = add_attributes(view, node, wanted, access_of(node).read_ms, nodes[i].attributes);
      if (wish.of_table.empty()) continue;
      of_tables.push_back({i, view.stored_path(node), std::move(wish.of_table)});
    }
  }
  for (OfTable& one : of_tables) {
    const auto values =
        co_await client::read_table_attributes(tables_, one.path, std::move(one.names));
    // The table may be gone since.
    if (values) add_table_attributes(wanted, *values, nodes[one.at].attributes);
  }
  co_return Result<void>();
}

Task<Result<std::optional<YsonNode>>> StoredTree::attribute_value(SchemePtr scheme, TreeScope scope,
                                                                  NodePtr node, std::string name) {
  const TreeView view(scheme->state(), scope.transaction);
  auto value = user_attribute(*node, name);
  if (!value) value = read_tree_attribute(view, *node, name, access_of(*node).read_ms);
  if (!value) value = cluster_attribute(*node, name);
  if (value || node->kind != NodeKind::kTable || !table_has(name)) co_return value;
  CO_TRY(YsonMap values,
         co_await client::read_table_attributes(tables_, view.stored_path(*node), {name}));
  YsonNode* found = values.find(name);
  if (found == nullptr) co_return std::nullopt;
  co_return std::move(*found);
}

Task<Result<YsonNode>> StoredTree::get_attribute(SchemePtr scheme, TreeScope scope,
                                                 AttributePath at, client::TreeGet options) {
  if (at.name.empty()) {
    client::WantedAttributes wanted = std::move(options.attributes);
    if (wanted.names.empty()) wanted.all = true;
    AnswerNodes nodes(1);
    nodes[0].node = at.node;
    CO_TRY_VOID(co_await fill_attributes(scheme, scope, nodes, 0, wanted));
    co_return YsonNode(std::move(nodes[0].attributes));
  }
  CO_TRY(const auto value, co_await attribute_value(scheme, scope, at.node, at.name));
  if (!value) co_return no_attribute(at.name);
  co_return get_value(*value, at.rest, fmt::format("{}/@{}", shown_path(*at.node), at.name));
}

Task<Result<YsonNode>> StoredTree::get_here(TreeScope scope, std::string path,
                                            client::TreeGet options) {
  CO_TRY(const SchemePtr scheme, co_await open(scope));
  CO_TRY(const TreePath parsed, parse_tree_path(path));
  if (const auto answer = system_answer(*scheme, scope, parsed)) {
    CO_TRY(const YsonNode value, *answer);
    co_return with_wanted(value, options.attributes);
  }
  TreePlace place;
  AnswerNodes nodes;
  std::optional<std::string> due;
  {
    const TreeView view(scheme->state(), scope.transaction);
    CO_TRY(place, find_place(view, parsed));
    due = accessed(*place.node, scope);
    if (place.exact()) nodes = subtree_answer(view, place.node, options);
  }
  co_await store_access(std::move(due));
  if (auto at = attribute_of(place)) {
    co_return co_await get_attribute(scheme, scope, std::move(*at), std::move(options));
  }
  if (!place.exact()) {
    if (place.node->kind != NodeKind::kDocument) co_return no_node(place);
    const YsonNode value = from_slice(place.node->record);
    co_return get_value(value, place.rest, shown_path(*place.node));
  }
  CO_TRY_VOID(co_await fill_attributes(scheme, scope, nodes, 0, options.attributes));
  YsonNode answer = as_tree(std::move(nodes));
  if (place.node->path == "sys") {
    for (std::string& name : system_names()) (*answer.as<YsonMap>())[name] = YsonNode();
  }
  co_return answer;
}

Task<Result<YsonNode>> StoredTree::list_here(TreeScope scope, std::string path,
                                             client::TreeGet options) {
  CO_TRY(const SchemePtr scheme, co_await open(scope));
  CO_TRY(const TreePath parsed, parse_tree_path(path));
  if (const auto answer = system_answer(*scheme, scope, parsed)) {
    CO_TRY(const YsonNode value, *answer);
    CO_TRY(YsonNode names, list_value(value, path));
    for (YsonNode& name : *names.as<YsonList>()) {
      const YsonNode* child = value.find(*name.as<std::string>());
      if (child == nullptr) continue;
      const YsonNode shown = with_wanted(*child, options.attributes);
      if (shown.has_attributes()) name.mutable_attributes() = shown.attributes();
    }
    co_return names;
  }
  TreePlace place;
  AnswerNodes nodes;
  std::optional<std::string> due;
  {
    const TreeView view(scheme->state(), scope.transaction);
    CO_TRY(place, find_place(view, parsed));
    due = accessed(*place.node, scope);
    if (place.exact()) nodes = list_answer(view, place.node, options);
  }
  co_await store_access(std::move(due));
  if (const auto at = attribute_of(place)) {
    CO_TRY(const YsonNode value, co_await get_attribute(scheme, scope, *at, {}));
    co_return list_value(value, path);
  }
  if (place.node->kind == NodeKind::kDocument) {
    const YsonNode whole = from_slice(place.node->record);
    CO_TRY(const YsonNode value, get_value(whole, place.rest, shown_path(*place.node)));
    co_return list_value(value, path);
  }
  if (!place.exact()) co_return no_node(place);
  if (place.node->kind != NodeKind::kDirectory) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("\"list\" method is not supported for \"{}\" node {}",
                               type_name(place.node->kind), shown_path(*place.node)));
  }
  CO_TRY_VOID(co_await fill_attributes(scheme, scope, nodes, 1, options.attributes));
  YsonNode answer = as_list(std::move(nodes));
  if (place.node->path == "sys") {
    for (const std::string& name : system_names()) answer.as<YsonList>()->emplace_back(name);
  }
  co_return answer;
}

Task<Result<bool>> StoredTree::exists_here(TreeScope scope, std::string path) {
  CO_TRY(const SchemePtr scheme, co_await open(scope));
  CO_TRY(const TreePath parsed, parse_tree_path(path));
  if (const auto answer = system_answer(*scheme, scope, parsed)) co_return answer->has_value();
  const TreeView view(scheme->state(), scope.transaction);
  const auto place = find_place(view, parsed);
  if (!place) co_return false;
  co_await store_access(accessed(*place->node, scope));
  if (place->exact()) co_return true;
  if (place->node->kind == NodeKind::kDocument && place->rest[0].kind != Kind::kAttributes) {
    co_return has_value(from_slice(place->node->record), place->rest);
  }
  const auto at = attribute_of(*place);
  if (!at) co_return false;
  if (at->name.empty()) co_return true;
  const auto value = co_await attribute_value(scheme, scope, at->node, at->name);
  co_return value && *value&& has_value(**value, at->rest);
}

Task<Result<YsonNode>> StoredTree::get(TreeScope scope, std::string path, client::TreeGet options) {
  co_return co_await there(
      [&] { return get_here(std::move(scope), std::move(path), std::move(options)); });
}
Task<Result<YsonNode>> StoredTree::list(TreeScope scope, std::string path,
                                        client::TreeGet options) {
  co_return co_await there(
      [&] { return list_here(std::move(scope), std::move(path), std::move(options)); });
}
Task<Result<bool>> StoredTree::exists(TreeScope scope, std::string path) {
  co_return co_await there([&] { return exists_here(std::move(scope), std::move(path)); });
}

Task<Result<client::TreeNode>> StoredTree::resolve(TreeScope scope, std::string path, bool writes) {
  const auto body = [&]() -> Task<Result<client::TreeNode>> {
    CO_TRY(const SchemePtr scheme, co_await open(scope));
    CO_TRY(const TreePath parsed, parse_tree_path(path));
    const auto find = [&](const TreeView& view) -> Result<NodePtr> {
      TRY(const TreePlace place, find_place(view, parsed));
      if (!place.exact()) return no_node(place);
      return place.node;
    };
    const LockRequest wanted{LockMode::kExclusive, {}, {}};
    if (writes && scope.transaction) {
      CO_TRY_VOID(co_await change_only(scope, [&](TreeEditor& editor) -> Result<void> {
        TRY(const NodePtr node, find(editor.view()));
        return editor.take(*node, wanted);
      }));
    }
    const TreeView view(scheme->state(), scope.transaction);
    CO_TRY(const NodePtr node, find(view));
    // The common case takes nothing and waits for nobody.
    if (writes) {
      CO_TRY_VOID(check_lock(scheme->state(), *node, wanted, scope.transaction));
    }
    client::TreeNode found{node->id, std::string(type_name(node->kind)), view.stored_path(*node),
                           view.rows_before(*node)};
    co_await store_access(accessed(*node, scope));
    co_return found;
  };
  co_return co_await there(body);
}

}  // namespace moraine
