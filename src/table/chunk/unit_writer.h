// UnitWriter: collects the rows of one unit of a chunk (chunk_meta.h) and makes its blocks.
//
// Threading  One thread at a time.
#pragma once

#include <memory>

#include "table/chunk/block_sink.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// kInvalidArgument: the row is too large; the error has its size.
Result<void> check_encoded_row(std::size_t bytes, std::size_t bytes_max);

class UnitWriter {
 public:
  virtual ~UnitWriter() = default;
  // False: the unit is full and the row was not added. A row that is larger than a unit is alone in
  // one. Hunks are in their stored form. After an error no more rows may be added.
  virtual Result<bool> add(const VersionedRow& row) = 0;
  virtual std::uint32_t rows() const = 0;
  // Writes the unit's blocks to the sink, the format's data about the unit to `meta`, and begins
  // the next unit. Requires: a row.
  virtual void finish(BlockSink& sink, BlockSink::Times times, ChunkMeta& meta) = 0;
};

std::unique_ptr<UnitWriter> make_row_block_writer(const TableSchema& schema,
                                                  std::size_t block_bytes,
                                                  std::size_t row_bytes_max);
std::unique_ptr<UnitWriter> make_row_group_writer(const TableSchema& schema,
                                                  std::size_t row_bytes_max);

// Types of the value columns, in order.
std::vector<ValueType> value_types(const TableSchema& schema);

}  // namespace moraine::table
