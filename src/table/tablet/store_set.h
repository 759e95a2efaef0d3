// StoreSet: the open stores of a tablet, and the view of them that readers get.
//
// Promise    Every change publishes a new view. Rows that were added before a view was published
//            are in it.
// Invariants Numbers of memory stores grow. A store is flushed only when no commit promised to it
//            is unconfirmed.
// Threading  The tablet's executor; view() and hold() anywhere.
// Tests      store_set_test.cpp.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "io/executor.h"
#include "table/tablet/view.h"

namespace moraine::table {

using StoreNumber = std::uint64_t;

struct OpenMemoryStore {
  StoreNumber number = 0;
  std::shared_ptr<MemoryStore> store;
  std::size_t unconfirmed = 0;  // Commits that will add to it.
  std::size_t prepared = 0;     // Rows with marks of two-phase transactions in it.
  Instant created;
};

class StoreSet {
 public:
  StoreSet(std::shared_ptr<const TableSchema> schema, KeyBounds bounds, StoreNumber first,
           Instant now);

  const ViewHolder& views() const { return views_; }

  OpenMemoryStore& active() { return memory_.back(); }
  // Null: flushed, or not yet created.
  OpenMemoryStore* memory(StoreNumber number);
  // Oldest first; the last is the active one.
  std::deque<OpenMemoryStore>& memory_stores() { return memory_; }
  const std::deque<OpenMemoryStore>& memory_stores() const { return memory_; }
  // Freezes the active store and creates a new one.
  void rotate(Instant now);
  // Stores of an earlier incarnation replace the first one; the newest continues as the active one.
  // Requires: at least one; nothing was added yet.
  void restore(const std::map<StoreNumber, std::shared_ptr<MemoryStore>>& stores, Instant now);

  // Replaces chunks: removes `removed`, damaged ones too, adds `added` to partitions by their key
  // ranges (`eden`: to eden). A chunk that fits no single partition is in eden. `flushed`: these
  // memory stores are removed too. With flushed stores, and with other rows, the flush revision
  // grows.
  struct Change {
    std::vector<std::uint64_t> removed;
    std::vector<std::shared_ptr<ChunkReader>> added_to_eden;
    std::vector<std::shared_ptr<ChunkReader>> added;  // Each within one partition.
    std::vector<StoreNumber> flushed;
    std::optional<std::vector<std::string>> pivots;  // New partitions; chunks must fit them.
    std::optional<Timestamp> retained_timestamp;
    std::vector<DamagedChunk> damaged;
    bool replaces_rows = false;  // The new chunks have other rows than those that are removed.
  };
  void apply(Change change);
  // Readers affected by the mark wait, for any key; {}: no more.
  void set_append(PreparedMark mark);
  const PreparedMark& append() const { return append_; }
  // Of an ordered table: no rows below this key are seen any more.
  void trim(std::string from);
  std::uint64_t flush_revision() const { return flush_revision_; }

  std::shared_ptr<ChunkReader> chunk(std::uint64_t id) const;
  const std::map<std::uint64_t, std::shared_ptr<ChunkReader>>& chunks() const { return chunks_; }
  // Reads of their keys fail; nothing else is affected.
  const std::vector<DamagedChunk>& damaged() const { return damaged_; }
  const std::vector<std::string>& pivots() const { return pivots_; }  // The first is empty.
  bool in_eden(std::uint64_t id) const;
  std::size_t eden_size() const { return eden_.size(); }
  std::size_t memory_bytes() const;
  // Bytes of flushed stores that earlier readers still hold.
  std::size_t replaced_memory_bytes();
  // Flushed stores that were still read at the last change, and those that it flushed.
  std::size_t replaced_stores() const { return flushed_.size(); }
  // An upper bound for the versions of any row, except in chunks in which it is not large.
  std::uint64_t largest_rows_bytes() const;
  // Bytes of all versions of one row, likewise.
  struct RowBytes {
    std::uint64_t in_memory = 0;
    std::uint64_t in_chunks = 0;
    std::vector<std::uint64_t> chunks;  // Chunks in which it is large.
  };
  RowBytes row_bytes(ByteSpan key, std::uint64_t hash) const;
  std::uint64_t unmerged_rows() const;

 private:
  std::shared_ptr<const TabletView> make_view() const;
  std::optional<std::size_t> partition_of(const ChunkRecord& record) const;

  std::shared_ptr<const TableSchema> schema_;
  KeyBounds bounds_;
  std::deque<OpenMemoryStore> memory_;
  std::vector<std::weak_ptr<MemoryStore>> flushed_;
  std::map<std::uint64_t, std::shared_ptr<ChunkReader>> chunks_;
  std::set<std::uint64_t> eden_;
  std::vector<DamagedChunk> damaged_;
  std::vector<std::string> pivots_{std::string()};
  std::uint64_t flush_revision_ = 0;
  Timestamp retained_timestamp_ = kMinTimestamp;
  PreparedMark append_;
  bool trimmed_ = false;
  std::uint64_t largest_in_chunks_ = 0;  // The sum of their largest rows.
  ViewHolder views_;
};

}  // namespace moraine::table
