#include "transaction/row_codec.h"

#include <bit>

namespace moraine {
namespace {

using table::ColumnVector;

constexpr std::size_t kVersionBytesMin = 2 + 1 + 8 + 1;
constexpr std::size_t kColumnBytesMin = 2;

bool has_texts(ValueType type) {
  return type == ValueType::kString || type == ValueType::kAny;
}

std::string_view take_text(Decoder& decoder) {
  return as_text(decoder.sized());
}

void append_column(Encoder& encoder, const ColumnVector& column, std::size_t rows) {
  encoder.u8(static_cast<std::uint8_t>(column.type)).flag(!column.nulls.empty());
  if (!column.nulls.empty()) encoder.raw(std::as_bytes(std::span(column.nulls).first(rows)));
  if (has_texts(column.type)) {
    for (std::size_t i = 0; i < rows; ++i) encoder.sized(column.texts[i]);
  } else {
    encoder.raw(std::as_bytes(std::span(column.words).first(rows)));
  }
}

bool take_nulls(Decoder& decoder, std::size_t rows, ColumnVector& column) {
  for (const std::byte null : decoder.raw(rows)) {
    column.nulls.push_back(static_cast<std::uint8_t>(null));
    if (column.nulls.back() > 1) return false;
  }
  return !decoder.failed();
}

bool take_words(Decoder& decoder, std::size_t rows, ColumnVector& column) {
  const ByteSpan bytes = decoder.raw(rows * sizeof(std::uint64_t));
  if (decoder.failed()) return false;
  for (std::size_t i = 0; i < rows; ++i) {
    column.words.push_back(load<std::uint64_t>(bytes.data() + i * sizeof(std::uint64_t)));
    if (column.type == ValueType::kBoolean && column.words.back() > 1) return false;
  }
  return true;
}

bool take_column(Decoder& decoder, std::size_t rows, ColumnVector& column) {
  const std::uint8_t type = decoder.u8();
  if (type == 0 || type > static_cast<std::uint8_t>(ValueType::kAny)) return false;
  column.type = static_cast<ValueType>(type);
  const bool has_nulls = decoder.flag();
  if (decoder.failed()) return false;
  // A page without rows has one encoding, too.
  if (has_nulls && (rows == 0 || !take_nulls(decoder, rows, column))) return false;
  if (!has_texts(column.type)) return take_words(decoder, rows, column);
  for (std::size_t i = 0; i < rows && !decoder.failed(); ++i) {
    column.texts.push_back(take_text(decoder));
  }
  return !decoder.failed();
}

void append_times(Encoder& encoder, const std::vector<Timestamp>& times) {
  encoder.u32(static_cast<std::uint32_t>(times.size()));
  for (const Timestamp time : times) encoder.u64(time);
}

void take_times(Decoder& decoder, std::vector<Timestamp>& times) {
  times.resize(decoder.count(sizeof(std::uint64_t)));
  for (Timestamp& time : times) time = decoder.u64();
}

}  // namespace

void append_value(Encoder& encoder, const Value& value) {
  encoder.u8(static_cast<std::uint8_t>(value.type()));
  switch (value.type()) {
    case ValueType::kNull: break;
    case ValueType::kInt64: encoder.u64(static_cast<std::uint64_t>(value.as_int64())); break;
    case ValueType::kUint64: encoder.u64(value.as_uint64()); break;
    case ValueType::kDouble: encoder.u64(std::bit_cast<std::uint64_t>(value.as_double())); break;
    case ValueType::kBoolean: encoder.flag(value.as_boolean()); break;
    case ValueType::kString:
    case ValueType::kAny: encoder.sized(value.text()); break;
  }
}

bool take_value(Decoder& decoder, Value& value) {
  const std::uint8_t type = decoder.u8();
  if (type > static_cast<std::uint8_t>(ValueType::kAny)) return false;
  switch (static_cast<ValueType>(type)) {
    case ValueType::kNull: value = Value(); break;
    case ValueType::kInt64: value = Value(static_cast<std::int64_t>(decoder.u64())); break;
    case ValueType::kUint64: value = Value(decoder.u64()); break;
    case ValueType::kDouble: value = Value(std::bit_cast<double>(decoder.u64())); break;
    case ValueType::kBoolean: value = Value(decoder.flag()); break;
    case ValueType::kString: value = Value(take_text(decoder)); break;
    case ValueType::kAny: value = Value::any(take_text(decoder)); break;
  }
  return !decoder.failed();
}

void append_page(Encoder& encoder, const ScanPage& page) {
  encoder.u32(static_cast<std::uint32_t>(page.batch.rows));
  encoder.u32(static_cast<std::uint32_t>(page.batch.columns.size()));
  for (const ColumnVector& column : page.batch.columns) {
    append_column(encoder, column, page.batch.rows);
  }
  encoder.sized(page.next);
}

bool take_page(Decoder& decoder, ScanPage& page) {
  page.batch.rows = decoder.u32();
  if (page.batch.rows > kPageRowsMax) return false;
  const std::uint32_t count = decoder.count(kColumnBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!take_column(decoder, page.batch.rows, page.batch.columns.emplace_back())) return false;
  }
  page.next = std::string(take_text(decoder));
  return !decoder.failed();
}

void append_versions(Encoder& encoder, const table::OwnedVersionedRow& row) {
  encoder.flag(row.exists);
  append_times(encoder, row.row.write_timestamps);
  append_times(encoder, row.row.delete_timestamps);
  encoder.u32(static_cast<std::uint32_t>(row.row.values.size()));
  for (const table::VersionedValue& value : row.row.values) {
    encoder.u16(value.column).flag(value.aggregate).u64(value.timestamp);
    append_value(encoder, value.value);
  }
}

bool take_versions(Decoder& decoder, table::OwnedVersionedRow& row) {
  row.exists = decoder.flag();
  take_times(decoder, row.row.write_timestamps);
  take_times(decoder, row.row.delete_timestamps);
  const std::uint32_t count = decoder.count(kVersionBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    table::VersionedValue& value = row.row.values.emplace_back();
    value.column = decoder.u16();
    value.aggregate = decoder.flag();
    value.timestamp = decoder.u64();
    if (!take_value(decoder, value.value)) return false;
  }
  return !decoder.failed();
}

}  // namespace moraine
