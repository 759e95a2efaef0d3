// A format, a newline, another format, a newline, and data: refused, or converted from the first to
// the second, and the same however the data is cut.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "yson/format.h"

namespace {

using namespace moraine;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

std::string_view take_line(std::string_view& input) {
  const std::size_t end = input.find('\n');
  const std::string_view line = input.substr(0, end);
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  return line;
}

// As far as the data goes; an error is marked. Nothing: the formats do not hold such a document.
std::string converted(std::string_view input, const DataFormat& from, const DataFormat& to,
                      YsonDocument document, std::size_t piece) {
  std::string out;
  const auto source = make_source(from, document, {.string_bytes_max = 1000});
  const auto sink = make_sink(out, to, document);
  if (!source || !sink) return {};
  for (;;) {
    const auto ended = pump(**source, **sink);
    if (!ended) return out + "!";
    if (*ended) return out;
    if (input.empty()) {
      (*source)->finish();
    } else {
      (*source)->feed(input.substr(0, piece));
      input.remove_prefix(std::min(piece, input.size()));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  auto from = parse_format(take_line(input));
  const auto to = parse_format(take_line(input));
  if (!from || !to) return 0;
  require(!mime_of(*from).empty());
  // Where the memory limit of JSON is reached depends on the pieces.
  if (auto* json = std::get_if<JsonOptions>(&from->options)) json->memory_limit = kJsonMemoryMax;
  const auto document = static_cast<YsonDocument>(data[0] % 3);
  const std::size_t piece = data[0] / 3 % 16 + 1;
  require(converted(input, *from, *to, document, piece) ==
          converted(input, *from, *to, document, input.size() + 1));
  return 0;
}
