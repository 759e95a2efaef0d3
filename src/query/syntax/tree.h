// The syntax tree of the YT query language: what was written, before names and types are known.
//
// Promise    Plain data, owned by value. Equality ignores positions and depths, so that the tree of
//            a text equals the tree of the same text formatted again (format.h).
// Invariants AND and OR have two operands or more: `a and b and c` is one node. Parentheses leave
//            no trace, except that `(a and b) and c` is a node in a node.
// Threading  Plain data.
// Limits     kQueryDepthMax nested nodes and subqueries: every walk over a tree may recurse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace moraine::query {

inline constexpr std::size_t kQueryDepthMax = 100;

enum class NodeKind : std::uint8_t {
  kNull,
  kInt64,
  kUint64,
  kDouble,
  kBoolean,
  kString,       // text
  kPlaceholder,  // {text}
  kReference,    // [table.]text
  kMember,       // operands[0].text; the text of a tuple's item is its number
  kElement,      // operands[0][operands[1]]
  kCall,         // text(operands...)
  kUnary,        // op operands[0]
  kBinary,       // operands[0] op operands[1]
  kAnd,
  kOr,
  kNot,
  kIsNull,     // operands[0] IS [NOT] NULL
  kTuple,      // (operands...), two or more
  kIn,         // operands[0] [NOT] IN (operands[1...]), or IN {placeholder}
  kBetween,    // operands[0] [NOT] BETWEEN the pairs in operands[1...]
  kLike,       // operands[0] [NOT] op operands[1] [ESCAPE operands[2]]
  kTransform,  // TRANSFORM(subject, from, to[, default]); from and to are kTuple of any size
  kCase,       // [CASE subject] pairs of WHEN, THEN [ELSE]; see has_subject, has_else
  kCast,       // CAST(operands[0] AS text)
  kSubquery,   // (SELECT ...)
};

enum class Operator : std::uint8_t {
  kNone,
  kPlus,
  kMinus,
  kBitNot,
  kMultiply,
  kDivide,
  kModulo,
  kConcat,
  kShiftLeft,
  kShiftRight,
  kBitAnd,
  kBitXor,
  kBitOr,
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kLike,
  kIlike,
  kRegexp,  // Also RLIKE.
};
std::string_view to_string(Operator op);

struct SelectQuery;

struct Node {
  NodeKind kind = NodeKind::kNull;
  Operator op = Operator::kNone;
  bool negated = false;      // IS NOT NULL, NOT IN, NOT BETWEEN, NOT LIKE.
  bool has_subject = false;  // Of CASE.
  bool has_else = false;
  bool is_list = false;     // BETWEEN (lo AND hi, ...); IN {placeholder} is none.
  std::uint16_t depth = 1;  // Of the tree below it.
  std::uint32_t at = 0;     // Of its first byte in the text.
  std::uint64_t word = 0;   // Of a number: its bits. Of a boolean: 0 or 1.
  std::string text{};
  std::string table{};
  std::string alias{};
  std::vector<Node> operands;
  std::vector<SelectQuery> subquery;  // None or one.

  bool operator==(const Node& other) const;
  std::int64_t as_int64() const { return static_cast<std::int64_t>(word); }
  double as_double() const { return __builtin_bit_cast(double, word); }
};

// A table, a subquery, or arrays that are read in parallel.
struct Source {
  std::string path{};
  std::string alias{};
  std::string hint{};  // YSON.
  std::string index_path{};
  std::string index_alias{};
  std::vector<SelectQuery> subquery;  // None or one.
  std::vector<Node> arrays;           // Each has an alias.
  std::uint32_t at = 0;
  bool operator==(const Source& other) const;
};

struct JoinClause {
  bool left = false;
  Source source;              // Not of ARRAY JOIN.
  std::vector<Node> arrays;   // ARRAY JOIN: each has an alias.
  std::vector<Node> columns;  // USING: references.
  std::vector<Node> sides;    // ON: two.
  std::optional<Node> predicate;
  std::uint32_t at = 0;
  bool operator==(const JoinClause& other) const;
};

enum class Totals : std::uint8_t { kNone, kBeforeHaving, kAfterHaving };

struct OrderItem {
  Node node;
  bool descending = false;
  bool operator==(const OrderItem&) const = default;
};

struct SelectQuery {
  std::vector<Node> projections;  // Empty: `*`.
  Source from;
  std::vector<JoinClause> joins;
  std::optional<Node> where;
  std::vector<Node> group_by;
  std::optional<Node> having;
  Totals totals = Totals::kNone;
  std::vector<OrderItem> order_by;
  std::optional<std::uint64_t> offset{};
  std::optional<std::uint64_t> limit{};
  std::uint16_t depth = 1;
  std::uint32_t at = 0;
  bool operator==(const SelectQuery& other) const;
};

Node make_node(NodeKind kind, std::uint32_t at);

}  // namespace moraine::query
