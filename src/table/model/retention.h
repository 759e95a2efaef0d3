// Retention: which versions of a row are kept when it is rewritten.
//
// The rule, for each column, versions newest first, i = 0, 1, ...; a delete is a version of every
// column. A version may be dropped when
//     i >= min_data_versions  and  age >= min_data_ttl               nothing forbids it, and
//     i >= max_data_versions  or   age > max_data_ttl                something permits it.
// A `$ttl` value (milliseconds) replaces max_data_ttl for what was written with it. Age is in whole
// seconds, as timestamps are.
//
// Promise    (1) A version that the rule forbids or does not permit to drop is kept. With `horizon`
//            and `oldest_elsewhere` at kMaxTimestamp (no reads of the past, and the row is
//            complete) every version that may be dropped is, except those that hide an older one.
//            (2) Readers at a timestamp >= horizon see exactly what they saw before, whatever
//            versions >= oldest_elsewhere are merged in later; except for expired versions: with
//            min_data_versions 0, those older than max_data_ttl (with max_data_versions 0: than
//            min_data_ttl) read as if they had never been written. So retained_timestamp() is a
//            horizon that keeps rows readable for min_data_ttl.
//            (3) Deltas are never lost: those that may be dropped are folded into the oldest one
//            that is kept, which becomes a full value if nothing older can exist, else stays a
//            delta. They are not folded while a version elsewhere may lie between them. When all
//            versions of a column have expired they are dropped together.
//            (4) A tombstone is dropped when it is older than min_data_ttl and nothing older
//            exists, here or elsewhere. A row without remaining versions is returned empty.
// Threading  A RowRetention is used by one thread at a time; it reuses its memory.
// Tests      retention_test.cpp (the rule), retention_model_test.cpp (random rows, a naive model).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "moraine/schema.h"
#include "moraine/table_options.h"
#include "table/model/text_memory.h"
#include "table/model/versioned_row.h"

namespace moraine::table {

struct RetentionScope {
  Timestamp now = 0;
  // Versions of the row that are not in the input have timestamps at or above this one.
  // kMaxTimestamp: there are none. kMinTimestamp: unknown.
  Timestamp oldest_elsewhere = kMaxTimestamp;
  // The oldest timestamp at which the row must stay readable.
  Timestamp horizon = kMaxTimestamp;
  // None of those versions is within [alone_from, alone_to]: deltas may be folded there although
  // older parts are elsewhere. Default: no such range is known.
  Timestamp alone_from = kMaxTimestamp;
  Timestamp alone_to = kNullTimestamp;
  // Treats the row as complete even if versions of it are elsewhere: frees space sooner, but
  // deleted or expired versions of other stores may reappear.
  bool ignore_major_timestamp = false;
};

// now - min_data_ttl, at least kMinTimestamp.
Timestamp retained_timestamp(const RetentionConfig& config, Timestamp now);

// May all versions at or below `written` be dropped, whatever else the row has, once the row was
// deleted above them, at or below `deleted`? They are invisible then.
bool deletion_drops(const RetentionConfig& config, const RetentionScope& scope, Timestamp written,
                    Timestamp deleted);

class RowRetention {
 public:
  // `schema` must outlive it.
  RowRetention(const TableSchema& schema, RetentionConfig config, RetentionScope scope);

  // For the rows that follow.
  void set_oldest_elsewhere(Timestamp oldest_elsewhere);
  // `out` is cleared first; texts borrow the row or `memory`.
  void apply(const VersionedRow& row, TextMemory& memory, RowBuilder& out);

 private:
  struct Entry {
    Timestamp timestamp = 0;
    const VersionedValue* value = nullptr;  // Null: a delete, or a write in the row's own history.
    bool deletes = false;
  };

  bool nothing_to_do(const VersionedRow& row) const;
  std::chrono::milliseconds age(Timestamp timestamp) const;
  std::chrono::milliseconds max_ttl(Timestamp timestamp) const;
  bool may_drop(Timestamp timestamp, std::size_t index) const;
  void find_ttls(const VersionedRow& row);
  bool may_fold(std::size_t index) const;
  std::size_t kept_count() const;
  void keep_column(std::span<const VersionedValue> versions, std::span<const Timestamp> deletes,
                   TextMemory& memory, RowBuilder& out);
  void fold_dropped(std::size_t kept, TextMemory& memory, VersionedValue& oldest) const;
  void keep_writes(const VersionedRow& row, RowBuilder& out);
  void keep_deletes(const VersionedRow& row, RowBuilder& out);

  const TableSchema& schema_;
  const RetentionConfig config_;
  RetentionScope scope_;
  std::optional<ColumnIndex> ttl_column_;
  std::span<const VersionedValue> ttls_;  // Of the current row.
  std::vector<Entry> entries_;            // Of the current column.
};

// Reads all versions at or below `timestamp` that compaction would keep, as a versioned read with a
// retention config shows a row. False: none.
bool read_retained_versions(const VersionedRow& row, Timestamp timestamp, const ColumnSet* columns,
                            const TableSchema& schema, const RetentionConfig& config, Timestamp now,
                            TextMemory& memory, RowBuilder& out);

}  // namespace moraine::table
