// RowReader: rows of a tabular input, as values of a table's columns.
//
// Promise    Rows are returned as they arrive. Values are of their columns' types, by the
//            conversions that the format allows. Texts live until forget().
// Errors     Code::kYson: the input is no list of maps. Code::kSchemaViolation: an unknown column,
//            unless the schema is weak, or a computed one, a wrong type.
// Limits     kYsonStringBytesMax of a value, kRowBytesMax of a row's input. What was read and not
//            forgotten counts among what all requests hold (Door).
// Threading  One thread at a time.
// Tests      rows_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gateway/yt/call.h"
#include "moraine/row.h"
#include "moraine/rowset.h"
#include "moraine/schema.h"
#include "table/model/column_names.h"
#include "table/model/value_check.h"
#include "yson/writer.h"

namespace moraine::yt {

// Of one row, as the client writes it: twice the largest row (kRowWeightMax).
inline constexpr std::size_t kRowBytesMax = std::size_t{256} << 20;

class RowReader {
 public:
  enum class Step : std::uint8_t { kRow, kNeedsInput, kEnd };
  // Which columns rows may have.
  enum class Shape : std::uint8_t { kRow, kKey };

  // Of the call's data. The call and `schema` outlive it.
  static YtResult<RowReader> make(Call& call, const TableSchema& schema, Shape shape);

  // Does not wait. kNeedsInput: call load().
  YtResult<Step> next();
  Task<YtResult<void>> load();

  // What the row has, in the order of the input.
  const std::vector<NamedValue>& values() const { return values_; }
  // With nulls for key columns that it has not and that are not computed.
  const std::vector<NamedValue>& complete_row();
  // The values of the key columns that are not computed.
  std::vector<Value> key() const;
  void append_key(std::vector<Value>& to) const;
  bool has_value_column() const { return has_value_column_; }
  std::size_t rows() const { return rows_; }
  // Of the texts that were not forgotten.
  std::size_t text_bytes() const { return text_bytes_; }
  void forget();

 private:
  RowReader(Call& call, const TableSchema& schema, Shape shape, std::unique_ptr<YsonSource> source);

  // True: the row is complete.
  YtResult<bool> on(const YsonEvent& event);
  YtResult<void> begin_value(std::string_view name);
  const ColumnSchema& column() const {
    return column_ < schema_->columns.size() ? schema_->columns[column_] : other_;
  }
  YtResult<void> scalar(const YsonEvent& event);
  YtResult<void> nested(const YsonEvent& event);
  YtResult<void> add(Value value);
  std::string_view keep(std::string_view text);
  Value value_of(const YsonEvent& event);
  std::optional<std::size_t> find_column(std::string_view name);

  Input* input_;
  const TableSchema* schema_;
  table::ColumnNames names_;
  Shape shape_;
  table::ValueRules rules_;
  std::unique_ptr<YsonSource> source_;
  Slice part_;
  std::unique_ptr<http::AnswerRoom> room_;
  std::size_t loaded_bytes_ = 0;  // Since forget().
  bool row_open_ = false;
  std::size_t rows_ = 0;
  std::vector<NamedValue> values_;
  std::vector<std::size_t> columns_;  // Of values_.
  std::vector<std::size_t> given_;    // By column: the row that had it last, counted from 1.
  bool has_value_column_ = false;
  std::size_t column_ = 0;         // The one whose value comes next; past the last: other_.
  ColumnSchema other_;             // One that a weak schema does not name.
  std::size_t skipped_depth_ = 0;  // Of attributes that are not kept.
  std::size_t nested_depth_ = 0;   // Of a value that is kept as YSON.
  bool has_attributes_ = false;    // The nested value is not complete yet.
  std::string nested_;
  std::unique_ptr<YsonWriter> nested_writer_;
  std::unique_ptr<Rowset> texts_ = std::make_unique<Rowset>();
  table::TextMemory converted_;
  std::size_t text_bytes_ = 0;
};

}  // namespace moraine::yt
