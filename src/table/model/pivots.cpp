#include "table/model/pivots.h"

#include <fmt/format.h>

#include "table/model/key.h"
#include "table/model/ordered.h"

namespace moraine::table {
namespace {

struct IntegerRange {
  bool is_signed = false;
  unsigned bits = 0;  // 0: no integer type.
};

IntegerRange range_of(ColumnType type) {
  switch (type) {
    case ColumnType::kInt8: return {true, 8};
    case ColumnType::kInt16: return {true, 16};
    case ColumnType::kInt32: return {true, 32};
    case ColumnType::kInt64: return {true, 64};
    case ColumnType::kUint8: return {false, 8};
    case ColumnType::kUint16: return {false, 16};
    case ColumnType::kUint32: return {false, 32};
    case ColumnType::kUint64: return {false, 64};
    default: return {};
  }
}

}  // namespace

Result<std::string> encode_pivot(const TableSchema& schema, std::span<const Value> columns) {
  if (schema.key_count() == 0 && !columns.empty()) {  // Of an ordered table.
    return encode_pivot(ordered_schema(schema), columns);
  }
  if (columns.size() > schema.key_count()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Pivot key has {} columns, and the key of the table has {}",
                            columns.size(), schema.key_count()));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    const ValueType expected = physical_type(column.type);
    if (columns[i].is_null() || columns[i].type() == expected) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("Mismatched type of column \"{}\" in pivot key: expected {}, found {}",
                            column.name, to_string(expected), to_string(columns[i].type())));
  }
  std::string pivot = encode_key(columns);
  if (pivot.size() > kKeyBytesMax) {
    return fail(Errc::kInvalidArgument, fmt::format("Pivot key of {} bytes: at most {} are allowed",
                                                    pivot.size(), kKeyBytesMax));
  }
  return pivot;
}

Result<std::vector<std::string>> uniform_pivots(const TableSchema& schema, std::size_t tablets) {
  if (tablets == 0) return fail(Errc::kInvalidArgument, "Tablet count must be positive");
  if (schema.key_count() == 0) {
    std::vector<std::string> first_keys;
    for (std::size_t i = 1; i < tablets; ++i) first_keys.push_back(tablet_pivot(i));
    return first_keys;
  }
  const IntegerRange range = range_of(schema.columns[0].type);
  if (range.bits == 0) {
    return fail(Errc::kInvalidArgument,
                "Table cannot be resharded uniformly: its first key column is not of an integer "
                "type");
  }
  using Wide = unsigned __int128;
  std::vector<std::string> pivots;
  for (std::size_t i = 1; i < tablets; ++i) {
    const auto offset = static_cast<std::uint64_t>((Wide{i} << range.bits) / tablets);
    if (offset == 0 || (!pivots.empty() && tablets > (Wide{1} << range.bits))) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("The first key column has too few values for {} tablets", tablets));
    }
    const std::uint64_t least = range.is_signed ? std::uint64_t{1} << (range.bits - 1) : 0;
    const Value value =
        range.is_signed ? Value(static_cast<std::int64_t>(offset - least)) : Value(offset);
    pivots.push_back(encode_key(std::span(&value, 1)));
  }
  return pivots;
}

}  // namespace moraine::table
