// Any bytes as DSV: rejected, or rows that are the same however the input is cut, and that DSV
// round-trips.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "yson/dsv_reader.h"
#include "yson/dsv_writer.h"
#include "yson/reader.h"
#include "yson/writer.h"

namespace {

using namespace moraine;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// As text YSON, as far as the input goes; an error is marked.
template <class Reader, class Options>
std::string read(std::string_view input, const Options& options, std::size_t piece) {
  std::string out;
  Reader reader(options, {.string_bytes_max = 1000});
  YsonWriter writer(out, YsonFormat::kText, YsonDocument::kListFragment);
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

template <class Reader, class Writer, class Options>
void check(std::string_view input, const Options& options, std::size_t piece) {
  const std::string rows = read<Reader>(input, options, input.size() + 1);
  require(read<Reader>(input, options, piece) == rows);
  if (rows.ends_with('!')) return;
  std::string dsv;
  YsonReader reader(YsonDocument::kListFragment);
  Writer writer(dsv, options);
  require(convert(rows, reader, writer).has_value());
  require(!options.enable_escaping || read<Reader>(dsv, options, piece) == rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t piece = data[0] % 16 + 1;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  DsvOptions options{.enable_escaping = (data[1] & 1) != 0};
  if ((data[1] & 2) != 0) options.line_prefix = "tskv";
  check<DsvReader, DsvWriter>(input, options, piece);
  const SchemafulDsvOptions schemaful{.enable_escaping = (data[1] & 1) != 0,
                                      .columns = {"a", "b"},
                                      .missing = SchemafulDsvOptions::Missing::kPrintSentinel,
                                      .sentinel = "-"};
  check<SchemafulDsvReader, SchemafulDsvWriter>(input, schemaful, piece);
  return 0;
}
