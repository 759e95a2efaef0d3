// Any bytes as states, merged: refused, or they give a sketch whose state is accepted again.

#include <cstddef>
#include <cstdint>

#include "query/function/sketch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine::query;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::uint8_t kind = size > 1 ? data[1] : 0;
  if (kind != kUniq && (kind < kPrecisionMin || kind > kPrecisionMax)) return 0;
  Sketch sketch(kind);
  const std::size_t half = size / 2;
  for (const std::string_view part : {text, text.substr(0, half), text.substr(half)}) {
    if (!sketch.merge_state(part)) continue;
    Sketch again(kind);
    if (!again.merge_state(sketch.state())) __builtin_trap();
    if (again.state() != sketch.state() || again.count() != sketch.count()) __builtin_trap();
  }
  return 0;
}
