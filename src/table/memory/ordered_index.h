// OrderedIndex: rows of a memory store by key. A B+ tree with one writer.
//
// Promise    Readers never wait and never see a row twice or out of order. A row that was inserted
//            before a reader came is met by it; one inserted later may or may not be.
// Invariants (1) Entries are only added to a node; their order is published in one word. (2) A full
//            node is replaced by two new ones and stays as it was for readers that are inside: it
//            has every row that was there when they came. (3) Leaves are linked; whoever lands left
//            of his key finds it by walking right.
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

  // Requires: the key is not there.
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
    std::uint64_t order_ = 0;  // Of the leaf, when it was come to.
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
  // In place of the node that the path leads to, below the `level` of its parent.
  void replace(Node& node, Path& path, unsigned level);
  void add_child(Row& separator, Node& child, Path& path, unsigned level);
  void split_inner(Inner& inner, unsigned at, const Entry& added, Path& path, unsigned level);

  Arena& arena_;
  std::atomic<Node*> root_;
};

}  // namespace moraine::table
