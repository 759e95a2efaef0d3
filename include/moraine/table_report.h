// TableReport: what describe_table() tells.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "moraine/schema.h"
#include "moraine/table_options.h"

namespace moraine {

struct TabletReport {
  std::string id;
  std::vector<Value> pivot;
  std::string state;       // "mounted", "frozen", ...
  std::uint64_t rows = 0;  // Of all stores, not merged.
  std::uint64_t chunks = 0;
  std::uint64_t partitions = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t uncompressed_bytes = 0;
  std::uint64_t memory_bytes = 0;
  // Of a table with an in_memory_mode: chunks in memory, not there yet, and those that failed,
  // which are read from the disk and tried again.
  std::uint64_t preload_completed_chunks = 0;
  std::uint64_t preload_pending_chunks = 0;
  std::uint64_t preload_failed_chunks = 0;
  std::string preload_error;  // Of the last attempt; empty: none has failed since.
  std::string error;
};

struct TableReport {
  std::string path;
  TableSchema schema;
  TableOptions options;                          // As they are stored.
  std::uint64_t forced_compaction_revision = 0;  // That was given last.
  bool remount_needed = false;  // Tablets run by older options than those that are stored.
  bool dynamic = true;
  std::string state;          // That of all tablets, or "mixed".
  std::string preload_state;  // Of in_memory_mode: "none", "in_progress", "complete" or "failed".
  std::vector<TabletReport> tablets;
  std::shared_ptr<const void> memory;  // Of texts.
};

}  // namespace moraine
