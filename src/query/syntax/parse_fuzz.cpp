// Any bytes as a query: rejected, or a tree that its own text gives again.

#include <cstddef>
#include <cstdint>

#include "query/syntax/format.h"
#include "query/syntax/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine::query;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (int version = 1; version <= 3; ++version) {
    const auto query = parse_query(text, {.syntax_version = version});
    if (!query) continue;
    const auto again =
        parse_query(format(*query, {.syntax_version = version}), {.syntax_version = version});
    // Parentheses around operands may make a tree too deep to be read again, nothing else.
    if (!again && !again.error().context.contains("nested too deeply")) __builtin_trap();
    if (again && !(*again == *query)) __builtin_trap();
  }
  return 0;
}
