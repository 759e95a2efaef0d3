// Any bytes as a Skiff schema and as rows of one: rejected, or rows that are the same however the
// input is cut, and that Skiff round-trips.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "yson/skiff_reader.h"
#include "yson/skiff_writer.h"
#include "yson/writer.h"
#include "yson/yson.h"

namespace {

using namespace moraine;

constexpr std::string_view kSchema =
    "{table_skiff_schemas=[{wire_type=tuple;children=["
    "{name=a;wire_type=int8};{name=s;wire_type=string32};"
    "{name=o;wire_type=variant8;children=[{wire_type=nothing};{wire_type=variant8;children=["
    "{wire_type=nothing};{wire_type=uint16}]}]};"
    "{name=l;wire_type=repeated_variant8;children=[{wire_type=tuple;children=["
    "{name=x;wire_type=boolean};{name=y;wire_type=double}]}]};"
    "{name=v;wire_type=variant16;children=[{wire_type=int32};{wire_type=yson32}]};"
    "{name=\"$other_columns\";wire_type=yson32}]}]}";

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// As binary YSON, as far as the input goes; an error is marked.
std::string read(std::string_view input, const SkiffOptions& options, std::size_t piece) {
  std::string out;
  SkiffReader reader(options, {.string_bytes_max = 1000});
  YsonWriter writer(out, YsonFormat::kBinary, YsonDocument::kListFragment);
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

void check(std::string_view input, const SkiffOptions& options, std::size_t piece) {
  const std::string rows = read(input, options, input.size() + 1);
  require(read(input, options, piece) == rows);
  if (rows.ends_with('!')) return;
  std::string skiff;
  YsonReader reader(YsonDocument::kListFragment);
  SkiffWriter writer(skiff, options);
  // Another column may have the name of one of the schema, and keys may be equal.
  if (!convert(rows, reader, writer)) return;
  const std::string again = read(skiff, options, piece);
  require(!again.ends_with('!'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = data[0] % 16 + 1;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[1] & 1) != 0) {
    const auto node = parse_yson(input);
    if (node && node->as<YsonMap>()) std::ignore = skiff_options(*node->as<YsonMap>());
    return 0;
  }
  static const SkiffOptions options = *skiff_options(*parse_yson(kSchema)->as<YsonMap>());
  check(input, options, piece);
  return 0;
}
