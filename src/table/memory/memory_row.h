// A row of a memory store: its key, its mark and its versions.
//
// Promise    A version is reachable whole or not at all; versions are linked newest first.
// Threading  add_version: the writer. All else: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "table/memory/arena.h"
#include "table/memory/memory_store.h"

namespace moraine::table {

// The values of a row at one of its versions, collected, so that readers need not walk all versions
// of a row whose columns are written one by one. Followed in memory by the values, and then the
// ranges of those that are folded deltas.
struct MemoryDigest {
  Timestamp delete_timestamp = 0;  // 0: none.
  std::size_t value_count = 0;
  std::size_t folded_count = 0;

  std::span<const VersionedValue> values() const {
    return {reinterpret_cast<const VersionedValue*>(this + 1), value_count};
  }
  std::span<const FoldedRange> folded() const {
    const VersionedValue* end = reinterpret_cast<const VersionedValue*>(this + 1) + value_count;
    return {reinterpret_cast<const FoldedRange*>(end), folded_count};
  }
};

// Followed in memory by its image.
struct MemoryVersion {
  std::atomic<MemoryVersion*> older{nullptr};
  std::atomic<const MemoryDigest*> digest{nullptr};
  Timestamp timestamp = 0;
  std::uint32_t image_bytes = 0;
  ChangeKind kind = ChangeKind::kWrite;
  // Nothing older in this store matters to a reader of the newest values: there is no delete, and
  // every older cell is covered by a full one of this image. Set at creation or never.
  std::atomic<bool> decides{false};
  // Number of versions down to one that decides or has a digest; used by the writer only.
  std::uint16_t steps = 0;

  ByteSpan image() const { return {reinterpret_cast<const std::byte*>(this + 1), image_bytes}; }
};

// Followed in memory by its key.
class MemoryStore::Row {
 public:
  static Row& make(Arena& arena, ByteSpan key, std::uint64_t hash);

  ByteSpan key() const { return {reinterpret_cast<const std::byte*>(this + 1), key_bytes_}; }
  std::uint64_t hash() const { return hash_; }

  PreparedMark mark() const {
    const std::uint64_t word = mark_.load(std::memory_order_acquire);
    return {word >> 1, (word & 1) != 0};
  }
  void set_mark(PreparedMark mark) {
    mark_.store(mark.since << 1 | (mark.two_phase ? 1 : 0), std::memory_order_release);
  }

  // False: a version of this timestamp exists.
  bool add_version(Arena& arena, const TableSchema* schema, Timestamp timestamp, ChangeKind kind,
                   ByteSpan image);
  bool read(const ReadSpec& spec, RowBuilder& out) const;
  // A hint that the newest version is about to be read.
  void prefetch_newest() const {
    const auto* newest = reinterpret_cast<const char*>(newest_.load(std::memory_order_relaxed));
    if (newest == nullptr) return;
    for (std::size_t i = 0; i < kPrefetchedLines; ++i) __builtin_prefetch(newest + 64 * i);
  }
  // Of all versions; used by the writer only.
  std::uint32_t version_bytes() const { return version_bytes_; }

 private:
  Row(std::uint64_t hash, std::uint32_t key_bytes) : hash_(hash), key_bytes_(key_bytes) {}

  static constexpr std::size_t kPrefetchedLines = 4;

  std::atomic<MemoryVersion*> newest_{nullptr};
  std::atomic<std::uint64_t> mark_{0};
  const std::uint64_t hash_;
  const std::uint32_t key_bytes_;
  std::uint32_t version_bytes_ = 0;
};

}  // namespace moraine::table
