// CachedRow: all versions of one row, packed into one allocation.
//
// Invariants Versions never change; a row that changes is packed again.
// Threading  Versions: any thread, as long as the memory lives.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

// Followed in memory by timestamps of writes, of deletes, values, the key and texts.
class CachedRow {
 public:
  static std::size_t bytes_of(const VersionedRow& row);
  // Requires: `memory` has bytes_of(row) bytes, fewer than 4 GiB.
  static CachedRow& pack(void* memory, const VersionedRow& row, std::uint64_t hash);

  std::size_t bytes() const { return bytes_; }
  std::uint64_t hash() const { return hash_; }
  // The flush revision of the view that the row was read from.
  std::uint32_t revision() const { return revision_; }
  void set_revision(std::uint64_t revision) { revision_ = static_cast<std::uint32_t>(revision); }
  ByteSpan key() const;
  // Adds what `spec` requests; texts borrow this memory.
  void read(const ReadSpec& spec, RowBuilder& out) const;

  // Links of the cache.
  std::atomic<CachedRow*> next{nullptr};  // In its bucket.
  std::uint32_t place = 0;                // In its ring.
  std::atomic<bool> used{false};
  std::atomic<bool> outdated{false};

 private:
  struct PackedValue;

  CachedRow() = default;
  const Timestamp* writes() const { return reinterpret_cast<const Timestamp*>(this + 1); }
  const Timestamp* deletes() const { return writes() + write_count_; }
  const PackedValue* values() const;
  VersionedValue unpack(const PackedValue& packed) const;
  void read_all(const ReadSpec& spec, RowBuilder& out) const;

  std::uint64_t hash_ = 0;
  std::uint32_t bytes_ = 0;
  std::uint32_t key_bytes_ = 0;
  std::uint32_t write_count_ = 0;
  std::uint32_t delete_count_ = 0;
  std::uint32_t value_count_ = 0;
  std::uint32_t revision_ = 0;
};

}  // namespace moraine::table
