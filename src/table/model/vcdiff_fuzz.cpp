// Any bytes as a source and two patches: rejected, or applying the patches in turn equals applying
// their composition, encoded and decoded.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "table/model/vcdiff.h"

namespace {

using namespace moraine::table;

constexpr std::string_view kMagic("\xd6\xc3\xc4\0", 4);
constexpr std::size_t kSizes = 2;
// Larger targets take too long.
constexpr std::size_t kTargetBytesMax = std::size_t{1} << 20;

void check(bool fine) {
  if (!fine) __builtin_trap();
}

void check_both(const Vcdiff& first, const Vcdiff& second, std::string_view source) {
  if (std::max(first.pieces.size(), second.pieces.size()) > kTargetBytesMax) return;
  const auto middle = apply_vcdiff(first, source);
  if (!middle) return;
  const auto target = apply_vcdiff(second, *middle);
  const auto both = compose_vcdiff(first, second);
  if (!target) return;
  check(both.has_value());
  check(apply_vcdiff(*both, source).value_or("") == *target);
  if (const auto bytes = encode_vcdiff(*both)) {
    const auto again = decode_vcdiff(*bytes);
    check(again && apply_vcdiff(*again, source).value_or("") == *target);
  }
}

}  // namespace

// size of the source u8, size of the first patch u8, source, first patch, second patch. The magic
// bytes of patches are omitted.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kSizes) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + kSizes, size - kSizes);
  const std::string_view source = rest.substr(0, data[0]);
  rest.remove_prefix(source.size());
  const std::string_view head = rest.substr(0, data[1]);
  rest.remove_prefix(head.size());
  const auto first = decode_vcdiff(std::string(kMagic).append(head));
  const auto second = decode_vcdiff(std::string(kMagic).append(rest));
  if (first && second) {
    check_both(*first, *second, source);
  } else if (first) {
    check_both(*first, *first, source);
  }
  return 0;
}
