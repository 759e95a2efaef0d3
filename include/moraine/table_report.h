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
  std::string error;
};

struct TableReport {
  std::string path;
  TableSchema schema;
  TableOptions options;
  bool dynamic = true;
  std::string state;  // That of all tablets, or "mixed".
  std::vector<TabletReport> tablets;
  std::shared_ptr<const void> memory;  // Of texts.
};

}  // namespace moraine
