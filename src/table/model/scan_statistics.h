// ScanStatistics: what one scan has read.
//
// Threading  Plain data; of one scan, on its thread.
#pragma once

#include <cstdint>

namespace moraine::table {

struct ScanStatistics {
  std::uint64_t blocks_read = 0;     // From memory or a device.
  std::uint64_t blocks_skipped = 0;  // Excluded by the range of their values or timestamps.
  std::uint64_t bytes_read = 0;      // Of the blocks read, unpacked.
  std::uint64_t rows_read = 0;       // Visited, also those that are filtered out.
  std::uint64_t rows_merged = 0;     // Those that were read one by one.
  std::uint64_t rows_returned = 0;

  ScanStatistics& operator+=(const ScanStatistics& other) {
    blocks_read += other.blocks_read;
    blocks_skipped += other.blocks_skipped;
    bytes_read += other.bytes_read;
    rows_read += other.rows_read;
    rows_merged += other.rows_merged;
    rows_returned += other.rows_returned;
    return *this;
  }
  bool operator==(const ScanStatistics&) const = default;
};

}  // namespace moraine::table
