// HunkWriter: long values of a chunk that is being written.
//
// Promise    Replaces long values of rows by references in their stored form; the values go to hunk
//            blobs. References that rows already have are kept.
// Threading  One thread at a time.
// Tests      chunk_hunk_test.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "moraine/schema.h"
#include "table/chunk/block_sink.h"
#include "table/chunk/hunk_places.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

class HunkWriter {
 public:
  explicit HunkWriter(const TableSchema& schema);

  // The row itself, or one that lives until the next call.
  VersionedRow convert(const VersionedRow& row);
  BlobStream& blobs() { return blobs_; }
  std::uint64_t bytes() const { return bytes_; }
  // New ones first. Requires: blobs().finish() was called.
  std::vector<HunkUse> uses() const;

 private:
  bool is_long(const VersionedValue& value) const;
  void put_long(VersionedValue& value);
  void keep_reference(VersionedValue& value);
  std::string& text();

  std::vector<std::size_t> inline_max_;  // By column.
  bool any_column_ = false;
  BlobStream blobs_;
  std::vector<std::uint64_t> fresh_bytes_;
  std::map<blob::BlobId, std::uint32_t> carried_;  // Ordinals.
  std::vector<HunkUse> carried_uses_;
  std::uint64_t bytes_ = 0;
  std::vector<VersionedValue> values_;
  std::deque<std::string> texts_;
  std::size_t texts_used_ = 0;
};

}  // namespace moraine::table
