#include "table/model/key.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/coding.h"
#include "moraine/schema.h"

namespace moraine::table {
namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr std::uint64_t kNan = ~std::uint64_t{0};
constexpr std::uint64_t kInfinity = 0xfff0'0000'0000'0000;
constexpr std::uint64_t kMinusInfinity = 0x000f'ffff'ffff'ffff;
constexpr std::uint64_t kMinusZero = 0x7fff'ffff'ffff'ffff;
constexpr std::size_t kWordBytes = 1 + sizeof(std::uint64_t);

std::uint64_t double_to_word(double value) {
  if (std::isnan(value)) return kNan;
  if (value == 0) return kSign;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

bool is_double_word(std::uint64_t word) {
  return word == kNan || (word >= kMinusInfinity && word <= kInfinity && word != kMinusZero);
}

double word_to_double(std::uint64_t word) {
  if (word == kNan) return std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<double>((word & kSign) != 0 ? word & ~kSign : ~word);
}

void append_word(std::string& key, char tag, std::uint64_t word) {
  char bytes[kWordBytes];
  bytes[0] = tag;
  word = std::byteswap(word);
  std::memcpy(bytes + 1, &word, sizeof(word));
  key.append(bytes, sizeof(bytes));
}

void append_text(std::string& key, char tag, std::string_view text) {
  key.push_back(tag);
  while (!text.empty()) {
    const std::size_t zero = text.find('\0');
    if (zero == std::string_view::npos) break;
    key.append(text.substr(0, zero));
    key.append("\0\xff", 2);
    text.remove_prefix(zero + 1);
  }
  key.append(text);
  key.append(2, '\0');
}

std::size_t encoded_size_min(std::span<const Value> columns) {
  std::size_t size = 0;
  for (const Value& value : columns)
    size += value.has_text() ? value.text().size() + 3 : kWordBytes;
  return size;
}

// One column of a key, its text still escaped.
struct RawColumn {
  ValueType type = ValueType::kNull;
  std::uint64_t word = 0;
  std::string_view text;
  bool escaped = false;
};

// False: the bytes are not a column. Removes what was read from `rest`.
bool take_text(std::string_view& rest, RawColumn& column) {
  std::size_t at = 0;
  for (;;) {
    at = rest.find('\0', at);
    if (at == std::string_view::npos || at + 1 == rest.size()) return false;
    if (rest[at + 1] == '\0') break;
    if (rest[at + 1] != '\xff') return false;
    column.escaped = true;
    at += 2;
  }
  column.text = rest.substr(0, at);
  rest.remove_prefix(at + 2);
  return true;
}

bool take_column(std::string_view& rest, RawColumn& column) {
  column = {};
  const auto tag = static_cast<std::uint8_t>(rest.front());
  if (tag > static_cast<std::uint8_t>(ValueType::kAny)) return false;
  column.type = static_cast<ValueType>(tag);
  rest.remove_prefix(1);
  switch (column.type) {
    case ValueType::kNull: return true;
    case ValueType::kInt64:
    case ValueType::kUint64:
    case ValueType::kDouble:
      if (rest.size() < sizeof(std::uint64_t)) return false;
      std::memcpy(&column.word, rest.data(), sizeof(std::uint64_t));
      column.word = std::byteswap(column.word);
      rest.remove_prefix(sizeof(std::uint64_t));
      return column.type != ValueType::kDouble || is_double_word(column.word);
    case ValueType::kBoolean:
      if (rest.empty()) return false;
      column.word = static_cast<std::uint8_t>(rest.front());
      rest.remove_prefix(1);
      return column.word <= 1;
    case ValueType::kString:
    case ValueType::kAny: return take_text(rest, column);
  }
  return false;
}

// Requires: enough capacity in `memory` for the text, so that it does not move.
std::string_view unescape(std::string_view text, std::string& memory) {
  const std::size_t begin = memory.size();
  while (!text.empty()) {
    const std::size_t zero = text.find('\0');
    if (zero == std::string_view::npos) break;
    memory.append(text.substr(0, zero + 1));
    text.remove_prefix(zero + 2);
  }
  memory.append(text);
  return std::string_view(memory).substr(begin);
}

Value to_value(const RawColumn& column, std::string_view text) {
  switch (column.type) {
    case ValueType::kNull: return {};
    case ValueType::kInt64: return static_cast<std::int64_t>(column.word ^ kSign);
    case ValueType::kUint64: return column.word;
    case ValueType::kDouble: return word_to_double(column.word);
    case ValueType::kBoolean: return column.word != 0;
    case ValueType::kString: return text;
    case ValueType::kAny: return Value::any(text);
  }
  return {};
}

}  // namespace

void append_key_column(std::string& key, const Value& value) {
  const char tag = static_cast<char>(value.type());
  switch (value.type()) {
    case ValueType::kNull: key.push_back(tag); return;
    case ValueType::kInt64:
      append_word(key, tag, static_cast<std::uint64_t>(value.as_int64()) ^ kSign);
      return;
    case ValueType::kUint64: append_word(key, tag, value.as_uint64()); return;
    case ValueType::kDouble: append_word(key, tag, double_to_word(value.as_double())); return;
    case ValueType::kBoolean:
      key.push_back(tag);
      key.push_back(value.as_boolean() ? '\1' : '\0');
      return;
    case ValueType::kString:
    case ValueType::kAny: append_text(key, tag, value.text()); return;
  }
}

std::string encode_key(std::span<const Value> columns) {
  std::string key;
  key.reserve(encoded_size_min(columns));
  for (const Value& value : columns) append_key_column(key, value);
  return key;
}

Result<void> decode_key(ByteSpan key, std::vector<Value>& columns, std::string& memory) {
  columns.clear();
  memory.clear();
  std::string_view rest = as_text(key);
  RawColumn column;
  while (!rest.empty()) {
    if (!take_column(rest, column)) return fail(Errc::kCorrupt, "encoded key");
    std::string_view text = column.text;
    if (column.escaped) {
      memory.reserve(key.size());
      text = unescape(text, memory);
    }
    columns.push_back(to_value(column, text));
  }
  return {};
}

Result<void> check_key(ByteSpan key, const TableSchema& schema) {
  if (key.size() > kKeyBytesMax) return fail(Errc::kCorrupt, "encoded key is too long");
  std::string_view rest = as_text(key);
  RawColumn column;
  for (std::size_t i = 0; i < schema.columns.size() && schema.columns[i].key; ++i) {
    if (rest.empty() || !take_column(rest, column)) return fail(Errc::kCorrupt, "encoded key");
    if (column.type != ValueType::kNull && column.type != physical_type(schema.columns[i].type)) {
      return fail(Errc::kCorrupt, "encoded key: type of column " + schema.columns[i].name);
    }
  }
  if (!rest.empty()) return fail(Errc::kCorrupt, "encoded key has too many columns");
  return {};
}

}  // namespace moraine::table
