#include "table/model/change.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "table/model/key.h"

namespace moraine::table {
namespace {

constexpr std::uint8_t kDelta = 1;
constexpr std::size_t kCountBytes = sizeof(std::uint16_t);
constexpr std::size_t kCellHeadBytes = 4;
constexpr std::size_t kSizeBytes = sizeof(std::uint32_t);  // Prefix of a key and of an image.
constexpr std::size_t kLockBytes = 2;

struct CellHead {
  ColumnIndex column = 0;
  std::uint8_t flags = 0;
  std::uint8_t type = 0;
};
static_assert(sizeof(CellHead) == kCellHeadBytes);

// Moves `at` past the payload. Requires: a checked payload.
Value read_payload(ValueType type, const std::byte*& at) {
  switch (type) {
    case ValueType::kNull: return {};
    case ValueType::kInt64: at += 8; return load<std::int64_t>(at - 8);
    case ValueType::kUint64: at += 8; return load<std::uint64_t>(at - 8);
    case ValueType::kDouble: at += 8; return std::bit_cast<double>(load<std::uint64_t>(at - 8));
    case ValueType::kBoolean: at += 1; return at[-1] != std::byte{0};
    case ValueType::kString:
    case ValueType::kAny: {
      const std::string_view text(reinterpret_cast<const char*>(at) + 4, load<std::uint32_t>(at));
      at += 4 + text.size();
      return type == ValueType::kAny ? Value::any(text) : Value(text);
    }
  }
  return {};
}

template <class T>
void append_number(std::string& image, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  image.append(bytes, sizeof(T));
}

bool skip_payload(Decoder& decoder, ValueType type) {
  switch (type) {
    case ValueType::kNull: break;
    case ValueType::kInt64:
    case ValueType::kUint64:
    case ValueType::kDouble: decoder.u64(); break;
    case ValueType::kBoolean: decoder.flag(); break;
    case ValueType::kString:
    case ValueType::kAny: decoder.sized(); break;
  }
  return !decoder.failed();
}

Result<void> check_cell(Decoder& decoder, const TableSchema& schema, std::size_t& column_min) {
  const std::size_t column = decoder.u16();
  const std::uint8_t flags = decoder.u8();
  const std::uint8_t type = decoder.u8();
  if (decoder.failed()) return fail(Errc::kCorrupt, "row image is short");
  if (column < column_min) return fail(Errc::kCorrupt, "row image: order of columns");
  if (column >= schema.columns.size()) return fail(Errc::kCorrupt, "row image: no such column");
  const ColumnSchema& declared = schema.columns[column];
  const auto null = static_cast<std::uint8_t>(ValueType::kNull);
  if (type != null && type != static_cast<std::uint8_t>(physical_type(declared.type))) {
    return fail(Errc::kCorrupt, "row image: type of column " + declared.name);
  }
  if (flags > kDelta || (flags == kDelta && declared.aggregate == Aggregate::kNone)) {
    return fail(Errc::kCorrupt, "row image: flags of column " + declared.name);
  }
  if (!skip_payload(decoder, static_cast<ValueType>(type))) {
    return fail(Errc::kCorrupt, "row image: value of column " + declared.name);
  }
  column_min = column + 1;
  return {};
}

void append_locks(Encoder& encoder, const LockSet& locks) {
  std::uint8_t count = 0;
  for (const LockMode mode : locks.modes) count += mode != LockMode::kNone ? 1 : 0;
  encoder.u8(count);
  for (std::size_t i = 0; i < kLocksMax; ++i) {
    if (locks.modes[i] == LockMode::kNone) continue;
    encoder.u8(static_cast<std::uint8_t>(i)).u8(static_cast<std::uint8_t>(locks.modes[i]));
  }
}

bool take_locks(Decoder& decoder, LockSet& locks) {
  const std::size_t count = decoder.u8();
  std::size_t lock_min = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t lock = decoder.u8();
    const std::uint8_t mode = decoder.u8();
    if (decoder.failed() || lock < lock_min || lock >= kLocksMax) return false;
    if (mode == 0 || mode > static_cast<std::uint8_t>(LockMode::kExclusive)) return false;
    locks.modes[lock] = static_cast<LockMode>(mode);
    lock_min = lock + 1;
  }
  return !decoder.failed();
}

}  // namespace

void read_image(ByteSpan image, Timestamp timestamp, const ColumnSet* columns,
                std::vector<VersionedValue>& out) {
  const std::byte* at = image.data();
  const std::size_t count = load<std::uint16_t>(at);
  at += kCountBytes;
  for (std::size_t i = 0; i < count; ++i) {
    CellHead head;
    std::memcpy(&head, at, kCellHeadBytes);
    at += kCellHeadBytes;
    const bool wanted = columns == nullptr || columns->has(head.column);
    if (!wanted && !columns->any_from(head.column)) return;  // Columns ascend.
    const Value value = read_payload(static_cast<ValueType>(head.type), at);
    if (!wanted) continue;
    out.push_back({value, timestamp, head.column, head.flags != 0, false});
  }
}

void append_cell(std::string& image, ColumnIndex column, bool delta, const Value& value) {
  const CellHead head{column, delta ? kDelta : std::uint8_t{0},
                      static_cast<std::uint8_t>(value.type())};
  char bytes[kCellHeadBytes];
  std::memcpy(bytes, &head, kCellHeadBytes);
  image.append(bytes, kCellHeadBytes);
  switch (value.type()) {
    case ValueType::kNull: return;
    case ValueType::kInt64: append_number(image, value.as_int64()); return;
    case ValueType::kUint64: append_number(image, value.as_uint64()); return;
    case ValueType::kDouble: append_number(image, value.as_double()); return;
    case ValueType::kBoolean: image.push_back(value.as_boolean() ? '\1' : '\0'); return;
    case ValueType::kString:
    case ValueType::kAny:
      append_number(image, static_cast<std::uint32_t>(value.text().size()));
      image.append(value.text());
      return;
  }
}

void begin_image(std::string& image) {
  image.assign(kCountBytes, '\0');
}

void finish_image(std::string& image, std::uint16_t cells) {
  std::memcpy(image.data(), &cells, kCountBytes);
}

Result<void> check_image(ByteSpan image, const TableSchema& schema) {
  Decoder decoder(image);
  const std::size_t count = decoder.u16();
  std::size_t column_min = schema.key_count();
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_cell(decoder, schema, column_min));
  }
  if (!decoder.finished()) return fail(Errc::kCorrupt, "row image: length");
  return {};
}

void append_change(Encoder& encoder, const RowChange& change) {
  encoder.u8(static_cast<std::uint8_t>(change.kind)).sized(change.key);
  append_locks(encoder, change.locks);
  if (change.kind == ChangeKind::kWrite) encoder.sized(change.image);
}

std::size_t change_bytes(const RowChange& change) {
  const std::size_t locks =
      kLocksMax - static_cast<std::size_t>(std::ranges::count(change.locks.modes, LockMode::kNone));
  const std::size_t image =
      change.kind == ChangeKind::kWrite ? kSizeBytes + change.image.size() : 0;
  return 1 + kSizeBytes + change.key.size() + 1 + locks * kLockBytes + image;
}

Result<RowChange> take_change(Decoder& decoder, const TableSchema& schema) {
  RowChange change;
  const std::uint8_t kind = decoder.u8();
  const ByteSpan key = decoder.sized();
  if (kind < static_cast<std::uint8_t>(ChangeKind::kWrite) ||
      kind > static_cast<std::uint8_t>(ChangeKind::kLock)) {
    return fail(Errc::kCorrupt, "row change: kind");
  }
  change.kind = static_cast<ChangeKind>(kind);
  if (!take_locks(decoder, change.locks)) return fail(Errc::kCorrupt, "row change: locks");
  TRY_VOID(check_key(key, schema));
  change.key = as_text(key);
  if (change.kind != ChangeKind::kWrite) return change;
  const ByteSpan image = decoder.sized();
  if (decoder.failed()) return fail(Errc::kCorrupt, "row change is short");
  TRY_VOID(check_image(image, schema));
  change.image = as_text(image);
  return change;
}

}  // namespace moraine::table
