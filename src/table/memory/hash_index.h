// HashIndex: rows of a memory store by the hash of their key.
//
// Promise    A row is found with about two cache misses; a reader never blocks. The index grows in
//            steps of a sixty-fourth of the rows.
// Threading  insert: the writer. find: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "table/memory/memory_store.h"

namespace moraine::table {

class HashIndex {
 public:
  // Requires: the key is not in the index.
  void insert(MemoryStore::Row& row);
  MemoryStore::Row* find(ByteSpan key, std::uint64_t hash) const;
  void prefetch(std::uint64_t hash) const;
  std::size_t bytes() const { return bytes_; }  // Writer.

 private:
  static constexpr unsigned kShardBits = 6;
  static constexpr std::size_t kSlotsMin = 16;

  // Open addressing. A slot is a pointer with sixteen bits of the hash above it, or 0. Outgrown
  // tables are kept for readers that still use them.
  struct Table {
    explicit Table(std::size_t size)
        : mask(size - 1), slots(std::make_unique<std::atomic<std::uint64_t>[]>(size)) {}
    const std::size_t mask;
    const std::unique_ptr<std::atomic<std::uint64_t>[]> slots;
  };
  struct Shard {
    std::atomic<Table*> table{nullptr};
    std::size_t rows = 0;
  };

  static void put(Table& table, MemoryStore::Row& row);
  void grow(Shard& shard);

  std::array<Shard, std::size_t{1} << kShardBits> shards_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::size_t bytes_ = 0;
};

}  // namespace moraine::table
