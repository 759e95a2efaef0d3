// Rows inside blocks: how the versions of one row are written, checked and read.
//
// clang-format off
//   kind      bit 0: some value is null; bit 1: some value is absent; bit 2: general, alone
//   single    [null bits] [absent bits] cell*
//             one write that sets the columns, no deletes; cells of the columns in order
//   general   writes varint  deletes varint  drop*  cells varint  general cell*
//   drop      varint; timestamp = that before it in its list (at first the row's newest) - drop
//   general cell = column varint  flags u8  write varint  payload
//             flags: 1 delta, 2 hunk, 4 null, 8 a hunk of type any; write: its place in the list
//   payload   cell | hunk reference of kHunkRefBytes | nothing when null
//   cell      int64: zigzag varint; uint64: varint; double: 8 bytes; boolean: u8;
//             string: varint size, bytes; any: type u8, then as of that type
//   hunk reference in a block: as in hunk.h, but instead of the blob's id
//             place u32 (bit 31: a new blob's ordinal, else a carried one's)  zeros
// clang-format on
//
// Promise    read_row() returns what append_row() wrote. check_row() accepts nothing on which
//            read_row() would leave its bytes or return a row that breaks VersionedRow's
//            invariants.
// Threading  Pure.
// Tests      chunk_test.cpp, chunk_block_fuzz.cpp.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "moraine/schema.h"
#include "table/chunk/varint.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

enum RowKind : std::uint8_t { kRowNulls = 1, kRowAbsents = 2, kRowGeneral = 4 };

// The physical types of a chunk's value columns, in order.
using CellTypes = std::span<const ValueType>;

// How columns of a chunk map to columns of the table.
struct ReadPlan {
  struct Column {
    ValueType type = ValueType::kNull;
    bool known = false;  // The table has it.
    ColumnIndex target = 0;
  };
  std::vector<Column> columns;
  bool ordered = true;  // Targets ascend.

  bool wants(std::size_t column, const ColumnSet* set) const {
    const Column& c = columns[column];
    return c.known && (set == nullptr || set->has(c.target));
  }
};

// The null and absent bits before the cells of a single row. Requires: check_row.
class SingleMarks {
 public:
  // Moves `at` to the first cell.
  SingleMarks(const std::byte*& at, std::uint8_t kind, std::size_t columns) {
    const std::size_t size = (columns + 7) / 8;
    if ((kind & kRowNulls) != 0) {
      nulls_ = at;
      at += size;
    }
    if ((kind & kRowAbsents) != 0) {
      absents_ = at;
      at += size;
    }
  }
  bool is_null(std::size_t column) const { return has(nulls_, column); }
  bool is_absent(std::size_t column) const { return has(absents_, column); }

 private:
  static bool has(const std::byte* marks, std::size_t i) {
    return marks != nullptr && (static_cast<unsigned>(marks[i / 8]) >> (i % 8) & 1) != 0;
  }
  const std::byte* nulls_ = nullptr;
  const std::byte* absents_ = nullptr;
};

// The newest of its writes and deletes. Requires: it has one.
Timestamp newest_timestamp(const VersionedRow& row);

// Appends a body and returns its kind. Columns of `row` count from `first_column` on; hunks are in
// their stored form. Errors: kInvalidArgument: a value of another type than its column.
Result<std::uint8_t> append_row(std::string& out, CellTypes types, const VersionedRow& row,
                                ColumnIndex first_column);

// Afterwards `in` is at the end of the body. Positions of hunk references are added to `hunks`.
bool check_row(VarintReader& in, CellTypes types, std::uint8_t kind, Timestamp newest,
               std::vector<const std::byte*>& hunks);

// Adds what `spec` requests; false when that is nothing. Requires: check_row.
bool read_row(const std::byte* at, std::uint8_t kind, const ReadPlan& plan, Timestamp newest,
              const ReadSpec& spec, RowBuilder& out);

// Sorts the values from `from` on into the order of a VersionedRow.
void put_in_column_order(RowBuilder& out, std::size_t from);

// One cell.
Result<void> append_cell_bytes(std::string& out, ValueType type, const Value& value);
bool check_cell(VarintReader& in, ValueType type);
// Requires: check_cell.
inline const std::byte* read_cell(const std::byte* at, ValueType type, Value& out) {
  if (type == ValueType::kAny) type = static_cast<ValueType>(*at++);
  switch (type) {
    case ValueType::kInt64: out = Value(unzigzag(get_varint(at))); return at;
    case ValueType::kUint64: out = Value(get_varint(at)); return at;
    case ValueType::kDouble:
      out = Value(std::bit_cast<double>(load<std::uint64_t>(at)));
      return at + sizeof(double);
    case ValueType::kBoolean: out = Value(*at != std::byte{0}); return at + 1;
    default: break;
  }
  const std::uint64_t size = get_varint(at);
  const std::string_view text(reinterpret_cast<const char*>(at), size);
  out = type == ValueType::kAny ? Value::any(text) : Value(text);
  return at + size;
}

// Seconds and counters of timestamps are packed separately: each of them varies little.
struct TimeParts {
  std::uint64_t seconds = 0;
  std::uint64_t counter = 0;
};
inline TimeParts time_parts(Timestamp timestamp) {
  return {.seconds = unix_seconds(timestamp),
          .counter = timestamp & ((Timestamp{1} << kTimestampCounterBits) - 1)};
}
inline Timestamp make_time(TimeParts parts) {
  return (parts.seconds << kTimestampCounterBits) + parts.counter;
}

}  // namespace moraine::table
