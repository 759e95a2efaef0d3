// Any bytes as a snapshot page, then as a log record on top of it: rejected, or a state whose own
// snapshot can be restored.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checksum.h"
#include "table/tablet/state/table_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  static const auto kSchema = [] {
    TableSchema schema;
    schema.columns.resize(2);
    schema.columns[0].name = "k";
    schema.columns[0].type = ColumnType::kInt64;
    schema.columns[0].key = true;
    schema.columns[1].name = "v";
    return std::make_shared<const TableSchema>(schema);
  }();
  // With a valid head and checksum, so that the items are reached.
  Buffer buffer(size + 9);
  std::memset(buffer.data(), 0, 5);
  buffer.data()[0] = std::byte{1};
  if (size > 0) std::memcpy(buffer.data() + 5, data, size);
  store(buffer.data() + 5 + size, crc32c(ByteSpan(buffer.data(), size + 5)));
  table::TableState state(TabletId{1}, kSchema);
  if (!state.restore({std::move(buffer).freeze()})) return 0;
  table::TableState again(TabletId{1}, kSchema);
  if (!again.restore(state.snapshot())) __builtin_trap();
  return 0;
}
