#include "table/chunk/column_filter.h"

#include <algorithm>
#include <bit>

#include "table/chunk/column_segment.h"

namespace moraine::table {
namespace {

using Op = ColumnFilter::Op;

// `least` and `greatest`: how they compare with the filter's value.
bool may_pass_between(Op op, std::strong_ordering least, std::strong_ordering greatest) {
  switch (op) {
    case Op::kEqual: return least <= 0 && greatest >= 0;
    case Op::kNotEqual: return !(least == 0 && greatest == 0);
    case Op::kLess: return least < 0;
    case Op::kLessOrEqual: return least <= 0;
    case Op::kGreater: return greatest > 0;
    case Op::kGreaterOrEqual: return greatest >= 0;
    case Op::kIsNull:
    case Op::kIsNotNull: break;
  }
  return true;
}

bool holds(Op op, std::uint64_t value, std::uint64_t wanted) {
  switch (op) {
    case Op::kEqual: return value == wanted;
    case Op::kNotEqual: return value != wanted;
    case Op::kLess: return value < wanted;
    case Op::kLessOrEqual: return value <= wanted;
    case Op::kGreater: return value > wanted;
    case Op::kGreaterOrEqual: return value >= wanted;
    case Op::kIsNull:
    case Op::kIsNotNull: break;
  }
  return false;
}

// Numbers of the filter's own type. `O` is a template argument so that the loop has no branches.
template <Op O, ValueType T>
void select_words(const ColumnVector& column, std::uint64_t wanted,
                  std::vector<std::uint32_t>& rows) {
  std::size_t kept = 0;
  const std::uint8_t* nulls = column.nulls.empty() ? nullptr : column.nulls.data();
  for (const std::uint32_t row : rows) {
    const bool fits = holds(O, ordered_word(T, column.words[row]), wanted);
    rows[kept] = row;
    kept += fits && (nulls == nullptr || nulls[row] == 0) ? 1 : 0;
  }
  rows.resize(kept);
}

template <ValueType T>
void select_typed(const ColumnFilter& filter, const ColumnVector& column,
                  std::vector<std::uint32_t>& rows) {
  const std::uint64_t wanted = ordered_word(T, word_of(filter.value));
  switch (filter.op) {
    case Op::kEqual: return select_words<Op::kEqual, T>(column, wanted, rows);
    case Op::kNotEqual: return select_words<Op::kNotEqual, T>(column, wanted, rows);
    case Op::kLess: return select_words<Op::kLess, T>(column, wanted, rows);
    case Op::kLessOrEqual: return select_words<Op::kLessOrEqual, T>(column, wanted, rows);
    case Op::kGreater: return select_words<Op::kGreater, T>(column, wanted, rows);
    case Op::kGreaterOrEqual: return select_words<Op::kGreaterOrEqual, T>(column, wanted, rows);
    case Op::kIsNull:
    case Op::kIsNotNull: break;
  }
}

template <class T>
void gather_items(std::vector<T>& items, const std::vector<std::uint32_t>& rows) {
  if (items.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) items[i] = items[rows[i]];
  items.resize(rows.size());
}

}  // namespace

bool may_pass(const ColumnFilter& filter, ValueType type, const ColumnRange& range) {
  if (filter.op == Op::kIsNull) return range.nulls;
  if (!range.values) return false;
  if (filter.op == Op::kIsNotNull || filter.value.type() != type) return true;
  if (!is_text_type(type)) {
    const std::uint64_t wanted = ordered_word(type, word_of(filter.value));
    return may_pass_between(filter.op, range.least <=> wanted, range.greatest <=> wanted);
  }
  const std::string_view wanted = filter.value.text();
  auto least = std::string_view(range.least_text) <=> wanted;
  // A least text that may be cut is at or below the real one: if equal, it proves nothing.
  if (least == 0 && range.least_text.size() >= kRangeTextBytes) least = std::strong_ordering::less;
  auto greatest = std::string_view(range.greatest_text) <=> wanted;
  if (range.greatest_cut && wanted.starts_with(range.greatest_text)) {
    greatest = std::strong_ordering::greater;
  }
  return may_pass_between(filter.op, least, greatest);
}

Value value_at(const ColumnVector& column, std::size_t row) {
  if (!column.nulls.empty() && column.nulls[row] != 0) return {};
  switch (column.type) {
    case ValueType::kInt64: return Value(static_cast<std::int64_t>(column.words[row]));
    case ValueType::kUint64: return Value(column.words[row]);
    case ValueType::kDouble: return Value(std::bit_cast<double>(column.words[row]));
    case ValueType::kBoolean: return Value(column.words[row] != 0);
    case ValueType::kString: return Value(column.texts[row]);
    case ValueType::kAny: return Value::any(column.texts[row]);
    case ValueType::kNull: break;
  }
  return {};
}

void select(const ColumnFilter& filter, const ColumnVector& column,
            std::vector<std::uint32_t>& rows) {
  const bool compares = filter.op != Op::kIsNull && filter.op != Op::kIsNotNull;
  if (compares && filter.value.type() == column.type) {
    switch (column.type) {
      case ValueType::kInt64: return select_typed<ValueType::kInt64>(filter, column, rows);
      case ValueType::kUint64: return select_typed<ValueType::kUint64>(filter, column, rows);
      case ValueType::kDouble: return select_typed<ValueType::kDouble>(filter, column, rows);
      default: break;
    }
  }
  std::erase_if(rows, [&](std::uint32_t row) { return !fits(filter, value_at(column, row)); });
}

void gather(ColumnVector& column, const std::vector<std::uint32_t>& rows) {
  gather_items(column.words, rows);
  gather_items(column.texts, rows);
  gather_items(column.nulls, rows);
}

}  // namespace moraine::table
