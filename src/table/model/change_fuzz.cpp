// Any bytes as a row change: rejected, or decoded to a change that encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "table/model/change.h"

namespace {

moraine::TableSchema fuzz_schema() {
  using moraine::ColumnType;
  moraine::TableSchema schema;
  schema.columns = {
      {.name = "k", .type = ColumnType::kInt64, .key = true},
      {.name = "t", .type = ColumnType::kString, .key = true},
      {.name = "i", .type = ColumnType::kInt64, .aggregate = moraine::Aggregate::kSum},
      {.name = "s", .type = ColumnType::kString},
      {.name = "b", .type = ColumnType::kBoolean}};
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::table;
  static const TableSchema schema = fuzz_schema();
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  Decoder decoder(bytes);
  if (const auto change = take_change(decoder, schema)) {
    Encoder encoder;
    append_change(encoder, *change);
    if (!equal(encoder.span(), bytes.first(decoder.position()))) __builtin_trap();
    std::vector<VersionedValue> cells;
    if (change->kind == ChangeKind::kWrite) read_image(as_bytes(change->image), 1, nullptr, cells);
  }
  return 0;
}
