// TableReport: the result of describe_table().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "moraine/mount_state.h"
#include "moraine/schema.h"
#include "moraine/table_options.h"

namespace moraine {

struct TabletReport {
  std::string id;
  std::vector<Value> pivot;
  MountState state = MountState::kUnmounted;
  std::uint64_t rows = 0;  // Sum over all stores, not merged.
  std::uint64_t chunks = 0;
  std::uint64_t partitions = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t uncompressed_bytes = 0;
  std::uint64_t memory_bytes = 0;
  // For a table with an in_memory_mode: chunks that are in memory, that are not loaded yet, and
  // that failed to load; the last are read from the disk and retried.
  std::uint64_t preload_completed_chunks = 0;
  std::uint64_t preload_pending_chunks = 0;
  std::uint64_t preload_failed_chunks = 0;
  std::string preload_error;  // Of the last attempt; empty: no failure since.
  std::string error;
  // Of an ordered table: rows appended so far, and how many of the first were trimmed.
  std::uint64_t total_rows = 0;
  std::uint64_t trimmed_rows = 0;
};

struct TableReport {
  std::string path;
  TableSchema schema;
  TableOptions options;                          // As stored.
  std::uint64_t forced_compaction_revision = 0;  // The last value that was set.
  bool remount_needed = false;  // Tablets still use older options than the stored ones.
  bool dynamic = true;
  std::optional<MountState> state;  // Of all tablets; nullopt: they differ.
  std::string preload_state;  // With in_memory_mode: "none", "in_progress", "complete" or "failed".
  std::vector<TabletReport> tablets;
  std::shared_ptr<const void> memory;  // Owns the texts.
};

}  // namespace moraine
