// Whatever stands in a query string and in header fields: it is a map of bounded depth, or refused.
#include "base/invariant.h"
#include "gateway/yt/parameters.h"

using namespace moraine;
using namespace moraine::yt;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto target = http::parse_target("/api?" + text);
  if (target) std::ignore = query_parameters(target->query);
  http::Fields fields;
  fields.add("X-YT-Parameters0", text.substr(0, size / 2));
  fields.add("X-YT-Parameters1", text.substr(size / 2));
  std::ignore = long_field(fields, "X-YT-Parameters");
  const auto format = parse_format(text.substr(0, std::min<std::size_t>(size, 40)));
  const auto map = read_map(text, format ? *format : default_format(DataType::kStructured), "it");
  if (!map) return 0;
  Parameters merged(*map);
  merged.merge(*map);
  for (const YsonPair& pair : *map) {
    INVARIANT(merged.map().find(pair.key) != nullptr, "a parameter was lost");
    std::ignore = merged.boolean(pair.key, false);
    std::ignore = merged.duration(pair.key);
    std::ignore = merged.id(pair.key);
    std::ignore = merged.texts(pair.key);
  }
  return 0;
}
