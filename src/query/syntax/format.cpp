#include "query/syntax/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "query/syntax/lexer.h"

namespace moraine::query {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_plain_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) &&
         std::ranges::all_of(name, [](char c) { return is_letter(c) || is_digit(c); }) &&
         find_keyword(name) == Keyword::kNone;
}
bool has_balanced_brackets(std::string_view name) {
  std::size_t open = 0;
  for (const char c : name) {
    if (c == '[') ++open;
    if (c == ']' && open-- == 0) return false;
  }
  return open == 0;
}

std::string double_text(double value) {
  if (std::isinf(value)) return "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Formatter {
 public:
  explicit Formatter(const FormatOptions& options) : options_(options) {}

  std::string take() { return std::move(out_); }

  void query(const SelectQuery& query) {
    out_ += "SELECT ";
    if (query.projections.empty()) out_ += '*';
    items(query.projections);
    out_ += " FROM ";
    source(query.from);
    for (const JoinClause& clause : query.joins) join(clause);
    if (query.where) {
      out_ += " WHERE ";
      expression(*query.where);
    }
    if (!query.group_by.empty()) groups(query);
    for (std::size_t i = 0; i < query.order_by.size(); ++i) {
      out_ += i == 0 ? " ORDER BY " : ", ";
      expression(query.order_by[i].node);
      if (query.order_by[i].descending) out_ += " DESC";
    }
    if (query.offset) out_ += fmt::format(" OFFSET {}", *query.offset);
    if (query.limit) out_ += fmt::format(" LIMIT {}", *query.limit);
  }

  // Where an alias may stand.
  void item(const Node& node) {
    plain(node);
    if (has_alias(node)) out_ += " AS " + name(node.alias);
  }

  void plain(const Node& node);

 private:
  bool has_alias(const Node& node) const { return options_.aliases && !node.alias.empty(); }
  std::string name(std::string_view text) const {
    return format_name(text, options_.syntax_version);
  }

  void items(const std::vector<Node>& nodes, std::size_t first = 0) {
    for (std::size_t i = first; i < nodes.size(); ++i) {
      if (i > first) out_ += ", ";
      item(nodes[i]);
    }
  }
  void in_parentheses(const Node& node) {
    out_ += '(';
    item(node);
    out_ += ')';
  }
  // Where an alias needs parentheses.
  void expression(const Node& node) {
    if (has_alias(node)) return in_parentheses(node);
    plain(node);
  }
  void operand(const Node& node) {
    switch (node.kind) {
      case NodeKind::kUnary:
      case NodeKind::kBinary:
      case NodeKind::kAnd:
      case NodeKind::kOr:
      case NodeKind::kNot:
      case NodeKind::kIsNull:
      case NodeKind::kIn:
      case NodeKind::kBetween:
      case NodeKind::kLike: return in_parentheses(node);
      default: return expression(node);
    }
  }
  // What a member or an element is taken of.
  void base(const Node& node, bool of_name) {
    const bool reference = node.kind == NodeKind::kReference && (!node.table.empty() || !of_name);
    const bool direct = reference || node.kind == NodeKind::kMember ||
                        node.kind == NodeKind::kElement || node.kind == NodeKind::kCall;
    if (direct && !has_alias(node)) return plain(node);
    in_parentheses(node);
  }

  void source(const Source& source) {
    if (!source.subquery.empty()) {
      out_ += '(';
      query(source.subquery[0]);
      out_ += ')';
    } else if (!source.arrays.empty()) {
      out_ += '(';
      items(source.arrays);
      out_ += ')';
    } else {
      out_ += name(source.path);
    }
    if (!source.alias.empty()) out_ += " AS " + name(source.alias);
    if (!source.hint.empty()) out_ += " WITH HINT " + quote(source.hint);
    if (source.index_path.empty()) return;
    out_ += " WITH INDEX " + name(source.index_path);
    if (!source.index_alias.empty()) out_ += " AS " + name(source.index_alias);
  }

  void join(const JoinClause& clause) {
    if (clause.left) out_ += " LEFT";
    if (!clause.arrays.empty()) {
      out_ += " ARRAY JOIN ";
      items(clause.arrays);
    } else {
      out_ += " JOIN ";
      source(clause.source);
      if (!clause.columns.empty()) {
        out_ += " USING ";
        items(clause.columns);
      } else {
        out_ += " ON ";
        operand(clause.sides[0]);
        out_ += " = ";
        operand(clause.sides[1]);
      }
    }
    if (!clause.predicate) return;
    out_ += " AND ";
    expression(*clause.predicate);
  }

  void groups(const SelectQuery& query) {
    out_ += " GROUP BY ";
    items(query.group_by);
    if (query.totals == Totals::kBeforeHaving) out_ += " WITH TOTALS";
    if (!query.having) return;
    out_ += " HAVING ";
    expression(*query.having);
    if (query.totals == Totals::kAfterHaving) out_ += " WITH TOTALS";
  }

  void literal(const Node& node);
  void named(const Node& node);
  void in_test(const Node& node) {
    operand(node.operands[0]);
    out_ += node.negated ? " NOT IN " : " IN ";
    if (!node.is_list) return plain(node.operands[1]);
    out_ += '(';
    items(node.operands, 1);
    out_ += ')';
  }
  void between_test(const Node& node);
  void like_test(const Node& node);
  void transform(const Node& node);
  void case_of(const Node& node);

  const FormatOptions options_;
  std::string out_;
};

void Formatter::literal(const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull: out_ += "null"; break;
    case NodeKind::kInt64: out_ += std::to_string(node.as_int64()); break;
    case NodeKind::kUint64: out_ += std::to_string(node.word) + "u"; break;
    case NodeKind::kDouble: out_ += double_text(node.as_double()); break;
    case NodeKind::kBoolean: out_ += node.word != 0 ? "true" : "false"; break;
    case NodeKind::kString: out_ += quote(node.text); break;
    case NodeKind::kPlaceholder: out_ += "{" + name(node.text) + "}"; break;
    default: break;
  }
}

// Names, and what follows them.
void Formatter::named(const Node& node) {
  switch (node.kind) {
    case NodeKind::kReference:
      if (!node.table.empty()) out_ += name(node.table) + ".";
      out_ += name(node.text);
      break;
    case NodeKind::kMember: {
      const bool is_number = is_digit(node.text[0]);
      base(node.operands[0], !is_number);
      out_ += "." + (is_number ? node.text : name(node.text));
      break;
    }
    case NodeKind::kElement:
      base(node.operands[0], false);
      out_ += '[';
      expression(node.operands[1]);
      out_ += ']';
      break;
    case NodeKind::kCall:
      out_ += name(node.text) + "(";
      items(node.operands);
      out_ += ')';
      break;
    default: break;
  }
}

void Formatter::plain(const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull:
    case NodeKind::kInt64:
    case NodeKind::kUint64:
    case NodeKind::kDouble:
    case NodeKind::kBoolean:
    case NodeKind::kString:
    case NodeKind::kPlaceholder: literal(node); break;
    case NodeKind::kReference:
    case NodeKind::kMember:
    case NodeKind::kElement:
    case NodeKind::kCall: named(node); break;
    case NodeKind::kUnary:
      out_ += to_string(node.op);
      operand(node.operands[0]);
      break;
    case NodeKind::kBinary:
      operand(node.operands[0]);
      out_ += fmt::format(" {} ", to_string(node.op));
      operand(node.operands[1]);
      break;
    case NodeKind::kAnd:
    case NodeKind::kOr:
      for (std::size_t i = 0; i < node.operands.size(); ++i) {
        if (i > 0) out_ += node.kind == NodeKind::kAnd ? " AND " : " OR ";
        operand(node.operands[i]);
      }
      break;
    case NodeKind::kNot:
      out_ += "NOT ";
      operand(node.operands[0]);
      break;
    case NodeKind::kIsNull:
      operand(node.operands[0]);
      out_ += node.negated ? " IS NOT NULL" : " IS NULL";
      break;
    case NodeKind::kTuple:
      out_ += '(';
      items(node.operands);
      out_ += ')';
      break;
    case NodeKind::kIn: in_test(node); break;
    case NodeKind::kBetween: between_test(node); break;
    case NodeKind::kLike: like_test(node); break;
    case NodeKind::kTransform: transform(node); break;
    case NodeKind::kCase: case_of(node); break;
    case NodeKind::kCast:
      out_ += "CAST(";
      expression(node.operands[0]);
      out_ += " AS " + name(node.text) + ")";
      break;
    case NodeKind::kSubquery:
      out_ += '(';
      query(node.subquery[0]);
      out_ += ')';
      break;
  }
}

void Formatter::between_test(const Node& node) {
  operand(node.operands[0]);
  out_ += node.negated ? " NOT BETWEEN " : " BETWEEN ";
  if (node.is_list) out_ += '(';
  for (std::size_t i = 1; i + 1 < node.operands.size(); i += 2) {
    if (i > 1) out_ += ", ";
    // `(a AND b)` or `(a AND b, c)` after BETWEEN would begin with a pair of bounds.
    const Node& low = node.operands[i];
    const Node& first = low.kind == NodeKind::kTuple ? low.operands[0] : low;
    const bool looks_like_a_pair = !node.is_list && first.kind == NodeKind::kAnd;
    if (looks_like_a_pair) out_ += '(';
    operand(node.operands[i]);
    if (looks_like_a_pair) out_ += ')';
    out_ += " AND ";
    operand(node.operands[i + 1]);
  }
  if (node.is_list) out_ += ')';
}

void Formatter::like_test(const Node& node) {
  operand(node.operands[0]);
  out_ += fmt::format(" {}{} ", node.negated ? "NOT " : "", to_string(node.op));
  operand(node.operands[1]);
  if (node.operands.size() < 3) return;
  out_ += " ESCAPE ";
  operand(node.operands[2]);
}

void Formatter::transform(const Node& node) {
  out_ += "TRANSFORM(";
  item(node.operands[0]);
  for (std::size_t i = 1; i < node.operands.size(); ++i) {
    out_ += ", ";
    item(node.operands[i]);
  }
  out_ += ')';
}

void Formatter::case_of(const Node& node) {
  out_ += "CASE";
  std::size_t at = 0;
  if (node.has_subject) {
    out_ += ' ';
    expression(node.operands[at++]);
  }
  const std::size_t end = node.operands.size() - (node.has_else ? 1 : 0);
  for (; at < end; at += 2) {
    out_ += " WHEN ";
    expression(node.operands[at]);
    out_ += " THEN ";
    expression(node.operands[at + 1]);
  }
  if (node.has_else) {
    out_ += " ELSE ";
    expression(node.operands[at]);
  }
  out_ += " END";
}

}  // namespace

std::string format_name(std::string_view name, int syntax_version) {
  if (is_plain_name(name)) return std::string(name);
  if (syntax_version == kSyntaxVersionMin && has_balanced_brackets(name)) {
    return fmt::format("[{}]", name);
  }
  return quote(name, '`');
}

std::string format(const SelectQuery& query, const FormatOptions& options) {
  Formatter formatter(options);
  formatter.query(query);
  return formatter.take();
}

std::string format(const Node& node, const FormatOptions& options) {
  Formatter formatter(options);
  formatter.item(node);
  return formatter.take();
}

std::string output_name(const Node& node, int syntax_version) {
  if (!node.alias.empty()) return node.alias;
  if (node.kind == NodeKind::kReference) {
    return node.table.empty() ? node.text : node.table + "." + node.text;
  }
  Formatter formatter({.syntax_version = syntax_version, .aliases = false});
  formatter.plain(node);
  return formatter.take();
}

}  // namespace moraine::query
