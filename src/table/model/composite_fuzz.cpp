// Any bytes as a type and a value of it: refused, or a stored form that stays what it is when it is
// encoded again, also after its parts were named.

#include <cstddef>
#include <cstdint>

#include "table/model/composite.h"

namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

// The type, a zero byte, the value.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::table;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  if (cut == std::string_view::npos) return 0;
  const auto type = parse_type_text(input.substr(0, cut));
  if (!type) return 0;
  const auto stored = encode_composite(*type, input.substr(cut + 1));
  if (!stored) return 0;
  const auto again = encode_composite(*type, *stored);
  require(again.has_value() && *again == *stored);
  const auto named = name_parts(*type, *stored);
  require(named.has_value());
  const auto back = encode_composite(*type, *named);
  require(back.has_value() && *back == *stored);
  return 0;
}
