// MemoryStore: the rows that a tablet has not flushed yet.
//
// Promise    One writer adds; readers on any thread see each row change whole or not at all, and
//            never block. A row is found by its key in constant time, and rows can be scanned in
//            key order.
// Invariants Nothing is removed or moved while the store lives: rows, keys and images stay where
//            they are.
// Threading  Writer: touch, add, prepare, resolve, on one thread. All else: any thread. A reader
//            keeps the store alive.
// Limits     The owner rotates a store by bytes() and rows().
// Tests      memory_store_test.cpp, memory_store_threads_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "moraine/schema.h"
#include "table/model/change.h"
#include "table/model/row_cursor.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// Announces that a transaction is about to change the row, at a timestamp above `since`.
struct PreparedMark {
  Timestamp since = 0;  // 0: no mark.
  // The outcome is decided by a coordinator, and may already be known there.
  bool two_phase = false;
};

class MemoryStore {
 public:
  // With a schema deltas are folded as they are added: reading a row of many deltas costs as much
  // as one of few.
  explicit MemoryStore(std::shared_ptr<const TableSchema> schema = nullptr);
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  ~MemoryStore();

  class Row;  // Opaque.

  // The row of the key, created without versions if it does not exist. `hash` is key_hash(key).
  Row& touch(ByteSpan key, std::uint64_t hash);
  // Adds a version: a write with its image, or a delete. Timestamps of one row may come in any
  // order; a repeated timestamp is ignored.
  void add(Row& row, Timestamp timestamp, ChangeKind kind, ByteSpan image);
  // Marks are counted: a row may be prepared by several transactions (different lock groups). The
  // mark that readers see has the lowest `since`, and is two_phase if any is.
  void prepare(Row& row, PreparedMark mark);
  void resolve(Row& row, PreparedMark mark);

  // Null: no such row.
  const Row* find(ByteSpan key, std::uint64_t hash) const;
  // Prefetches what find() of this hash reads first; a hint.
  void prefetch(std::uint64_t hash) const;
  static PreparedMark prepared(const Row& row);
  // Adds what `spec` requests; false when there is nothing.
  static bool read(const Row& row, const ReadSpec& spec, RowBuilder& out);

  // Rows within the bounds in key order; rows without versions appear as empty rows if they are
  // prepared. Rows added meanwhile may or may not appear.
  class Cursor;
  std::unique_ptr<RowCursor> scan(const KeyBounds& bounds, ReadSpec spec) const;

  // Bytes of all versions of the row: their images, cells and timestamps. On the writer's thread.
  static std::uint64_t version_bytes(const Row& row);
  // Of the largest row. On the writer's thread.
  std::uint64_t largest_row_bytes() const;

  std::size_t bytes() const;  // Memory allocated.
  std::size_t rows() const;
  // Of versions; 0 when there are none.
  Timestamp min_timestamp() const;
  Timestamp max_timestamp() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of an encoded key; the same function everywhere (filters and caches use it too).
std::uint64_t key_hash(ByteSpan key);
// A different hash for each seed; the hash of a list of keys uses the hash of the keys before as
// the seed.
std::uint64_t key_hash(ByteSpan key, std::uint64_t seed);

}  // namespace moraine::table
