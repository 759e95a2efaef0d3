// OpenTable: a table for readers and writers: its schema and where its key ranges are.
//
// Promise    Immutable; a change of the table publishes another one. Ranges are in key order, the
//            first begins with the empty key, and each ends where the next begins.
// Threading  OpenTable: any thread. TableHolder: get() on any thread under an EpochGuard, hold() on
//            any thread, publish() on the control lane.
// Tests      commit_test.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/epoch.h"
#include "moraine/mount_state.h"
#include "table/tablet/table_tablet.h"

namespace moraine {

struct OpenRange {
  std::string from;  // Encoded, inclusive.
  TabletId tablet;
  MountState state = MountState::kUnmounted;
  std::shared_ptr<table::TableTablet> running;  // Null: not here, or not now.
  // Null and this: it runs on another node, where TabletReads and TabletCalls reach it.
  bool elsewhere = false;
  std::string error;  // Why it does not start. Empty: unknown.

  // Whether reads are calls of TabletReads.
  bool read_elsewhere() const { return elsewhere && !running; }

  // With the error, for messages: `"mounting" state (its last start failed: ...)`.
  std::string shown_state() const;
};

struct OpenTable : std::enable_shared_from_this<OpenTable> {
  std::string path;
  std::shared_ptr<const TableSchema> schema;
  bool dynamic = true;
  bool removed = false;  // The table was removed.
  // The schema for readers, without the row number of static tables (static_rows.h). Null: all.
  std::shared_ptr<const TableSchema> shown;
  Atomicity atomicity = Atomicity::kFull;
  std::vector<OpenRange> ranges;

  std::size_t range_of(ByteSpan key) const;
  // kReadOnly: the range is not mounted. kNotHere: it is, but does not run here. Both texts have
  // the state. kNotFound: the table was removed.
  Result<std::shared_ptr<table::TableTablet>> readable(std::size_t range) const;
};

// The error text of calls through a handle of a removed table.
std::string was_removed(std::string_view path);

class TableHolder {
 public:
  explicit TableHolder(std::shared_ptr<const OpenTable> first);
  TableHolder(const TableHolder&) = delete;
  TableHolder& operator=(const TableHolder&) = delete;
  ~TableHolder();

  const OpenTable& get() const { return *published_.load(std::memory_order_acquire); }
  std::shared_ptr<const OpenTable> hold() const;
  void publish(std::shared_ptr<const OpenTable> next);

 private:
  std::shared_ptr<const OpenTable> owned_;
  std::atomic<const OpenTable*> published_;
};

}  // namespace moraine
