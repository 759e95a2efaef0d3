// OrderedIndex: rows of a memory store by key. A B+ tree with one writer.
//
// Promise    Readers never block and never see a row twice or out of order. A reader sees every row
//            inserted before it began; it may or may not see later ones.
// Invariants (1) Entries are only added to a node; their order is published in one word. (2) A full
//            node is replaced by two new ones and stays unchanged for readers inside it: it has
//            every row that existed when they entered. (3) Leaves are linked; a reader that enters
//            left of its key finds it by walking right.
// Threading  insert: the writer. Else any thread; nodes live as long as the arena.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "table/memory/arena.h"
#include "table/memory/memory_store.h"

namespace moraine::table {

class OrderedIndex {
 public:
  using Row = MemoryStore::Row;
  struct Node;

  explicit OrderedIndex(Arena& arena);

  // Requires: the key is not in the index.
  void insert(Row& row);

  class Position {
   public:
    // Null: past the last row.
    const Row* row() const { return row_; }
    void next();

   private:
    friend class OrderedIndex;
    void settle();

    const Node* leaf_ = nullptr;
    std::uint64_t order_ = 0;  // Of the leaf, when the reader entered it.
    unsigned at_ = 0;
    const Row* row_ = nullptr;
  };
  // The first row at or after the key.
  Position lower_bound(ByteSpan key) const;

 private:
  struct Inner;
  struct Entry;
  struct Path;
  struct Range;

  template <class T>
  T& make(unsigned level, const Range& range);
  template <class T>
  void fill(T& node, const T& source, const Entry* entries, unsigned count);
  Node& descend(ByteSpan key, Path& path) const;
  void split_leaf(Node& leaf, unsigned at, Row& row, Path& path);
  void append_leaf(Node& last, Row& row, Path& path);
  // Puts `node` in place of the one that the path leads to, below the `level` of its parent.
  void replace(Node& node, Path& path, unsigned level);
  void add_child(Row& separator, Node& child, Path& path, unsigned level);
  void split_inner(Inner& inner, unsigned at, const Entry& added, Path& path, unsigned level);

  Arena& arena_;
  std::atomic<Node*> root_;
};

}  // namespace moraine::table
