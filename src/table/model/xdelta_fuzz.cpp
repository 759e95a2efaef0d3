// Any bytes as two states: their merge is a state that is written as it is read; merging with
// nothing changes nothing.

#include <cstddef>
#include <cstdint>

#include "table/model/limits.h"
#include "table/model/xdelta.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine::table;
  if (size == 0) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view older = rest.substr(0, data[0]);
  rest.remove_prefix(older.size());
  TextMemory memory;
  const std::string_view merged = merge_xdelta(older, rest, memory);
  const XdeltaState state = read_xdelta(merged);
  if (merged.size() > kValueBytesMax) __builtin_trap();
  // A base is returned unchanged, with the bytes that followed it.
  if (merged != rest && write_xdelta(state) != merged) __builtin_trap();
  // The fuzzer cannot guess a hash: make the patch's match.
  XdeltaState patch = read_xdelta(rest);
  const XdeltaState base = read_xdelta(older);
  if (patch.error || base.error || patch.type != XdeltaType::kPatch) return 0;
  patch.base_hash = base.type == XdeltaType::kBase ? xdelta_hash(base.data) : base.state_hash;
  const std::string_view fitting = memory.keep(write_xdelta(patch));
  const XdeltaState made = read_xdelta(merge_xdelta(older, fitting, memory));
  if (!made.error && made.type != base.type) __builtin_trap();
  return 0;
}
