#include "table/chunk/key_order.h"

namespace moraine::table {
namespace {

constexpr unsigned kWordBits = 64;

bool is_integer(ValueType type) {
  return type == ValueType::kInt64 || type == ValueType::kUint64 || type == ValueType::kBoolean;
}

}  // namespace

KeyOrder::KeyOrder(const TableSchema& schema, std::span<const KeyColumnRange> ranges)
    : type_(physical_type(schema.columns.front().type)), key_columns_(schema.key_count()) {
  if (key_columns_ < 2) return;  // The word of one column is as good.
  unsigned bits = 0;
  for (std::size_t i = 0; i < std::min(key_columns_, ranges.size()); ++i) {
    Field field{.type = physical_type(schema.columns[i].type)};
    if (!is_integer(field.type)) break;
    if (ranges[i].values) {
      field.least = ranges[i].least;
      field.span = ranges[i].greatest - ranges[i].least;
    }
    if (field.span > ~std::uint64_t{0} - kAbove) break;
    const auto width = static_cast<unsigned>(std::bit_width(field.span + kAbove));
    if (bits + width > kWordBits) break;
    bits += width;
    field.shift = width;  // Until all are known.
    field.mask = ~std::uint64_t{0} >> (kWordBits - width);
    fields_.push_back(field);
  }
  if (fields_.size() < 2) fields_.clear();
  unsigned above = 0;
  for (Field& field : fields_) {
    above += field.shift;
    field.shift = bits - above;
  }
}

std::uint64_t KeyOrder::of_fields(ByteSpan key) const {
  std::uint64_t word = 0;
  for (const Field& field : fields_) {
    if (key.empty()) break;
    const std::byte tag = key.front();
    key = key.subspan(1);
    if (tag == std::byte{0}) continue;  // Null.
    if (tag != static_cast<std::byte>(field.type) || key.empty()) break;
    const bool boolean = field.type == ValueType::kBoolean;
    const std::size_t size = boolean ? 1 : sizeof(std::uint64_t);
    const std::uint64_t value = boolean ? std::to_integer<std::uint64_t>(key[0]) : beginning(key);
    const std::uint64_t found = field.of(value);
    word |= found << field.shift;
    if (key.size() < size || !field.decides(found)) break;
    key = key.subspan(size);
  }
  return word;
}

}  // namespace moraine::table
