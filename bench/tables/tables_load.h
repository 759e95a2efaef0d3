// Both sides with the same rows, loaded and settled.
#pragma once

#include <memory>
#include <string>

#include "bench/blob_bench.h"
#include "bench/tables/our_table.h"
#include "bench/tables/rocks_table.h"

namespace moraine::bench {

inline constexpr std::uint64_t kRows = 10'000'000;
inline constexpr std::uint64_t kRowsQuick = 1'000'000;
// The row cache of ours is used only where a line says so.
inline constexpr std::size_t kRowCacheOff = std::size_t{1} << 20;

inline std::uint64_t rows_of(const Setting& setting) {
  return setting.quick ? kRowsQuick : kRows;
}

struct PairOptions {
  std::string name;        // Of the folders.
  std::uint64_t rows = 0;  // That devices must have space for, overwrites included.
  std::size_t cache_bytes = 0;
  std::size_t row_cache_bytes = kRowCacheOff;  // Of ours; added to the peer's cache.
  bool wide = false;
  bool statistics = false;
  TableOptions table;
};

// Removed from the disk with this object.
struct Pair {
  std::unique_ptr<OurTable> ours;
  std::unique_ptr<RocksTable> peer;
  std::string our_folder;
  std::string peer_folder;

  Pair() = default;
  Pair(Pair&&) = default;
  Pair& operator=(Pair&&) = delete;
  ~Pair();

  Result<void> load(RowRange range, std::uint64_t version, Report& report) const;
  Result<void> settle() const;
};

Result<Pair> open_pair(const Setting& setting, const PairOptions& options);
// Opened, with rows 0 ... `options.rows` - 1, settled.
Result<Pair> load_pair(const Setting& setting, const PairOptions& options);

}  // namespace moraine::bench
