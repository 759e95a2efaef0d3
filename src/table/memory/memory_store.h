// MemoryStore: the rows that a tablet has not flushed yet.
//
// Promise    One writer adds; readers on any thread see each row change whole or not at all, and
//            never wait. A row is found by its key in constant time, and rows are walked in key
//            order.
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

// Says that a transaction is about to change the row, at a timestamp above `since`.
struct PreparedMark {
  Timestamp since = 0;     // 0: nobody is.
  bool two_phase = false;  // Its fate is decided elsewhere, and may be known there already.
};

class MemoryStore {
 public:
  // With a schema deltas are folded as they come: a read of a row of many costs what one of few
  // does.
  explicit MemoryStore(std::shared_ptr<const TableSchema> schema = nullptr);
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;
  ~MemoryStore();

  class Row;  // Opaque.

  // The row of the key, made without versions if there was none. `hash` is key_hash(key).
  Row& touch(ByteSpan key, std::uint64_t hash);
  // A version: a write with its image or a delete. Timestamps of one row may come in any order; the
  // same timestamp twice is ignored the second time.
  void add(Row& row, Timestamp timestamp, ChangeKind kind, ByteSpan image);
  // Marks are counted: a row may be prepared by several transactions (other lock groups). The mark
  // that readers see has the lowest `since`, and is two_phase if any is.
  void prepare(Row& row, PreparedMark mark);
  void resolve(Row& row, PreparedMark mark);

  // Null: no such row.
  const Row* find(ByteSpan key, std::uint64_t hash) const;
  // Brings close to the processor what find() of this hash looks at first; a hint.
  void prefetch(std::uint64_t hash) const;
  static PreparedMark prepared(const Row& row);
  // Adds what `spec` asks for; false when there is nothing.
  static bool read(const Row& row, const ReadSpec& spec, RowBuilder& out);

  // Rows within the bounds in key order, those without versions as empty rows if they are prepared.
  // Rows added meanwhile may or may not be met.
  class Cursor;
  std::unique_ptr<RowCursor> scan(const KeyBounds& bounds, ReadSpec spec) const;

  // All versions of the row, by their images, cells and timestamps. On the writer's thread.
  static std::uint64_t version_bytes(const Row& row);
  // Of the largest row. On the writer's thread.
  std::uint64_t largest_row_bytes() const;

  std::size_t bytes() const;  // Of memory taken.
  std::size_t rows() const;
  // Of versions; 0 when there are none.
  Timestamp min_timestamp() const;
  Timestamp max_timestamp() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Of an encoded key; the same everywhere (filters and caches use it too).
std::uint64_t key_hash(ByteSpan key);
// Another one for each seed; that of a list of keys takes the hash of those before as the seed.
std::uint64_t key_hash(ByteSpan key, std::uint64_t seed);

}  // namespace moraine::table
