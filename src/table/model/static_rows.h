// StaticRows: the rows of one write to a static table, checked and in order.
//
// A table whose keys may repeat, or that has no key columns, keeps a row number as its last key
// column (kRowNumberColumn): stored keys are unique, and rows keep their order.
//
// A table whose schema is not strict keeps values of columns that the schema does not name as one
// map by name, in its last column (kOtherColumns).
//
// Promise    Rows are checked against the schema when they are added; a rejected row leaves the
//            rest unchanged. A cursor returns all rows with one timestamp. Nulls take no space.
// Threading  One thread at a time.
// Limits     kStaticWriteBytesMax bytes of rows, and those of limits.h: kColumnsMax columns of a
//            row that the schema does not name, kValueBytesMax together.
// Errors     kInvalidArgument: as ChangeSet; "Sort order violation", "Duplicate key" with the keys.
// Tests      static_rows_test.cpp.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "table/model/row_cursor.h"
#include "table/model/row_layout.h"

namespace moraine::table {

inline constexpr std::string_view kRowNumberColumn = "$row_number";
inline constexpr std::string_view kOtherColumns = "$other_columns";
inline constexpr std::size_t kStaticWriteBytesMax = std::size_t{512} << 20;

// What a write does with the rows that the table has.
enum class StaticWrite : std::uint8_t {
  kAppend,   // They stay: the new ones are above them.
  kReplace,  // They are gone.
};

class StaticRows;
// The batches of one long write, in order; null: the end.
using StaticBatches = std::function<Task<Result<std::shared_ptr<const StaticRows>>>()>;

// The schema by which rows of a static table are stored: with a row number, unless keys are unique,
// and with kOtherColumns, unless the schema is strict.
TableSchema stored_schema(const TableSchema& schema);
bool has_row_numbers(const TableSchema& schema);

class StaticRows {
 public:
  // `layout`: of the schema that readers see.
  explicit StaticRows(std::shared_ptr<const RowLayout> layout);

  Result<void> add(NamedRow row);
  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  std::size_t bytes() const { return bytes_; }
  const TableSchema& schema() const { return layout_->schema(); }
  // The stored keys of the first and the last row when `number` rows precede them.
  std::string first_key(std::uint64_t number) const;
  std::string last_key(std::uint64_t number) const;
  // kInvalidArgument, with both keys: the first row is not above the stored key `last`.
  Result<void> check_above(std::uint64_t number, const std::string& last) const;
  // Rows by their stored keys, written at the timestamp. The cursor keeps them alive.
  static std::unique_ptr<RowCursor> cursor(std::shared_ptr<const StaticRows> rows,
                                           std::uint64_t first_number, Timestamp timestamp);
  // The same of batches, of which it keeps one. Its load() fails if keys do not ascend from `last`.
  static std::unique_ptr<RowCursor> cursor(StaticBatches batches, std::uint64_t first_number,
                                           std::string last, Timestamp timestamp);

 private:
  friend class StaticRowCursor;
  struct Row {
    std::string key;
    std::vector<VersionedValue> values;  // Without timestamps.
  };

  Result<void> read(NamedRow row);
  Result<void> read_other(const NamedValue& named);
  // The value of kOtherColumns: the current row's, or null.
  Result<Value> other_columns();
  void keep(std::size_t column, Value value, Row& row);
  Result<void> check_order(const std::string& key) const;
  std::string stored_key(std::size_t row, std::uint64_t first_number) const;

  std::shared_ptr<const RowLayout> layout_;
  const bool numbered_;
  std::deque<Row> rows_;
  std::size_t bytes_ = 0;
  TextMemory texts_;
  // The current row, by column.
  std::vector<Value> cells_;
  std::vector<std::uint8_t> given_;
  std::vector<NamedValue> others_;  // Of columns that the schema does not name, as `any`.
  TextMemory memory_;
};

// The key columns in printable form: `(1, "abc", #)`; long ones are cut.
std::string printable_key(std::string_view key);

}  // namespace moraine::table
