// A path that is read and written is the same path.
#include "base/invariant.h"
#include "gateway/yt/rich_path.h"

using namespace moraine;
using namespace moraine::yt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto path = parse_rich_path(YsonNode(text));
  if (!path) return 0;
  const YsonNode written = to_yson(*path);
  const auto again = parse_rich_path(written);
  INVARIANT(again, "{}", again.error().message);
  INVARIANT(to_yson(*again) == written, "another path was read");
  return 0;
}
