// HotRows: rows of one chunk with many versions, as readers of the newest values see them.
//
// A row that was written many times is one block, which may be too large for the cache, and which
// each reader has to walk through. The first reader at or above the chunk's newest timestamp stores
// here the values of the row, with deltas folded; the chunk never changes, so they stay valid.
//
// Promise    find() never blocks, and takes no lock. Entries stay until the chunk is closed.
// Threading  Any thread.
// Limits     kHotRowsMax rows of a chunk, kHotRowBytesMax of texts each, and kHotBytesMax in all
//            chunks of the process; other rows are read each time. The hashes of the last
//            kRefusedRows refused rows are remembered.
// Tests      hot_rows_test.cpp, table/tablet/read/tablet_lookup_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "moraine/schema.h"
#include "table/model/text_memory.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

inline constexpr std::size_t kHotRowsMax = 64;
inline constexpr std::size_t kHotRowBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kHotBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kRefusedRows = 32;
// A row is hot when a read of all its columns takes more values than this, and more than there are
// columns, or when a block of one row has more bytes.
inline constexpr std::size_t kHotRowValues = 256;
inline constexpr std::size_t kHotBlockBytes = std::size_t{256} << 10;

class HotRows {
 public:
  HotRows() = default;
  HotRows(const HotRows&) = delete;
  HotRows& operator=(const HotRows&) = delete;
  ~HotRows();

  // Total of all chunks of the process.
  static std::size_t bytes_held();

  bool any() const { return table_.load(std::memory_order_acquire) != nullptr; }
  // Adds the values known for the row; false: none.
  bool find(ByteSpan key, std::uint64_t hash, const ColumnSet* columns, RowBuilder& out) const;
  bool has(ByteSpan key, std::uint64_t hash) const { return entry(key, hash) != nullptr; }
  // False: add() would refuse the row, or has done so; the caller need not read it for that.
  bool may_add(std::uint64_t hash) const;
  // `row`: the versions that determine the values of all columns, in order; folded here.
  void add(ByteSpan key, std::uint64_t hash, const TableSchema& schema, RowBuilder row);

 private:
  struct Entry {
    std::string key;
    std::uint64_t hash = 0;
    RowBuilder row;
    TextMemory texts;
    std::size_t bytes = 0;
  };
  struct Table {
    std::array<std::atomic<const Entry*>, 2 * kHotRowsMax> slots{};
  };
  const Entry* entry(ByteSpan key, std::uint64_t hash) const;
  void refuse(std::uint64_t hash);

  std::atomic<Table*> table_{nullptr};
  std::atomic<bool> full_{false};
  // Each at the position given by its hash; 0: none. Another row of the same hash is refused too.
  std::array<std::atomic<std::uint64_t>, kRefusedRows> refused_{};
  std::mutex mutex_;                             // Serializes add().
  std::vector<std::unique_ptr<Entry>> entries_;  // Guarded by mutex_.
};

}  // namespace moraine::table
