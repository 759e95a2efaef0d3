#include "table/chunk/unit_writer.h"

#include <fmt/format.h>

#include "table/chunk/row_block.h"

namespace moraine::table {
namespace {

class RowBlockWriter final : public UnitWriter {
 public:
  RowBlockWriter(const TableSchema& schema, std::size_t block_bytes, std::size_t row_bytes_max)
      : builder_(value_types(schema), static_cast<ColumnIndex>(schema.key_count()), block_bytes,
                 row_bytes_max) {}

  Result<bool> add(const VersionedRow& row) override { return builder_.add(row); }
  std::uint32_t rows() const override { return builder_.rows(); }
  void finish(BlockSink& sink, BlockSink::Times times, ChunkMeta&) override {
    const std::uint32_t rows = builder_.rows();
    sink.add(as_bytes(builder_.finish()), rows, times);
  }

 private:
  RowBlockBuilder builder_;
};

}  // namespace

std::unique_ptr<UnitWriter> make_row_block_writer(const TableSchema& schema,
                                                  std::size_t block_bytes,
                                                  std::size_t row_bytes_max) {
  return std::make_unique<RowBlockWriter>(schema, block_bytes, row_bytes_max);
}

Result<void> check_encoded_row(std::size_t bytes, std::size_t bytes_max) {
  if (bytes <= bytes_max) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("the versions of a row take {} bytes, more than {}", bytes, bytes_max));
}

std::vector<ValueType> value_types(const TableSchema& schema) {
  std::vector<ValueType> types;
  for (const ColumnSchema& column : schema.columns) {
    if (!column.key) types.push_back(physical_type(column.type));
  }
  return types;
}

}  // namespace moraine::table
