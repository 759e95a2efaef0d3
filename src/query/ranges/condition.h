// ConditionReader: conditions to sets of keys. Internal to infer.h.
#pragma once

#include <span>

#include "moraine/schema.h"
#include "query/plan/expression.h"
#include "query/ranges/key_set.h"
#include "table/model/text_memory.h"

namespace moraine::query {

// The keys of rows for which a condition holds; not exact: more than those.
struct Condition {
  KeySet keys;
  bool exact = false;
};

class ConditionReader {
 public:
  ConditionReader(std::span<const std::size_t> columns, const TableSchema& schema,
                  KeySetBuilder& builder, table::TextMemory& texts)
      : columns_(columns), key_count_(schema.key_count()), builder_(builder), texts_(texts) {}

  // Rows for which the expression is true, or false: null is neither. NOT is thus pushed to the
  // leaves, and only a leaf that is exact is inverted.
  Condition read(const Expression& e, bool wanted);

 private:
  using Operands = std::span<const Expression>;

  Condition unknown() const { return {.keys = nullptr, .exact = false}; }
  Condition constant(bool holds) {
    return {.keys = holds ? nullptr : builder_.none(), .exact = true};
  }
  Condition all_of(std::vector<Condition> parts);
  Condition any_of(std::vector<Condition> parts);

  // One value: column op constant, either way round.
  Condition component(const Expression& left, const Expression& right, Operator op,
                      NullRelation nulls);
  Condition compare_column(std::size_t column, Operator op, const Value& value, NullRelation nulls);
  Condition tuple(Operands left, Operands right, Operator op, NullRelation nulls);
  Condition in(const Expression& e, bool wanted);
  Condition between(const Expression& e, bool wanted);
  Condition call(const Expression& e, bool wanted);
  Condition like(const Expression& e, bool wanted);
  // Texts that begin with the prefix, or texts that do not.
  Condition prefix(std::size_t column, std::string_view text, bool wanted);
  // nullopt: no key column.
  std::optional<std::size_t> key_column(const Expression& e) const;

  const std::span<const std::size_t> columns_;
  const std::size_t key_count_;
  KeySetBuilder& builder_;
  table::TextMemory& texts_;
};

}  // namespace moraine::query
