// ARRAY JOIN: a row for each item of its lists.

#include <fmt/format.h>

#include <algorithm>

#include "query/plan/bind_query.h"
#include "query/plan/item_type.h"

namespace moraine::query {
namespace {

// The type of the items of a list; nullopt: it is none.
std::optional<ItemType> items_of(const Expression& list) {
  if (list.type == ValueType::kNull) return ItemType{.type = ValueType::kAny};
  if (list.type != ValueType::kAny) return std::nullopt;
  if (list.logical == nullptr) return ItemType{.type = ValueType::kAny};
  if (list.logical->kind != table::LogicalType::Kind::kList) return std::nullopt;
  return item_type(list.logical->parts[0]);
}

}  // namespace

Result<void> QueryBinder::array_join(const JoinClause& clause) {
  ArrayJoin join;
  join.left = clause.left;
  std::vector<PlanColumn> items;
  for (const Node& array : clause.arrays) {
    ExpressionBinder binder(binding_, scope_, /*grouped=*/false);
    TRY(Expression list, binder.bind_aliased(array));
    const std::optional<ItemType> item = items_of(list);
    if (!item) {
      return binding_.refuse(
          array, fmt::format("ARRAY JOIN of a value that is no list but {}",
                             list.logical == nullptr ? std::string(to_string(list.type))
                                                     : table::print_type(*list.logical)));
    }
    const auto same_name = [&](const PlanColumn& column) { return column.name == array.alias; };
    const bool taken =
        scope_.aliases.contains(array.alias) || std::ranges::any_of(items, same_name) ||
        std::ranges::any_of(scope_.tables, [&](const ScopeTable& table) {
          return table.alias.empty() && std::ranges::any_of(table.columns, same_name);
        });
    if (taken) {
      return binding_.refuse(array, fmt::format("Alias \"{}\" has been already used", array.alias));
    }
    join.lists.push_back(std::move(list));
    items.push_back({.name = array.alias, .type = item->type, .logical = item->logical});
  }
  ScopeTable table;
  table.first = scope_.column_count();
  table.columns = items;
  table.hidden.resize(items.size());
  scope_.tables.push_back(std::move(table));
  if (clause.predicate) {
    ExpressionBinder binder(binding_, scope_, /*grouped=*/false);
    TRY(join.predicate, binder.bind_predicate(*clause.predicate, "the predicate of ARRAY JOIN"));
  }
  joins_.push_back({.step = std::move(join), .right = {}, .columns = std::move(items)});
  return {};
}

}  // namespace moraine::query
