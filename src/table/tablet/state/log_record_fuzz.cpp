// Any bytes as a log record: rejected, or decoded to a record that encodes to the same bytes.

#include <cstddef>
#include <cstdint>

#include "table/tablet/state/log_record.h"

namespace {

const moraine::TableSchema& schema() {
  using namespace moraine;
  static const TableSchema kSchema = [] {
    TableSchema schema;
    schema.columns.resize(3);
    schema.columns[0].name = "k";
    schema.columns[0].type = ColumnType::kInt64;
    schema.columns[0].key = true;
    schema.columns[1].name = "v";
    schema.columns[2].name = "n";
    schema.columns[2].type = ColumnType::kInt64;
    schema.columns[2].aggregate = Aggregate::kSum;
    return schema;
  }();
  return kSchema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto record = table::decode_log_record(bytes, schema())) {
    if (!equal(table::encode(*record), bytes)) __builtin_trap();
  }
  return 0;
}
