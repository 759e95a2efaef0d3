#include "table/chunk/row_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/invariant.h"
#include "table/chunk/hunk.h"

namespace moraine::table {
namespace {

enum CellFlags : std::uint8_t { kCellDelta = 1, kCellHunk = 2, kCellNull = 4, kCellHunkAny = 8 };
constexpr std::uint8_t kCellFlagsAll = kCellDelta | kCellHunk | kCellNull | kCellHunkAny;

std::size_t bitmap_bytes(std::size_t bits) {
  return (bits + 7) / 8;
}
bool bit(const std::byte* bitmap, std::size_t i) {
  return (static_cast<unsigned>(bitmap[i / 8]) >> (i % 8) & 1) != 0;
}
void set_bit(std::string& out, std::size_t bitmap_at, std::size_t i) {
  char& byte = out[bitmap_at + i / 8];
  byte = static_cast<char>(static_cast<unsigned char>(byte) | 1u << (i % 8));
}

// Whether the row is one write that sets each column at most once, in full.
bool is_single(const VersionedRow& row) {
  if (row.write_timestamps.size() != 1 || !row.delete_timestamps.empty()) return false;
  return std::ranges::none_of(row.values,
                              [](const VersionedValue& v) { return v.aggregate || v.hunk; });
}

Result<std::uint8_t> append_single(std::string& out, CellTypes types, const VersionedRow& row,
                                   ColumnIndex first_column) {
  const bool nulls =
      std::ranges::any_of(row.values, [](const auto& v) { return v.value.is_null(); });
  const bool absents = row.values.size() != types.size();
  const std::size_t nulls_at = out.size();
  if (nulls) out.append(bitmap_bytes(types.size()), '\0');
  const std::size_t absents_at = out.size();
  if (absents) out.append(bitmap_bytes(types.size()), '\0');
  std::size_t column = 0;
  for (const VersionedValue& v : row.values) {
    const std::size_t place = v.column - first_column;
    INVARIANT(place < types.size() && place >= column, "column {} is out of order", v.column);
    for (; column < place; ++column) set_bit(out, absents_at, column);
    ++column;
    if (v.value.is_null()) {
      set_bit(out, nulls_at, place);
    } else if (auto done = append_cell_bytes(out, types[place], v.value); !done) {
      return std::unexpected(std::move(done.error()));
    }
  }
  for (; column < types.size(); ++column) set_bit(out, absents_at, column);
  return static_cast<std::uint8_t>((nulls ? kRowNulls : 0) | (absents ? kRowAbsents : 0));
}

void append_drops(std::string& out, std::span<const Timestamp> timestamps, Timestamp newest) {
  for (const Timestamp timestamp : timestamps) {
    put_varint(out, newest - timestamp);
    newest = timestamp;
  }
}

Result<void> append_general_cell(std::string& out, ValueType type, const VersionedRow& row,
                                 const VersionedValue& v, std::size_t place) {
  const bool null = v.value.is_null();
  const bool hunk = v.hunk && !null;
  put_varint(out, place);
  out.push_back(static_cast<char>((v.aggregate ? kCellDelta : 0) | (hunk ? kCellHunk : 0) |
                                  (null ? kCellNull : 0) |
                                  (hunk && v.value.type() == ValueType::kAny ? kCellHunkAny : 0)));
  const auto& writes = row.write_timestamps;
  const auto write = std::ranges::lower_bound(writes, v.timestamp, std::greater<>());
  INVARIANT(write != writes.end() && *write == v.timestamp, "a value of no write, {}", v.timestamp);
  put_varint(out, static_cast<std::uint64_t>(write - writes.begin()));
  if (null) return {};
  if (!hunk) return append_cell_bytes(out, type, v.value);
  INVARIANT(v.value.text().size() == kHunkRefBytes, "a hunk of {} bytes", v.value.text().size());
  out.append(v.value.text());
  return {};
}

Result<std::uint8_t> append_general(std::string& out, CellTypes types, const VersionedRow& row,
                                    ColumnIndex first_column) {
  const Timestamp newest = newest_timestamp(row);
  put_varint(out, row.write_timestamps.size());
  put_varint(out, row.delete_timestamps.size());
  append_drops(out, row.write_timestamps, newest);
  append_drops(out, row.delete_timestamps, newest);
  put_varint(out, row.values.size());
  for (const VersionedValue& v : row.values) {
    const std::size_t place = v.column - first_column;
    INVARIANT(place < types.size(), "column {} of {}", v.column, types.size());
    if (auto done = append_general_cell(out, types[place], row, v, place); !done) {
      return std::unexpected(std::move(done.error()));
    }
  }
  return std::uint8_t{kRowGeneral};
}

bool check_single(VarintReader& in, CellTypes types, std::uint8_t kind) {
  const std::size_t size = bitmap_bytes(types.size());
  const ByteSpan nulls = (kind & kRowNulls) != 0 ? in.raw(size) : ByteSpan();
  const ByteSpan absents = (kind & kRowAbsents) != 0 ? in.raw(size) : ByteSpan();
  if (in.failed()) return false;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!absents.empty() && bit(absents.data(), i)) continue;
    if (!nulls.empty() && bit(nulls.data(), i)) continue;
    if (!check_cell(in, types[i])) return false;
  }
  return true;
}

// Descending and not below zero; the first may be the newest itself.
bool check_drops(VarintReader& in, std::uint64_t count, Timestamp newest) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t drop = in.varint();
    if (in.failed() || drop > newest || (drop == 0 && i > 0)) return false;
    newest -= drop;
  }
  return true;
}

bool check_general(VarintReader& in, CellTypes types, Timestamp newest,
                   std::vector<const std::byte*>& hunks) {
  const std::uint64_t writes = in.varint(in.remaining());
  const std::uint64_t deletes = in.varint(in.remaining());
  if (in.failed() || writes + deletes == 0) return false;
  if (!check_drops(in, writes, newest) || !check_drops(in, deletes, newest)) return false;
  const std::uint64_t cells = in.varint(in.remaining());
  std::uint64_t column_before = 0;
  std::uint64_t write_before = 0;
  for (std::uint64_t i = 0; i < cells; ++i) {
    const std::uint64_t column = in.varint();
    const auto flags = in.fixed<std::uint8_t>();
    const std::uint64_t write = in.varint();
    if (in.failed() || column >= types.size() || flags > kCellFlagsAll || write >= writes) {
      return false;
    }
    if (i > 0 && (column < column_before || (column == column_before && write <= write_before))) {
      return false;
    }
    column_before = column;
    write_before = write;
    if ((flags & kCellNull) != 0) continue;
    if ((flags & kCellHunk) == 0) {
      if (!check_cell(in, types[column])) return false;
      continue;
    }
    const ByteSpan ref = in.raw(kHunkRefBytes);
    if (in.failed()) return false;
    hunks.push_back(ref.data());
  }
  return !in.failed();
}

void read_single(const std::byte* at, std::uint8_t kind, const ReadPlan& plan, Timestamp timestamp,
                 const ColumnSet* wanted, RowBuilder& out) {
  const std::size_t columns = plan.columns.size();
  const SingleMarks marks(at, kind, columns);
  for (std::size_t i = 0; i < columns; ++i) {
    if (marks.is_absent(i)) continue;
    Value value;
    if (!marks.is_null(i)) at = read_cell(at, plan.columns[i].type, value);
    if (!plan.wants(i, wanted)) continue;
    out.values.push_back(
        {.value = value, .timestamp = timestamp, .column = plan.columns[i].target});
  }
  out.write_timestamps.push_back(timestamp);
}

// Adds timestamps at or below the wanted one: all, or the newest only. Returns the newest, 0: none.
Timestamp add_visible(std::span<const Timestamp> timestamps, const ReadSpec& spec,
                      std::vector<Timestamp>& out) {
  Timestamp first = 0;
  for (const Timestamp timestamp : timestamps) {
    if (timestamp > spec.timestamp) continue;
    if (first == 0) first = timestamp;
    out.push_back(timestamp);
    if (!spec.all_versions) break;
  }
  return first;
}

void read_drops(const std::byte*& at, Timestamp newest, std::span<Timestamp> out) {
  for (Timestamp& timestamp : out) timestamp = newest -= get_varint(at);
}

struct GeneralCell {
  std::uint64_t column = 0;
  std::uint64_t write = 0;
  std::uint8_t flags = 0;
  Value value;
};

GeneralCell take_general_cell(const std::byte*& at, const ReadPlan& plan) {
  GeneralCell cell;
  cell.column = get_varint(at);
  cell.flags = static_cast<std::uint8_t>(*at++);
  cell.write = get_varint(at);
  if ((cell.flags & kCellNull) != 0) return cell;
  if ((cell.flags & kCellHunk) == 0) {
    at = read_cell(at, plan.columns[cell.column].type, cell.value);
    return cell;
  }
  const std::string_view ref(reinterpret_cast<const char*>(at), kHunkRefBytes);
  cell.value = (cell.flags & kCellHunkAny) != 0 ? Value::any(ref) : Value(ref);
  at += kHunkRefBytes;
  return cell;
}

bool read_general(const std::byte* at, const ReadPlan& plan, Timestamp newest, const ReadSpec& spec,
                  RowBuilder& out) {
  const std::uint64_t writes = get_varint(at);
  const std::uint64_t deletes = get_varint(at);
  thread_local std::vector<Timestamp> timestamps;
  timestamps.resize(writes + deletes);
  const std::span<Timestamp> written(timestamps.data(), writes);
  const std::span<Timestamp> deleted(timestamps.data() + writes, deletes);
  read_drops(at, newest, written);
  read_drops(at, newest, deleted);
  const Timestamp newest_write = add_visible(written, spec, out.write_timestamps);
  const Timestamp newest_delete = add_visible(deleted, spec, out.delete_timestamps);
  if (newest_write == 0 && newest_delete == 0) return false;
  const std::uint64_t cells = get_varint(at);
  std::uint64_t decided = ~std::uint64_t{0};  // A column whose remaining versions do not matter.
  for (std::uint64_t i = 0; i < cells; ++i) {
    const GeneralCell cell = take_general_cell(at, plan);
    const Timestamp timestamp = written[cell.write];
    if (timestamp > spec.timestamp || !plan.wants(cell.column, spec.columns)) continue;
    const bool delta = (cell.flags & kCellDelta) != 0;
    if (!spec.all_versions) {
      if (cell.column == decided || timestamp <= newest_delete) continue;
      if (!delta) decided = cell.column;
    }
    out.values.push_back({.value = cell.value,
                          .timestamp = timestamp,
                          .column = plan.columns[cell.column].target,
                          .aggregate = delta,
                          .hunk = (cell.flags & kCellHunk) != 0 && !cell.value.is_null()});
  }
  return true;
}

}  // namespace

Timestamp newest_timestamp(const VersionedRow& row) {
  INVARIANT(!row.write_timestamps.empty() || !row.delete_timestamps.empty(), "a row of nothing");
  const Timestamp written = row.write_timestamps.empty() ? 0 : row.write_timestamps.front();
  const Timestamp deleted = row.delete_timestamps.empty() ? 0 : row.delete_timestamps.front();
  return std::max(written, deleted);
}

void put_in_column_order(RowBuilder& out, std::size_t from) {
  std::sort(out.values.begin() + static_cast<std::ptrdiff_t>(from), out.values.end(),
            [](const VersionedValue& a, const VersionedValue& b) {
              return a.column != b.column ? a.column < b.column : a.timestamp > b.timestamp;
            });
}

Result<std::uint8_t> append_row(std::string& out, CellTypes types, const VersionedRow& row,
                                ColumnIndex first_column) {
  return is_single(row) ? append_single(out, types, row, first_column)
                        : append_general(out, types, row, first_column);
}

bool check_row(VarintReader& in, CellTypes types, std::uint8_t kind, Timestamp newest,
               std::vector<const std::byte*>& hunks) {
  if (kind == kRowGeneral) return check_general(in, types, newest, hunks);
  return kind < kRowGeneral && check_single(in, types, kind);
}

bool read_row(const std::byte* at, std::uint8_t kind, const ReadPlan& plan, Timestamp newest,
              const ReadSpec& spec, RowBuilder& out) {
  const std::size_t from = out.values.size();
  if (kind == kRowGeneral) {
    if (!read_general(at, plan, newest, spec, out)) return false;
  } else {
    if (newest > spec.timestamp) return false;
    read_single(at, kind, plan, newest, spec.columns, out);
  }
  if (!plan.ordered) [[unlikely]]
    put_in_column_order(out, from);
  return true;
}

Result<void> append_cell_bytes(std::string& out, ValueType type, const Value& value) {
  if (type == ValueType::kAny) {
    out.push_back(static_cast<char>(value.type()));
    type = value.type();
  }
  if (value.type() != type || value.is_null()) {
    return fail(Errc::kInvalidArgument, fmt::format("a value of type {} in a column of type {}",
                                                    to_string(value.type()), to_string(type)));
  }
  switch (type) {
    case ValueType::kInt64: put_varint(out, zigzag(value.as_int64())); break;
    case ValueType::kUint64: put_varint(out, value.as_uint64()); break;
    case ValueType::kDouble: put_fixed(out, std::bit_cast<std::uint64_t>(value.as_double())); break;
    case ValueType::kBoolean: out.push_back(value.as_boolean() ? 1 : 0); break;
    case ValueType::kString:
    case ValueType::kAny: put_sized(out, value.text()); break;
    case ValueType::kNull: break;
  }
  return {};
}

bool check_cell(VarintReader& in, ValueType type) {
  if (type == ValueType::kAny) type = static_cast<ValueType>(in.fixed<std::uint8_t>());
  switch (type) {
    case ValueType::kInt64:
    case ValueType::kUint64: in.varint(); break;
    case ValueType::kDouble: in.raw(sizeof(double)); break;
    case ValueType::kBoolean:
      if (in.fixed<std::uint8_t>() > 1) return false;
      break;
    case ValueType::kString:
    case ValueType::kAny: in.sized(); break;
    default: return false;
  }
  return !in.failed();
}

}  // namespace moraine::table
