// Changes of ordered tables: trimming, and the number of their tablets.

#include <fmt/format.h>

#include <algorithm>

#include "node/stored_tables.h"
#include "table/model/ordered.h"

namespace moraine {

Task<Result<void>> StoredTables::trim(std::string path, std::size_t tablet, std::uint64_t rows) {
  const TablePtr table = find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table /{}", path));
  if (kind_of(table->record()) != table::TableKind::kOrdered) {
    co_return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is not an ordered table and cannot be trimmed", table->shown_path()));
  }
  if (tablet >= table->record().tablets.size()) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("Invalid tablet index {}: {} has {} tablets", tablet,
                               table->shown_path(), table->record().tablets.size()));
  }
  const TabletOfTable& stored = table->record().tablets[tablet];
  if (stored.state != MountState::kMounted) {
    co_return fail(
        Errc::kReadOnly,
        fmt::format("Tablet {} of table {} is in \"{}\" state while \"mounted\" expected",
                    stored.info.id.value, table->shown_path(), to_string(stored.state)));
  }
  const auto running = table->calls(tablet);
  if (!running) {
    co_return fail(Errc::kNotHere, fmt::format("tablet {} of {} is not running here",
                                               stored.info.id.value, table->shown_path()));
  }
  co_return co_await running->run([rows](table::TableTablet& one) { return one.trim(rows); });
}

// Rows stay where they are: tablets are added at the end, or removed there once they are empty.
Task<Result<void>> StoredTables::reshard_ordered(TablePtr table, TabletSpan span,
                                                 NewTablets wanted) {
  if (!wanted.pivots.empty()) {
    co_return fail(Errc::kInvalidArgument,
                   "Pivot keys of an ordered table are the indexes of its tablets: reshard it by "
                   "their number");
  }
  if (span.end - span.first != table->record().tablets.size()) {
    co_return fail(Errc::kUnsupported, "resharding a part of an ordered table is not supported");
  }
  const std::size_t tablets = wanted.count;
  if (tablets == 0) co_return fail(Errc::kInvalidArgument, "Tablet count must be positive");
  if (tablets > kTabletsPerTableMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("{} tablets; a table has at most {}", tablets, kTabletsPerTableMax));
  }
  TableRecord record = table->record();
  const std::size_t before = record.tablets.size();
  std::vector<TabletInfo> deleted;
  for (std::size_t i = tablets; i < before; ++i) {
    table::TabletStatistics figures;
    CO_TRY_VOID(co_await table->with_stopped_tablet(
        i, [&figures](table::TableTablet& tablet) -> Task<Result<void>> {
          figures = tablet.statistics();
          co_return Result<void>();
        }));
    if (figures.total_rows != figures.trimmed_rows) {
      co_return fail(
          Errc::kUnsupported,
          fmt::format("tablet {} of {} has rows; tablets of an ordered table are removed "
                      "when all their rows are trimmed",
                      i, table->shown_path()));
    }
    deleted.push_back(record.tablets[i].info);
  }
  record.tablets.resize(tablets);
  for (std::size_t i = before; i < tablets; ++i) record.tablets[i].pivot = table::tablet_pivot(i);
  const Fill fill = [this, before](TableRecord& filled, TabletId first) {
    for (std::size_t i = before; i < filled.tablets.size(); ++i) {
      filled.tablets[i].info = place(TabletId{first.value + (i - before)}, i);
    }
  };
  const std::size_t added = tablets > before ? tablets - before : 0;
  CO_TRY_VOID(
      co_await store(table, std::move(record), static_cast<std::uint32_t>(added), fill, deleted));
  for (const TabletInfo& info : deleted) scheme_.begin_deletion(info);
  co_return Result<void>();
}

}  // namespace moraine
