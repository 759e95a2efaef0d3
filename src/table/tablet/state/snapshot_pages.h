// Items of any size in pages of at most kSnapshotPageMax.
//
// clang-format off
//   page   = version u8 = 1  index u32  payload  crc32c u32 of all before it
//   stream = item*                       the payloads of all pages, one after the other
//   item   = size u32  bytes             may go over the end of a page
// clang-format on
//
// Promise    Pure. Returns the items that were added, in order. Pages that are damaged, missing in
//            the middle or out of order are rejected; missing last pages must be detected from the
//            items.
// Errors     kCorrupt; kUnsupported: another version.
// Tests      snapshot_pages_test.cpp, table_state_fuzz.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine::table {

class PageWriter {
 public:
  explicit PageWriter(std::size_t page_bytes_max);
  void add(ByteSpan item);
  std::vector<Slice> finish() &&;

 private:
  void append(ByteSpan bytes);
  void begin_page();
  void end_page();

  const std::size_t page_bytes_max_;
  std::vector<std::byte> page_;
  std::vector<Slice> pages_;
};

class PageReader {
 public:
  // Checks every page.
  static Result<PageReader> open(const std::vector<Slice>& pages);
  bool at_end() const { return page_ == payloads_.size(); }
  // Valid until the next call. Requires: !at_end().
  Result<ByteSpan> next();

 private:
  Result<ByteSpan> take(std::size_t size);

  std::vector<Slice> payloads_;
  std::size_t page_ = 0;
  std::size_t at_ = 0;
  std::vector<std::byte> joined_;
};

}  // namespace moraine::table
