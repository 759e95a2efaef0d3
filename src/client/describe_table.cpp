#include "client/describe_table.h"

#include "table/model/key.h"

namespace moraine::client {
namespace {

void describe_tablet(TabletReport& report, const table::TabletStatistics& statistics) {
  report.rows = statistics.unmerged_rows;
  report.chunks = statistics.chunks;
  report.partitions = statistics.partitions;
  report.disk_bytes = statistics.compressed_bytes + statistics.hunk_bytes;
  report.uncompressed_bytes = statistics.uncompressed_bytes;
  report.memory_bytes = statistics.memory_bytes;
  report.preload_completed_chunks = statistics.preload_completed_chunks;
  report.preload_pending_chunks = statistics.preload_pending_chunks;
  report.preload_failed_chunks = statistics.preload_failed_chunks;
  report.preload_error = statistics.preload_error;
  report.error = statistics.error;
  report.total_rows = statistics.total_rows;
  report.trimmed_rows = statistics.trimmed_rows;
}

// As YTsaurus' attribute of the same name.
std::string preload_state(const TableReport& report) {
  std::uint64_t pending = 0;
  std::uint64_t failed = 0;
  for (const TabletReport& tablet : report.tablets) {
    pending += tablet.preload_pending_chunks;
    failed += tablet.preload_failed_chunks;
  }
  if (report.options.in_memory_mode == InMemoryMode::kNone) return "none";
  if (failed > 0) return "failed";
  return pending > 0 ? "in_progress" : "complete";
}

Result<TableReport> report_of(const TableDescription& table) {
  TableReport report;
  const TableRecord& record = table.record;
  report.path = table.open->path;
  report.schema = record.schema;
  report.options = record.options;
  report.options.mount.forced_compaction_revision = 0;
  report.forced_compaction_revision = record.options.mount.forced_compaction_revision;
  report.remount_needed = needs_remount(record);
  report.dynamic = record.dynamic;
  auto memory = std::make_shared<std::vector<std::unique_ptr<std::string>>>();  // Texts of pivots.
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    TabletReport tablet;
    tablet.id = std::to_string(record.tablets[i].info.id.value);
    tablet.state = table.open->ranges[i].state;
    memory->push_back(std::make_unique<std::string>(record.tablets[i].pivot));
    const std::string& pivot = *memory->back();
    memory->push_back(std::make_unique<std::string>());
    TRY_VOID(table::decode_key(as_bytes(pivot), tablet.pivot, *memory->back()));
    if (i < table.figures.size()) describe_tablet(tablet, table.figures[i]);
    if (report.tablets.empty()) report.state = tablet.state;
    if (report.state != tablet.state) report.state = std::nullopt;
    report.tablets.push_back(std::move(tablet));
  }
  report.preload_state = preload_state(report);
  report.memory = std::move(memory);
  return report;
}

}  // namespace

Task<Result<TableReport>> describe_table(Tables& tables, std::string path) {
  CO_TRY(const TableDescription found, co_await tables.describe(std::move(path)));
  co_return report_of(found);
}

}  // namespace moraine::client
