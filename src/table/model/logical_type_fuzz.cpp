// Any YSON as a type: rejected, or a type that prints to a text which is read as the same type, and
// that a column keeps.

#include <cstddef>
#include <cstdint>

#include "table/model/logical_type.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::table;
  const auto type = parse_type_text(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!type) return 0;
  const std::string text = print_type(*type);
  if (text.size() > kTypeBytesMax) return 0;
  const auto again = parse_type_text(text);
  if (!again || *again != *type || print_type(*again) != text) __builtin_trap();
  if (!is_wider(*type, *type)) __builtin_trap();
  ColumnSchema column;
  set_type(column, *type);
  if (!check_type(column) || type_of(column) != *type) __builtin_trap();
  return 0;
}
