// Any bytes as JSON: rejected, or events that are the same however the input is cut, that JSON
// round-trips, and that YSON does not change.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "yson/json_reader.h"
#include "yson/json_writer.h"
#include "yson/reader.h"
#include "yson/writer.h"

namespace {

using namespace moraine;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// As binary YSON, as far as the input goes; an error is marked.
std::string read(std::string_view input, const JsonOptions& options, YsonDocument document,
                 std::size_t piece, std::size_t depth_max = 100) {
  std::string out;
  JsonReader reader(options, document, {.depth_max = depth_max});
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto document = static_cast<YsonDocument>(data[0] % 2);
  const std::size_t piece = data[1] % 16 + 1;
  const JsonOptions options{.plain = (data[2] & 1) != 0,
                            .encode_utf8 = (data[2] & 2) != 0,
                            .support_infinity = (data[2] & 4) != 0,
                            .memory_limit = 100'000};
  const std::string_view input(reinterpret_cast<const char*>(data) + 3, size - 3);
  const std::string whole = read(input, options, document, input.size() + 1);
  require(read(input, options, document, piece) == whole);
  if (whole.ends_with('!')) return 0;

  JsonOptions written = options;
  written.stringify = (data[2] & 8) != 0;
  written.annotate_with_types = written.stringify || (data[2] & 16) != 0;
  written.support_infinity = false;
  written.stringify_nan_and_infinity = true;
  written.memory_limit = kJsonMemoryMax;
  written.plain = false;
  std::string json;
  YsonReader reader(document);
  JsonWriter writer(json, written, document);
  const auto converted = convert(whole, reader, writer);
  require(converted.has_value());
  // Types add a map around each scalar.
  const std::string again = read(json, written, document, piece, kYsonDepthMax);
  // Small uint64 values are int64 again, unless their type is written.
  if (written.annotate_with_types) require(again == whole);
  return 0;
}
