// Any bytes as a block of either format: rejected, or every row of it can be read.

#include <cstddef>
#include <cstdint>
#include <string>

#include "table/chunk/row_block.h"
#include "table/chunk/row_group.h"
#include "table/chunk/unit_writer.h"
#include "table/memory/memory_store.h"

namespace {

using namespace moraine;
using namespace moraine::table;

TableSchema schema() {
  TableSchema made;
  const ColumnType types[] = {ColumnType::kInt64,  ColumnType::kString, ColumnType::kInt64,
                              ColumnType::kUint64, ColumnType::kDouble, ColumnType::kBoolean,
                              ColumnType::kString, ColumnType::kAny};
  for (const ColumnType type : types) {
    ColumnSchema column;
    column.name = std::string(1, static_cast<char>('a' + made.columns.size()));
    column.type = type;
    column.key = made.columns.size() < 2;
    made.columns.push_back(column);
  }
  return made;
}

std::uint64_t weight(const RowBuilder& row) {
  std::uint64_t sum = 0;
  for (const VersionedValue& v : row.values) {
    if (v.value.has_text()) {
      for (const char c : v.value.text()) sum += static_cast<unsigned char>(c);
    }
  }
  return sum;
}

void look_at_rows(ByteSpan bytes, std::uint32_t rows, const TableSchema& with, const ReadPlan& plan,
                  const HunkPlaces& hunks) {
  const StoredBlock stored{.bytes = bytes, .raw_bytes = bytes.size(), .rows = rows};
  const auto opened = open_row_block(stored, value_types(with), hunks);
  if (!opened) return;
  const RowBlock block(*opened);
  std::string key;
  volatile std::uint64_t sum = 0;
  for (std::uint32_t row = 0; row < block.rows(); ++row) {
    block.key(row, key);
    if (block.find(as_bytes(key), key_hash(as_bytes(key))) == RowBlock::kNone) __builtin_trap();
    static_cast<void>(block.lower_bound(as_bytes(key)));
    RowBuilder out;
    block.read(row, plan, {.all_versions = true}, out);
    block.read(row, plan, {}, out);
    sum = sum + weight(out);
  }
}

void look_at_columns(ByteSpan bytes, std::uint32_t rows, const TableSchema& with,
                     const HunkPlaces& hunks) {
  const GroupLayout layout(with);
  const ReadPlan plan;
  for (std::uint32_t place = 0; place < layout.blocks(); ++place) {
    const StoredBlock stored{.bytes = bytes, .raw_bytes = bytes.size(), .rows = rows};
    const auto opened = open_group_block(stored, place, with, hunks);
    if (!opened) continue;
    RowGroup group(with, layout, plan);
    group.begin(rows);
    group.set(place, *opened);
    const std::size_t column = layout.column_at(place);
    if (column == GroupLayout::kNone) continue;
    const ColumnSegmentView& segment = group.segment(column);
    ColumnVector all;
    segment.decode(all);
    volatile std::uint64_t sum = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const Value value = segment.get(row);
      if (value.has_text()) sum = sum + value.text().size();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const TableSchema with = schema();
  static const HunkPlaces hunks(std::vector<HunkUse>(3), 1);
  ReadPlan plan;
  for (const ValueType type : value_types(with)) {
    plan.columns.push_back(
        {.type = type, .known = true, .target = static_cast<ColumnIndex>(plan.columns.size())});
  }
  const std::uint32_t rows = data[0];
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  look_at_rows(bytes, rows, with, plan, hunks);
  look_at_columns(bytes, rows, with, hunks);
  return 0;
}
