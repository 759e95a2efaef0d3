// Any bytes as YSON: rejected, or events that are the same however the input is cut, and that every
// format round-trips.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "yson/reader.h"
#include "yson/yson.h"

namespace {

using namespace moraine;

// Events as binary YSON, as far as they go; an error is marked.
std::string read(std::string_view input, YsonDocument document, std::size_t piece) {
  std::string out;
  YsonReader reader(document, {.string_bytes_max = 1000});
  YsonWriter writer(out, YsonFormat::kBinary, document);
  for (;;) {
    const auto ended = pump(reader, writer);
    if (!ended) return out + "!";
    if (*ended) return out;
    if (input.empty()) {
      reader.finish();
    } else {
      reader.feed(input.substr(0, piece));
      input.remove_prefix(std::min(piece, input.size()));
    }
  }
}

void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto document = static_cast<YsonDocument>(data[0] % 3);
  const std::size_t piece = data[1] % 16 + 1;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string whole = read(input, document, input.size() + 1);
  require(read(input, document, piece) == whole);
  if (!whole.ends_with('!')) require(read(whole, document, piece) == whole);

  const auto node = parse_yson(input, document);
  if (node) require(check_yson(input, document).has_value());
  if (!node || document != YsonDocument::kNode) return 0;
  require(YsonNode(*node) == *node);
  const std::string binary = write_yson(*node, YsonFormat::kBinary);
  for (const YsonFormat format : {YsonFormat::kBinary, YsonFormat::kText, YsonFormat::kPretty}) {
    const auto again = parse_yson(write_yson(*node, format));
    require(again.has_value() && *again == *node);
    require(format != YsonFormat::kBinary || write_yson(*again, format) == binary);
  }
  return 0;
}
