// Any text as a path of the tree: refused, or a path whose text parses to the same path. Any bytes
// as a name: a name of the scheme that means these bytes.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scheme/path.h"
#include "scheme/tree_path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto path = parse_tree_path(text)) {
    const auto again = parse_tree_path(to_text(*path));
    if (!again && to_text(*path).size() <= kTreePathBytesMax) __builtin_trap();
    if (again && *again != *path) __builtin_trap();
  }
  if (!text.empty()) {
    const std::string name = scheme_name(text);
    if (!check_name(name) || tree_name(name) != text) __builtin_trap();
  }
  if (check_name(text) && scheme_name(tree_name(text)) != text) __builtin_trap();
  return 0;
}
