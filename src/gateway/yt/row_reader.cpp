#include "gateway/yt/row_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/yt/door_lane.h"

namespace moraine::yt {
namespace {

using Kind = YsonEvent::Kind;

// Data that is not counted: most requests change no counter that lanes share.
constexpr std::size_t kLoadedBytesFree = std::size_t{256} << 10;

}  // namespace

YtResult<RowReader> RowReader::make(Call& call, const TableSchema& schema, Shape shape) {
  YsonLimits limits;
  limits.item_bytes_max = kRowBytesMax;
  YT_TRY(auto source, make_source(call.input_format, YsonDocument::kListFragment, limits));
  return RowReader(call, schema, shape, std::move(source));
}

RowReader::RowReader(Call& call, const TableSchema& schema, Shape shape,
                     std::unique_ptr<YsonSource> source)
    : input_(call.input),
      schema_(&schema),
      names_(schema),
      shape_(shape),
      source_(std::move(source)),
      room_(std::make_unique<http::AnswerRoom>(call.lane.inputs())),
      given_(schema.columns.size(), 0) {
  other_.type = ColumnType::kAny;
  const RowConversion& conversion = call.input_format.conversion;
  rules_.integral_to_integral = conversion.integral;
  rules_.integral_to_double = conversion.integral_to_double;
  rules_.string_to_all = conversion.string_to_all;
  rules_.all_to_string = conversion.all_to_string;
  rules_.null_to_entity = conversion.null_to_entity;
}

YtResult<RowReader::Step> RowReader::next() {
  for (YsonEvent event;;) {
    switch (source_->next(event)) {
      case YsonStep::kNeedInput: return Step::kNeedsInput;
      case YsonStep::kEnd: return Step::kEnd;
      case YsonStep::kError: return refuse(Code::kYson, source_->error().context);
      case YsonStep::kEvent: break;
    }
    YT_TRY(const bool complete, on(event));
    if (complete) return Step::kRow;
  }
}

Task<YtResult<void>> RowReader::load() {
  YT_CO_TRY(part_, co_await input_->read());
  loaded_bytes_ += part_.size();
  if (loaded_bytes_ > kLoadedBytesFree) YT_CO_TRY_VOID(take_room(*room_, loaded_bytes_));
  if (part_.empty()) {
    source_->finish();
  } else {
    source_->feed(part_.text());
  }
  co_return YtResult<void>();
}

YtResult<bool> RowReader::on(const YsonEvent& event) {
  if (skipped_depth_ > 0) {
    if (event.begins()) ++skipped_depth_;
    if (event.ends()) --skipped_depth_;
    return false;
  }
  if (nested_depth_ > 0 || has_attributes_) {
    YT_TRY_VOID(nested(event));
    return false;
  }
  if (!row_open_) {
    if (event.kind == Kind::kBeginAttributes) {
      skipped_depth_ = 1;
      return false;
    }
    // `#` with attributes says something about the rows that follow.
    if (event.kind == Kind::kEntity) return false;
    if (event.kind != Kind::kBeginMap) return refuse(Code::kYson, "a row must be a map");
    row_open_ = true;
    ++rows_;
    values_.clear();
    columns_.clear();
    has_value_column_ = false;
    return false;
  }
  if (event.kind == Kind::kEndMap) {
    row_open_ = false;
    return true;
  }
  if (event.kind == Kind::kKey) {
    YT_TRY_VOID(begin_value(event.text));
    return false;
  }
  if (event.is_scalar()) {
    YT_TRY_VOID(scalar(event));
    return false;
  }
  const ColumnSchema& column = this->column();
  const bool is_any = physical_type(column.type) == ValueType::kAny;
  if (event.kind == Kind::kBeginAttributes && !is_any) {
    skipped_depth_ = 1;
    return false;
  }
  if (!is_any) {
    return refuse(Code::kSchemaViolation,
                  fmt::format("Invalid type of column \"{}\": expected \"{}\", actual \"any\"",
                              column.name, to_string(column.type)));
  }
  nested_.clear();
  nested_writer_ = std::make_unique<YsonWriter>(nested_, YsonFormat::kBinary);
  YT_TRY_VOID(nested(event));
  return false;
}

// A name that is probably the next one of the schema.
std::optional<std::size_t> RowReader::find_column(std::string_view name) {
  const std::size_t next = columns_.empty() ? 0 : columns_.back() + 1;
  if (next < schema_->columns.size() && schema_->columns[next].name == name) return next;
  return names_.find(name);
}

YtResult<void> RowReader::begin_value(std::string_view name) {
  const auto found = find_column(name);
  if (!found && !schema_->strict) {
    column_ = schema_->columns.size();
    other_.name = name;
    return {};
  }
  if (!found || !schema_->columns[*found].expression.empty()) {
    return refuse(Code::kSchemaViolation, fmt::format("No column \"{}\" in table schema", name));
  }
  const ColumnSchema& column = schema_->columns[*found];
  if (shape_ == Shape::kKey && !column.key) {
    return refuse(Code::kSchemaViolation, fmt::format("Column \"{}\" is not a key column", name));
  }
  if (given_[*found] == rows_) {
    return refuse(Code::kDuplicateColumn, fmt::format("Duplicate column \"{}\" in row", name));
  }
  given_[*found] = rows_;
  column_ = *found;
  has_value_column_ = has_value_column_ || !column.key;
  return {};
}

std::string_view RowReader::keep(std::string_view text) {
  text_bytes_ += text.size();
  return texts_->keep(text);
}

Value RowReader::value_of(const YsonEvent& event) {
  switch (event.kind) {
    case Kind::kBoolean: return event.as_boolean();
    case Kind::kInt64: return event.as_int64();
    case Kind::kUint64: return event.as_uint64();
    case Kind::kDouble: return event.as_double();
    case Kind::kString: return keep(event.text);
    default: return {};
  }
}

YtResult<void> RowReader::scalar(const YsonEvent& event) {
  const ColumnSchema& column = this->column();
  const Value value = value_of(event);
  const ValueType wanted = physical_type(column.type);
  // Keys of type any have nulls.
  if (value.is_null() && (wanted != ValueType::kAny || column.key || !rules_.null_to_entity)) {
    return add(value);
  }
  if (value.type() == wanted && wanted != ValueType::kAny) return add(value);
  YT_TRY(const Value cell, to_cell(column, value, rules_, converted_));
  return add(cell);
}

YtResult<void> RowReader::nested(const YsonEvent& event) {
  if (!nested_writer_->on(event)) return refuse(Code::kYson, nested_writer_->error().context);
  if (event.begins()) ++nested_depth_;
  if (event.ends()) --nested_depth_;
  has_attributes_ = event.kind == Kind::kEndAttributes && nested_depth_ == 0;
  if (nested_depth_ > 0 || has_attributes_) return {};
  const std::string_view text = keep(nested_);
  nested_writer_.reset();
  return add(Value::any(text));
}

YtResult<void> RowReader::add(Value value) {
  columns_.push_back(column_);
  const bool is_other = column_ == schema_->columns.size();
  values_.push_back({is_other ? keep(other_.name) : column().name, value});
  return {};
}

const std::vector<NamedValue>& RowReader::complete_row() {
  for (std::size_t i = 0; i < schema_->columns.size(); ++i) {
    const ColumnSchema& column = schema_->columns[i];
    if (!column.key) break;
    if (column.expression.empty() && given_[i] != rows_) values_.push_back({column.name, Value()});
  }
  return values_;
}

std::vector<Value> RowReader::key() const {
  std::vector<Value> key;
  append_key(key);
  return key;
}

void RowReader::append_key(std::vector<Value>& to) const {
  for (std::size_t i = 0; i < schema_->columns.size() && schema_->columns[i].key; ++i) {
    if (!schema_->columns[i].expression.empty()) continue;
    const auto given = std::ranges::find(columns_, i);
    to.push_back(given == columns_.end()
                     ? Value()
                     : values_[static_cast<std::size_t>(given - columns_.begin())].value);
  }
}

void RowReader::forget() {
  if (loaded_bytes_ > kLoadedBytesFree) {
    // A Rowset keeps its memory.
    texts_ = std::make_unique<Rowset>();
    nested_ = std::string();
    room_->set(0);
  }
  texts_->reset(0, 0);
  converted_.clear();
  text_bytes_ = 0;
  loaded_bytes_ = 0;
}

}  // namespace moraine::yt
