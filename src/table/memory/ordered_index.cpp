#include "table/memory/ordered_index.h"

#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/invariant.h"
#include "table/memory/memory_row.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

constexpr unsigned kEntriesMax = 14;
constexpr unsigned kLevelsMax = 16;

// The order of a node: the number of entries, then the slot of each, four bits per slot.
unsigned count_of(std::uint64_t order) {
  return order & 15;
}
unsigned slot_of(std::uint64_t order, unsigned at) {
  return order >> (4 + 4 * at) & 15;
}
std::uint64_t with_slot(std::uint64_t order, unsigned at, unsigned slot) {
  const unsigned shift = 4 + 4 * at;
  const std::uint64_t below = order & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t above = order >> shift << shift;
  return (below | std::uint64_t{slot} << shift | above << 4) + 1;
}

// Eight bytes of the key from `skip` on, as a number; keys with the same first `skip` bytes are
// ordered by it, unless it is equal.
std::uint64_t head_of(ByteSpan key, std::size_t skip) {
  if (key.size() < skip) return 0;
  std::uint64_t head = 0;
  std::memcpy(&head, key.data() + skip, std::min(sizeof(head), key.size() - skip));
  return std::byteswap(head);
}

std::size_t shared_bytes(ByteSpan a, ByteSpan b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t shared = 0;
  while (shared < size && a[shared] == b[shared]) ++shared;
  return shared;
}

}  // namespace

struct alignas(Arena::kCacheLineBytes) OrderedIndex::Node {
  std::atomic<std::uint64_t> order{0};
  std::atomic<Node*> next{nullptr};  // Of a leaf.
  Node* previous = nullptr;          // The same; the writer's.
  std::uint32_t shared = 0;          // Bytes that all keys of the node's range begin with.
  std::uint32_t level = 0;           // 0: a leaf.
  std::array<std::uint64_t, kEntriesMax> heads{};
  // In a leaf: its rows. Above: for each child a row at which it begins; the first is not used.
  std::array<Row*, kEntriesMax> rows{};
};
struct OrderedIndex::Inner : Node {
  std::array<std::atomic<Node*>, kEntriesMax> children{};
};

struct OrderedIndex::Entry {
  Row* row = nullptr;
  Node* child = nullptr;
  std::uint64_t head = 0;
};

// Rows between which the keys of a node lie; null: no bound.
struct OrderedIndex::Range {
  const Row* from = nullptr;
  const Row* to = nullptr;
};

// The writer's way to a leaf: per level the inner node, the child taken and the node's range.
struct OrderedIndex::Path {
  std::array<Inner*, kLevelsMax> nodes{};
  std::array<unsigned, kLevelsMax> at{};
  std::array<Range, kLevelsMax> ranges{};  // At 0 that of the leaf.
};

namespace {

// The first entry from `low` on whose key is at or after `key` (kAfterEqual: after it). Requires:
// the key begins with the prefix that the node's keys share.
enum class Side : std::uint8_t { kAtOrAfter, kAfterEqual };

template <Side kSide, class Node>
unsigned search(const Node& node, std::uint64_t order, ByteSpan key, unsigned low) {
  const std::uint64_t head = head_of(key, node.shared);
  unsigned high = count_of(order);
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const unsigned slot = slot_of(order, middle);
    bool below = node.heads[slot] < head;
    if (node.heads[slot] == head) {
      const auto compared = compare_keys(node.rows[slot]->key(), key);
      below = kSide == Side::kAtOrAfter ? compared < 0 : compared <= 0;
    }
    if (below) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The same for any key.
template <Side kSide, class Node>
unsigned search_any(const Node& node, std::uint64_t order, ByteSpan key, unsigned low) {
  if (node.shared > 0 && count_of(order) > low) {
    const ByteSpan sample = node.rows[slot_of(order, low)]->key().first(node.shared);
    const auto compared = compare_keys(key.first(std::min(key.size(), sample.size())), sample);
    if (compared < 0) return low;
    if (compared > 0) return count_of(order);
  }
  return search<kSide>(node, order, key, low);
}

void prefetch(const void* node) {
  constexpr std::size_t kLines = 3;
  for (std::size_t i = 0; i < kLines; ++i) {
    __builtin_prefetch(static_cast<const std::byte*>(node) + i * Arena::kCacheLineBytes);
  }
}

// Prefetches the row and, often, the version that was added with it.
void prefetch_row(const void* row) {
  __builtin_prefetch(row);
  __builtin_prefetch(static_cast<const std::byte*>(row) + Arena::kCacheLineBytes);
}

}  // namespace

template <class T>
T& OrderedIndex::make(unsigned level, const Range& range) {
  auto& node = *new (arena_.allocate(sizeof(T), Arena::kCacheLineBytes)) T;
  node.level = level;
  if (range.from != nullptr && range.to != nullptr) {
    node.shared = static_cast<std::uint32_t>(shared_bytes(range.from->key(), range.to->key()));
  }
  return node;
}

// Entries of `source`, which was replaced, and new ones, which have the same head as `source`.
template <class T>
void OrderedIndex::fill(T& node, const T& source, const Entry* entries, unsigned count) {
  std::uint64_t order = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Entry& entry = entries[i];
    const bool same = node.shared == source.shared || entry.row == nullptr;
    node.heads[i] = same ? entry.head : head_of(entry.row->key(), node.shared);
    node.rows[i] = entry.row;
    if constexpr (std::same_as<T, Inner>) {
      node.children[i].store(entry.child, std::memory_order_relaxed);
    }
    order = with_slot(order, i, i);
  }
  node.order.store(order, std::memory_order_relaxed);
}

OrderedIndex::OrderedIndex(Arena& arena) : arena_(arena) {
  root_.store(&make<Node>(0, {}), std::memory_order_release);
}

OrderedIndex::Node& OrderedIndex::descend(ByteSpan key, Path& path) const {
  Node* node = root_.load(std::memory_order_relaxed);
  Range range;
  while (node->level > 0) {
    auto& inner = static_cast<Inner&>(*node);
    const std::uint64_t order = inner.order.load(std::memory_order_relaxed);
    const unsigned at = search<Side::kAfterEqual>(inner, order, key, 1) - 1;
    node = inner.children[slot_of(order, at)].load(std::memory_order_relaxed);
    prefetch(node);
    path.nodes[inner.level] = &inner;
    path.at[inner.level] = at;
    path.ranges[inner.level] = range;
    if (at > 0) range.from = inner.rows[slot_of(order, at)];
    if (at + 1 < count_of(order)) range.to = inner.rows[slot_of(order, at + 1)];
  }
  path.ranges[0] = range;
  return *node;
}

void OrderedIndex::insert(Row& row) {
  Path path;
  Node& leaf = descend(row.key(), path);
  const std::uint64_t order = leaf.order.load(std::memory_order_relaxed);
  const unsigned count = count_of(order);
  const unsigned at = search<Side::kAtOrAfter>(leaf, order, row.key(), 0);
  if (count < kEntriesMax) {
    leaf.heads[count] = head_of(row.key(), leaf.shared);
    leaf.rows[count] = &row;
    leaf.order.store(with_slot(order, at, count), std::memory_order_release);
  } else if (at == count && leaf.next.load(std::memory_order_relaxed) == nullptr) {
    append_leaf(leaf, row, path);
  } else {
    split_leaf(leaf, at, row, path);
  }
}

// Rows inserted in key order fill their leaves.
void OrderedIndex::append_leaf(Node& last, Row& row, Path& path) {
  Node& added = make<Node>(0, {&row, nullptr});
  const Entry entry{&row, nullptr, head_of(row.key(), 0)};
  fill(added, added, &entry, 1);
  added.previous = &last;
  last.next.store(&added, std::memory_order_release);
  add_child(row, added, path, 1);
}

void OrderedIndex::split_leaf(Node& leaf, unsigned at, Row& row, Path& path) {
  const std::uint64_t order = leaf.order.load(std::memory_order_relaxed);
  std::array<Entry, kEntriesMax + 1> entries;
  for (unsigned i = 0; i < kEntriesMax; ++i) {
    const unsigned slot = slot_of(order, i);
    entries[i < at ? i : i + 1] = {leaf.rows[slot], nullptr, leaf.heads[slot]};
  }
  entries[at] = {&row, nullptr, head_of(row.key(), leaf.shared)};
  constexpr unsigned kMiddle = (kEntriesMax + 1) / 2;
  Row& separator = *entries[kMiddle].row;
  Node& left = make<Node>(0, {path.ranges[0].from, &separator});
  Node& right = make<Node>(0, {&separator, path.ranges[0].to});
  fill(left, leaf, entries.data(), kMiddle);
  fill(right, leaf, entries.data() + kMiddle, kEntriesMax + 1 - kMiddle);

  Node* next = leaf.next.load(std::memory_order_relaxed);
  left.next.store(&right, std::memory_order_relaxed);
  left.previous = leaf.previous;
  right.next.store(next, std::memory_order_relaxed);
  right.previous = &left;
  if (next != nullptr) next->previous = &right;
  if (leaf.previous != nullptr) leaf.previous->next.store(&left, std::memory_order_release);
  replace(left, path, 1);
  add_child(separator, right, path, 1);
}

void OrderedIndex::replace(Node& node, Path& path, unsigned level) {
  Inner* parent = path.nodes[level];
  if (parent == nullptr) {
    root_.store(&node, std::memory_order_release);
    return;
  }
  const std::uint64_t order = parent->order.load(std::memory_order_relaxed);
  parent->children[slot_of(order, path.at[level])].store(&node, std::memory_order_release);
}

void OrderedIndex::add_child(Row& separator, Node& child, Path& path, unsigned level) {
  Inner* parent = path.nodes[level];
  if (parent == nullptr) {
    INVARIANT(level < kLevelsMax, "a memory store has {} levels", level);
    auto& root = make<Inner>(level, {});
    const Entry entries[] = {{nullptr, root_.load(std::memory_order_relaxed), 0},
                             {&separator, &child, head_of(separator.key(), 0)}};
    fill(root, root, entries, 2);
    root_.store(&root, std::memory_order_release);
    return;
  }
  const std::uint64_t order = parent->order.load(std::memory_order_relaxed);
  const unsigned count = count_of(order);
  const unsigned at = path.at[level] + 1;
  const Entry added{&separator, &child, head_of(separator.key(), parent->shared)};
  if (count == kEntriesMax) {
    split_inner(*parent, at, added, path, level);
    return;
  }
  parent->heads[count] = added.head;
  parent->rows[count] = &separator;
  parent->children[count].store(&child, std::memory_order_relaxed);
  parent->order.store(with_slot(order, at, count), std::memory_order_release);
}

void OrderedIndex::split_inner(Inner& inner, unsigned at, const Entry& added, Path& path,
                               unsigned level) {
  const Range& range = path.ranges[level];
  if (at == kEntriesMax && range.to == nullptr) {
    auto& last = make<Inner>(level, {added.row, nullptr});
    fill(last, last, &added, 1);
    add_child(*added.row, last, path, level + 1);
    return;
  }
  const std::uint64_t order = inner.order.load(std::memory_order_relaxed);
  std::array<Entry, kEntriesMax + 1> entries;
  for (unsigned i = 0; i < kEntriesMax; ++i) {
    const unsigned slot = slot_of(order, i);
    entries[i < at ? i : i + 1] = {
        inner.rows[slot], inner.children[slot].load(std::memory_order_relaxed), inner.heads[slot]};
  }
  entries[at] = added;
  constexpr unsigned kMiddle = (kEntriesMax + 1) / 2;
  Row& separator = *entries[kMiddle].row;
  auto& left = make<Inner>(level, {range.from, &separator});
  auto& right = make<Inner>(level, {&separator, range.to});
  fill(left, inner, entries.data(), kMiddle);
  fill(right, inner, entries.data() + kMiddle, kEntriesMax + 1 - kMiddle);
  replace(left, path, level + 1);
  add_child(separator, right, path, level + 1);
}

OrderedIndex::Position OrderedIndex::lower_bound(ByteSpan key) const {
  const Node* node = root_.load(std::memory_order_acquire);
  while (node->level > 0) {
    const auto& inner = static_cast<const Inner&>(*node);
    const std::uint64_t order = inner.order.load(std::memory_order_acquire);
    const unsigned at = search_any<Side::kAfterEqual>(inner, order, key, 1) - 1;
    node = inner.children[slot_of(order, at)].load(std::memory_order_acquire);
    prefetch(node);
  }
  Position position;
  for (; node != nullptr; node = node->next.load(std::memory_order_acquire)) {
    position.leaf_ = node;
    position.order_ = node->order.load(std::memory_order_acquire);
    position.at_ = search_any<Side::kAtOrAfter>(*node, position.order_, key, 0);
    if (position.at_ < count_of(position.order_)) break;
  }
  position.settle();
  return position;
}

void OrderedIndex::Position::settle() {
  while (at_ == count_of(order_)) {
    const Node* next = leaf_->next.load(std::memory_order_acquire);
    if (next == nullptr) {
      row_ = nullptr;
      return;
    }
    leaf_ = next;
    order_ = next->order.load(std::memory_order_acquire);
    at_ = 0;
    for (unsigned i = 0; i < count_of(order_); ++i) prefetch_row(leaf_->rows[slot_of(order_, i)]);
  }
  row_ = leaf_->rows[slot_of(order_, at_)];
}

void OrderedIndex::Position::next() {
  ++at_;
  settle();
}

}  // namespace moraine::table
