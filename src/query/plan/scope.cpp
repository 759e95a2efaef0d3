#include "query/plan/scope.h"

#include <fmt/format.h>

#include "query/syntax/source_error.h"

namespace moraine::query {

std::unexpected<Error> Binding::refuse(const Node& node, std::string_view what, Errc code) const {
  return fail(code, std::string(what) + describe_place(text, node.at));
}

std::size_t Scope::column_count() const {
  return tables.empty() ? 0 : tables.back().first + tables.back().columns.size();
}

Result<std::optional<Expression>> Scope::find(std::string_view table,
                                              std::string_view column) const {
  std::optional<Expression> found;
  for (const ScopeTable& source : tables) {
    if (source.alias != table) continue;
    for (std::size_t i = 0; i < source.columns.size(); ++i) {
      if (source.columns[i].name != column) continue;
      if (source.hidden[i] && source.alias.empty()) continue;
      if (found) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("Column \"{}\" occurs in several tables", column));
      }
      found = make_column(source.first + i, source.columns[i].type);
      found->logical = source.columns[i].logical;
    }
  }
  return found;
}

bool same_but_alias(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.op != b.op || a.text != b.text || a.word != b.word ||
      a.operands.size() != b.operands.size()) {
    return false;
  }
  Node left = a;
  Node right = b;
  left.alias.clear();
  right.alias.clear();
  return left == right;
}

Result<void> collect_aliases(const Binding& binding, const Node& node, Scope& scope) {
  for (const Node& operand : node.operands) {
    TRY_VOID(collect_aliases(binding, operand, scope));
  }
  if (node.alias.empty() || scope.aliases.emplace(node.alias, &node).second) return {};
  return binding.refuse(node, fmt::format("Alias \"{}\" has been already used", node.alias));
}

}  // namespace moraine::query
