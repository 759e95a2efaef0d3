#include "query/execute/vector.h"

#include <atomic>

namespace moraine::query {

std::uint64_t new_table_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t word_of_value(const Value& value) {
  switch (value.type()) {
    case ValueType::kInt64: return static_cast<std::uint64_t>(value.as_int64());
    case ValueType::kUint64: return value.as_uint64();
    case ValueType::kDouble: return std::bit_cast<std::uint64_t>(value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? 1 : 0;
    default: return 0;
  }
}

Value value_of_word(ValueType type, std::uint64_t word) {
  switch (type) {
    case ValueType::kInt64: return static_cast<std::int64_t>(word);
    case ValueType::kUint64: return word;
    case ValueType::kDouble: return std::bit_cast<double>(word);
    case ValueType::kBoolean: return word != 0;
    default: return {};
  }
}

Value Column::value(std::size_t row) const {
  if (type == ValueType::kNull || is_null(row)) return {};
  if (type == ValueType::kString) return text(row);
  if (type == ValueType::kAny) return Value::any(text(row));
  return value_of_word(type, words[at(row)]);
}

}  // namespace moraine::query
