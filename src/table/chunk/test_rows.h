// Random schemas and rows, and the expected result of reading a row. For tests.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/random.h"
#include "table/chunk/test_chunk.h"

namespace moraine::table {

inline constexpr Timestamp kTestTimestamp = timestamp_of_seconds(1'700'000'000);

// A key column of type int64; value columns number (int64), text (string).
inline TableSchema plain_schema() {
  TableSchema schema;
  schema.columns.push_back({.name = "key", .type = ColumnType::kInt64, .key = true});
  schema.columns.push_back({.name = "number", .type = ColumnType::kInt64});
  schema.columns.push_back({.name = "text", .type = ColumnType::kString});
  return schema;
}

// Keys 0, 2, 4, ...; one version each.
inline std::vector<OwnedRow> plain_rows(std::size_t count) {
  std::vector<OwnedRow> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    rows[i].key = encode_key(std::vector<Value>{Value(2 * number)});
    const Timestamp at = kTestTimestamp + i;
    rows[i].builder.write_timestamps.push_back(at);
    rows[i].builder.values.push_back({.value = Value(number * 7), .timestamp = at, .column = 1});
    const std::string_view text = rows[i].keep(fmt::format("text {}", i * 31));
    rows[i].builder.values.push_back({.value = Value(text), .timestamp = at, .column = 2});
  }
  return rows;
}

inline TableSchema random_schema(Random& random) {
  static constexpr ColumnType kTypes[] = {ColumnType::kInt64,  ColumnType::kUint64,
                                          ColumnType::kDouble, ColumnType::kBoolean,
                                          ColumnType::kString, ColumnType::kAny};
  TableSchema schema;
  const std::size_t keys = 1 + random.below(3);
  const std::size_t values = random.below(12);
  for (std::size_t i = 0; i < keys + values; ++i) {
    ColumnSchema column{.name = fmt::format("c{}", i),
                        .type = kTypes[random.below(std::size(kTypes))],
                        .key = i < keys};
    // The first key column has a type with many values, so that there are many rows.
    if (i == 0) column.type = random.one_in(2) ? ColumnType::kInt64 : ColumnType::kString;
    if (i >= keys && random.one_in(3)) column.group = random.one_in(2) ? "a" : "b";
    schema.columns.push_back(column);
  }
  return schema;
}

inline Timestamp random_timestamp(Random& random) {
  return kTestTimestamp + (random.below(4) << kTimestampCounterBits) + random.below(8);
}

inline std::string random_text(Random& random, std::size_t size_max) {
  std::string text(random.below(size_max + 1), '\0');
  const std::uint64_t letters = 1 + random.below(256);
  for (char& c : text) c = static_cast<char>(random.below(letters));
  return text;
}

inline Value random_value(OwnedRow& row, ValueType type, Random& random) {
  const std::uint64_t range = std::uint64_t{1} << random.below(63);
  switch (type) {
    case ValueType::kInt64:
      return Value(static_cast<std::int64_t>(random.below(range)) -
                   static_cast<std::int64_t>(range / 2));
    case ValueType::kUint64: return Value(random.one_in(9) ? random.next() : random.below(range));
    case ValueType::kDouble: return Value(static_cast<double>(random.below(range)) / 8 - 3);
    case ValueType::kBoolean: return Value(random.one_in(2));
    case ValueType::kString: return Value(row.keep(random_text(random, 30)));
    case ValueType::kAny:
      if (random.one_in(9)) return Value(random.below(range));
      return Value::any(row.keep(random_text(random, 30)));
    case ValueType::kNull: break;
  }
  return {};
}

inline std::string random_key(const TableSchema& schema, Random& random) {
  OwnedRow memory;
  std::vector<Value> columns;
  for (std::size_t i = 0; i < schema.key_count(); ++i) {
    const ValueType type = physical_type(schema.columns[i].type);
    Value value = i > 0 && random.one_in(9) ? Value() : random_value(memory, type, random);
    if (type == ValueType::kAny && !value.is_null()) value = Value::any("x");
    columns.push_back(value);
  }
  return encode_key(columns);
}

inline std::vector<Timestamp> some_timestamps(Random& random, std::size_t count,
                                              std::set<Timestamp>& used) {
  std::set<Timestamp, std::greater<>> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    const Timestamp at = random_timestamp(random);
    if (used.insert(at).second) chosen.insert(at);
  }
  return {chosen.begin(), chosen.end()};
}

// Versions, deletes, nulls, absent values and deltas.
inline void fill_row(OwnedRow& row, const TableSchema& schema, Random& random, bool plain) {
  std::set<Timestamp> used;
  RowBuilder& builder = row.builder;
  builder.write_timestamps = some_timestamps(random, plain ? 1 : random.below(5), used);
  if (!plain) builder.delete_timestamps = some_timestamps(random, random.below(3), used);
  if (used.empty()) builder.write_timestamps.push_back(kTestTimestamp);
  for (std::size_t i = schema.key_count(); i < schema.columns.size(); ++i) {
    for (const Timestamp at : builder.write_timestamps) {
      if (random.one_in(plain ? 50 : 3)) continue;
      const ValueType type = physical_type(schema.columns[i].type);
      const Value value = random.one_in(plain ? 50 : 4) ? Value() : random_value(row, type, random);
      builder.values.push_back({.value = value,
                                .timestamp = at,
                                .column = static_cast<ColumnIndex>(i),
                                .aggregate = !plain && random.one_in(6)});
    }
  }
}

// Rows of ascending keys. Sometimes mostly rows of one version, as in most tables.
inline std::vector<OwnedRow> random_rows(const TableSchema& schema, Random& random,
                                         std::size_t count) {
  std::set<std::string> keys;
  for (std::size_t i = 0; i < count * 4 && keys.size() < count; ++i) {
    keys.insert(random_key(schema, random));
  }
  const bool mostly_plain = random.one_in(2);
  const bool all_plain = mostly_plain && random.one_in(2);
  std::vector<OwnedRow> rows;
  for (const std::string& key : keys) {
    OwnedRow& row = rows.emplace_back();
    row.key = key;
    fill_row(row, schema, random, all_plain || (mostly_plain && !random.one_in(20)));
  }
  return rows;
}

// The expected result of reading the row by the spec; false: nothing.
inline bool expected_row(const OwnedRow& row, const ReadSpec& spec, RowBuilder& out) {
  out.clear();
  out.key = as_bytes(row.key);
  const auto add = [&spec](const std::vector<Timestamp>& from, std::vector<Timestamp>& to) {
    for (const Timestamp at : from) {
      if (at <= spec.timestamp && (spec.all_versions || to.empty())) to.push_back(at);
    }
  };
  add(row.builder.write_timestamps, out.write_timestamps);
  add(row.builder.delete_timestamps, out.delete_timestamps);
  if (out.empty()) return false;
  const Timestamp deleted = out.delete_timestamps.empty() ? 0 : out.delete_timestamps.front();
  std::map<ColumnIndex, bool> decided;
  for (const VersionedValue& v : row.builder.values) {
    if (v.timestamp > spec.timestamp) continue;
    if (spec.columns != nullptr && !spec.columns->has(v.column)) continue;
    if (!spec.all_versions && (decided[v.column] || v.timestamp < deleted)) continue;
    out.values.push_back(v);
    decided[v.column] = !v.aggregate;
  }
  return true;
}

inline std::string describe_value(const Value& value) {
  switch (value.type()) {
    case ValueType::kNull: return "null";
    case ValueType::kInt64: return fmt::format("{}", value.as_int64());
    case ValueType::kUint64: return fmt::format("{}u", value.as_uint64());
    case ValueType::kDouble: return fmt::format("{:.17g}d", value.as_double());
    case ValueType::kBoolean: return value.as_boolean() ? "true" : "false";
    case ValueType::kString: return fmt::format("'{}'", value.text());
    case ValueType::kAny: return fmt::format("any'{}'", value.text());
  }
  return "?";
}

// A row as text, to compare and to print.
inline std::string describe(const VersionedRow& row) {
  std::string out = fmt::format("'{}'", as_text(row.key));
  for (const Timestamp at : row.write_timestamps) out += fmt::format(" w{}", at - kTestTimestamp);
  for (const Timestamp at : row.delete_timestamps) out += fmt::format(" d{}", at - kTestTimestamp);
  for (const VersionedValue& v : row.values) {
    out += fmt::format(" {}{}{}@{}={}", v.column, v.aggregate ? "+" : "", v.hunk ? "#" : "",
                       v.timestamp - kTestTimestamp, describe_value(v.value));
  }
  return out;
}

}  // namespace moraine::table
