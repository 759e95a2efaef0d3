#include "table/model/static_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/model/limits.h"
#include "yson/writer.h"

namespace moraine::table {
namespace {

constexpr std::size_t kShownTextBytes = 64;
constexpr std::size_t kRowBytes = 64;  // Approximate, besides its texts.

std::unexpected<Error> refuse(std::string why) {
  return fail(Errc::kInvalidArgument, std::move(why));
}

std::string printable_value(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return "#";
    case ValueType::kInt64: return fmt::format("{}", value.as_int64());
    case ValueType::kUint64: return fmt::format("{}u", value.as_uint64());
    case ValueType::kDouble: return fmt::format("{}", value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
    case ValueType::kString:
    case ValueType::kAny: break;
  }
  const std::string_view text = value.text();
  const bool cut = text.size() > kShownTextBytes;
  return fmt::format("{:?}{}", text.substr(0, kShownTextBytes), cut ? "..." : "");
}

std::size_t weight(const Value& value) {
  return sizeof(VersionedValue) + (value.has_text() ? value.text().size() : 0);
}

}  // namespace

std::string printable_key(std::string_view key) {
  std::vector<Value> columns;
  std::string memory;
  if (!decode_key(as_bytes(key), columns, memory)) return "(?)";
  std::string text = "(";
  for (const Value& column : columns) {
    if (text.size() > 1) text += ", ";
    text += printable_value(column);
  }
  return text + ")";
}

bool has_row_numbers(const TableSchema& schema) {
  return schema.key_count() == 0 || !schema.unique_keys;
}

TableSchema stored_schema(const TableSchema& schema) {
  TableSchema stored = schema;
  if (!schema.strict) {
    ColumnSchema others;
    others.name = kOtherColumns;
    others.type = ColumnType::kAny;
    stored.columns.push_back(std::move(others));
    stored.strict = true;
  }
  if (!has_row_numbers(schema)) return stored;
  ColumnSchema number;
  number.name = kRowNumberColumn;
  number.type = ColumnType::kUint64;
  number.key = true;
  const auto at = static_cast<std::ptrdiff_t>(schema.key_count());
  stored.columns.insert(stored.columns.begin() + at, std::move(number));
  stored.unique_keys = true;
  return stored;
}

StaticRows::StaticRows(std::shared_ptr<const RowLayout> layout)
    : layout_(std::move(layout)),
      numbered_(has_row_numbers(layout_->schema())),
      cells_(layout_->schema().columns.size()),
      given_(cells_.size()) {}

Result<void> StaticRows::read(NamedRow row) {
  std::ranges::fill(cells_, Value());
  std::ranges::fill(given_, std::uint8_t{0});
  others_.clear();
  for (const NamedValue& named : row) {
    const Result<ColumnIndex> found = layout_->find(named.name);
    if (!found) {
      if (schema().strict || schema().find(named.name)) return std::unexpected(found.error());
      TRY_VOID(read_other(named));
      continue;
    }
    const ColumnIndex column = *found;
    if (given_[column] != 0) return refuse(fmt::format("Column \"{}\" is given twice", named.name));
    given_[column] = 1;
    TRY(cells_[column], layout_->to_cell(column, named.value, {}, memory_));
  }
  const std::vector<ColumnSchema>& columns = layout_->schema().columns;
  for (std::size_t i = layout_->key_count(); i < columns.size(); ++i) {
    if (!columns[i].required || given_[i] != 0) continue;
    return refuse(
        fmt::format("Required column \"{}\" cannot have \"null\" value", columns[i].name));
  }
  return {};
}

Result<void> StaticRows::read_other(const NamedValue& named) {
  if (named.name.empty() || named.name.size() > kNameBytesMax || named.name.starts_with('$')) {
    return refuse(
        fmt::format("Invalid name of a column: {:?}", named.name.substr(0, kNameBytesMax)));
  }
  if (others_.size() == kColumnsMax) {
    return refuse(
        fmt::format("Too many values in row: at most {} of columns that the schema does "
                    "not name",
                    kColumnsMax));
  }
  ColumnSchema column;
  column.name = named.name;
  column.type = ColumnType::kAny;
  TRY(const Value value, to_cell(column, named.value, {.null_to_entity = true}, memory_));
  others_.push_back({named.name, value});
  return {};
}

Result<Value> StaticRows::other_columns() {
  if (others_.empty()) return Value();
  std::ranges::sort(others_, {}, &NamedValue::name);
  const auto repeated = std::ranges::adjacent_find(others_, {}, &NamedValue::name);
  if (repeated != others_.end()) {
    return refuse(fmt::format("Column \"{}\" is given twice", repeated->name));
  }
  std::string map;
  YsonWriter writer(map, YsonFormat::kBinary);
  writer.on(YsonEvent::of(YsonEvent::Kind::kBeginMap));
  for (const NamedValue& named : others_) {
    writer.on(YsonEvent::key(named.name));
    writer.raw(named.value.text());
  }
  writer.on(YsonEvent::of(YsonEvent::Kind::kEndMap));
  if (map.size() > kValueBytesMax) {
    return refuse(
        fmt::format("Row is too large: values of columns that the schema does not name "
                    "take {} bytes, at most {} are possible",
                    map.size(), kValueBytesMax));
  }
  return Value::any(memory_.keep(std::move(map)));
}

Result<void> StaticRows::check_order(const std::string& key) const {
  if (rows_.empty() || layout_->key_count() == 0) return {};
  const std::string& before = rows_.back().key;
  if (key < before) {
    return refuse(fmt::format("Sort order violation: row {} with key {} comes after key {}",
                              rows_.size(), printable_key(key), printable_key(before)));
  }
  if (key == before && !numbered_) {
    return refuse(fmt::format("Duplicate key {} in row {}", printable_key(key), rows_.size()));
  }
  return {};
}

// `column`: in the schema that readers see; behind it is that of the other columns.
void StaticRows::keep(std::size_t column, Value value, Row& row) {
  if (value.is_null()) return;
  if (value.has_text()) {
    const std::string_view text = texts_.keep(std::string(value.text()));
    value = value.type() == ValueType::kAny ? Value::any(text) : Value(text);
  }
  VersionedValue& kept = row.values.emplace_back();
  kept.value = value;
  kept.column = static_cast<ColumnIndex>(numbered_ ? column + 1 : column);
}

Result<void> StaticRows::add(NamedRow row) {
  memory_.clear();
  TRY_VOID(read(row));
  Row made;
  TRY(made.key, layout_->encode_key_of({cells_.data(), layout_->key_count()}, memory_));
  TRY_VOID(check_order(made.key));
  TRY(const Value others, other_columns());
  std::size_t bytes = kRowBytes + made.key.size() + weight(others);
  for (std::size_t i = layout_->key_count(); i < cells_.size(); ++i) bytes += weight(cells_[i]);
  if (bytes > kRowWeightMax) {
    return refuse(fmt::format("Row weight is too large: at most {} bytes", kRowWeightMax));
  }
  if (bytes_ + bytes > kStaticWriteBytesMax) {
    return refuse(fmt::format("too many rows for one write: at most {} bytes; write in parts",
                              kStaticWriteBytesMax));
  }
  for (std::size_t i = layout_->key_count(); i < cells_.size(); ++i) keep(i, cells_[i], made);
  keep(cells_.size(), others, made);
  bytes_ += bytes;
  rows_.push_back(std::move(made));
  return {};
}

std::string StaticRows::stored_key(std::size_t row, std::uint64_t first_number) const {
  std::string key = rows_[row].key;
  if (numbered_) append_key_column(key, Value(first_number + row));
  return key;
}

std::string StaticRows::first_key(std::uint64_t number) const {
  return stored_key(0, number);
}

std::string StaticRows::last_key(std::uint64_t number) const {
  return stored_key(rows_.size() - 1, number);
}

class StaticRowCursor final : public RowCursor {
 public:
  StaticRowCursor(std::shared_ptr<const StaticRows> rows, std::uint64_t first_number,
                  Timestamp timestamp)
      : rows_(std::move(rows)), first_number_(first_number), timestamp_(timestamp) {}

  Step next() override {
    if (next_ == rows_->size()) return Step::kEnd;
    key_ = rows_->stored_key(next_, first_number_);
    row_.key = as_bytes(key_);
    values_ = rows_->rows_[next_].values;
    for (VersionedValue& value : values_) value.timestamp = timestamp_;
    row_.values = values_;
    row_.write_timestamps = {&timestamp_, 1};
    ++next_;
    return Step::kRow;
  }
  const VersionedRow& row() const override { return row_; }
  Task<Result<void>> load() override { co_return Result<void>(); }

 private:
  const std::shared_ptr<const StaticRows> rows_;
  const std::uint64_t first_number_;
  const Timestamp timestamp_;
  std::size_t next_ = 0;
  std::string key_;
  std::vector<VersionedValue> values_;
  VersionedRow row_;
};

std::unique_ptr<RowCursor> StaticRows::cursor(std::shared_ptr<const StaticRows> rows,
                                              std::uint64_t first_number, Timestamp timestamp) {
  return std::make_unique<StaticRowCursor>(std::move(rows), first_number, timestamp);
}

Result<void> StaticRows::check_above(std::uint64_t number, const std::string& last) const {
  const std::string first = first_key(number);
  if (first > last) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("Sort order violation: the first key {} is not above {}, the last one of "
                          "the table",
                          printable_key(first), printable_key(last)));
}

namespace {

class BatchCursor final : public RowCursor {
 public:
  BatchCursor(StaticBatches batches, std::uint64_t first_number, std::string last,
              Timestamp timestamp)
      : batches_(std::move(batches)),
        number_(first_number),
        last_(std::move(last)),
        timestamp_(timestamp) {}

  Step next() override {
    if (ended_) return Step::kEnd;
    if (!rows_ || rows_->next() == Step::kEnd) return Step::kNeedsData;
    return Step::kRow;
  }
  const VersionedRow& row() const override { return rows_->row(); }
  Task<Result<void>> load() override {
    if (rows_) {
      number_ += batch_->size();
      last_ = batch_->last_key(number_ - batch_->size());
    }
    rows_.reset();
    CO_TRY(batch_, co_await batches_());
    ended_ = batch_ == nullptr;
    if (ended_ || batch_->empty()) co_return Result<void>();
    CO_TRY_VOID(batch_->check_above(number_, last_));
    rows_ = StaticRows::cursor(batch_, number_, timestamp_);
    co_return Result<void>();
  }

 private:
  const StaticBatches batches_;
  std::uint64_t number_;  // Of the first row of the batch.
  std::string last_;      // The stored key before the batch.
  const Timestamp timestamp_;
  std::shared_ptr<const StaticRows> batch_;
  std::unique_ptr<RowCursor> rows_;  // Null: no batch, or an empty one.
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<RowCursor> StaticRows::cursor(StaticBatches batches, std::uint64_t first_number,
                                              std::string last, Timestamp timestamp) {
  return std::make_unique<BatchCursor>(std::move(batches), first_number, std::move(last),
                                       timestamp);
}

}  // namespace moraine::table
