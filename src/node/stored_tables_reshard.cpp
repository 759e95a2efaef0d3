// Resharding: tablets of a table are replaced by others, which take over their chunks.

#include <fmt/format.h>

#include <algorithm>

#include "node/stored_tables.h"
#include "table/model/pivots.h"

namespace moraine {
namespace {

// Tablets of the range that overlap [from, to); an empty `to` is no bound.
std::vector<TabletId> parents_of(const TableRecord& record, TabletSpan span,
                                 const std::string& from, const std::string& to) {
  std::vector<TabletId> parents;
  for (std::size_t i = span.first; i < span.end; ++i) {
    const bool last = i + 1 == record.tablets.size();
    const bool begins_before_end = to.empty() || record.tablets[i].pivot < to;
    const bool ends_after_begin = last || record.tablets[i + 1].pivot > from;
    if (begins_before_end && ends_after_begin) parents.push_back(record.tablets[i].info.id);
  }
  return parents;
}

// Where the range ends; empty: nowhere.
std::string end_of(const TableRecord& record, TabletSpan span) {
  return span.end < record.tablets.size() ? record.tablets[span.end].pivot : std::string();
}

Result<void> check_span_unmounted(const RunningTable& table, TabletSpan span) {
  for (std::size_t i = span.first; i < span.end; ++i) {
    const TabletOfTable& tablet = table.record().tablets[i];
    if (tablet.state == MountState::kUnmounted) continue;
    return fail(Errc::kReadOnly,
                fmt::format("Cannot reshard table {} since tablet {} is not unmounted: it is in "
                            "\"{}\" state",
                            table.shown_path(), tablet.info.id.value, to_string(tablet.state)));
  }
  return {};
}

// `pivots`: of all new tablets of the range.
Result<void> check_new_pivots(const TableRecord& record, TabletSpan span,
                              const std::vector<std::string>& pivots) {
  if (pivots.empty()) return fail(Errc::kInvalidArgument, "Tablet count must be positive");
  if (pivots.front() != record.tablets[span.first].pivot) {
    return fail(Errc::kInvalidArgument,
                span.first == 0 ? "First pivot key must be empty"
                                : "First pivot key must match that of the first tablet in the "
                                  "resharded range");
  }
  for (std::size_t i = 1; i < pivots.size(); ++i) {
    if (pivots[i - 1] < pivots[i]) continue;
    return fail(Errc::kInvalidArgument, "Pivot keys must be strictly increasing");
  }
  const std::string end = end_of(record, span);
  if (!end.empty() && pivots.back() >= end) {
    return fail(Errc::kInvalidArgument,
                "Last pivot key must be strictly less than that of the tablet which follows the "
                "resharded range");
  }
  const std::size_t tablets = record.tablets.size() - (span.end - span.first) + pivots.size();
  if (tablets > kTabletsPerTableMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("{} tablets; a table has at most {}", tablets, kTabletsPerTableMax));
  }
  return {};
}

}  // namespace

Task<Result<void>> StoredTables::reshard(std::string path, TabletRange range, NewTablets tablets) {
  return change(std::move(path), [this, range, tablets](TablePtr table) {
    return reshard_locked(table, range, tablets);
  });
}

Task<Result<void>> StoredTables::reshard_locked(TablePtr table, TabletRange range,
                                                NewTablets tablets) {
  CO_TRY_VOID(check_dynamic(*table, "be resharded"));
  CO_TRY(const TabletSpan span, span_of(table->record(), range));
  CO_TRY_VOID(check_span_unmounted(*table, span));
  if (kind_of(table->record()) == table::TableKind::kOrdered) {
    co_return co_await reshard_ordered(table, span, std::move(tablets));
  }
  CO_TRY(std::vector<std::string> pivots, co_await new_pivots(table, span, std::move(tablets)));
  CO_TRY_VOID(check_new_pivots(table->record(), span, pivots));
  CO_TRY_VOID(co_await adopt_all(table, span));
  co_return co_await replace_tablets(table, span, std::move(pivots));
}

Task<Result<std::vector<std::string>>> StoredTables::new_pivots(TablePtr table, TabletSpan span,
                                                                NewTablets tablets) {
  if (!tablets.pivots.empty()) co_return std::move(tablets.pivots);
  if (tablets.count == 0) co_return fail(Errc::kInvalidArgument, "Tablet count must be positive");
  const TableRecord& record = table->record();
  if (!tablets.uniform) co_return co_await choose_pivots(table, span, tablets.count);
  if (span.end - span.first != record.tablets.size()) {
    co_return fail(Errc::kUnsupported, "resharding a part of a table uniformly is not supported");
  }
  const std::size_t wanted = std::min(tablets.count, kTabletsPerTableMax + 1);
  CO_TRY(std::vector<std::string> pivots, table::uniform_pivots(record.schema, wanted));
  pivots.insert(pivots.begin(), std::string());
  co_return pivots;
}

Task<Result<std::vector<std::string>>> StoredTables::choose_pivots(TablePtr table, TabletSpan span,
                                                                   std::size_t tablets) {
  const std::string first = table->record().tablets[span.first].pivot;
  const std::string end = end_of(table->record(), span);
  std::vector<std::string> keys;
  for (std::size_t i = span.first; i < span.end; ++i) {
    std::vector<std::string> found;
    CO_TRY_VOID(co_await table->with_stopped_tablet(
        i, [&](table::TableTablet& tablet) -> Task<Result<void>> {
          found = tablet.split_keys(tablets * 8);
          co_return Result<void>();
        }));
    keys.insert(keys.end(), found.begin(), found.end());
  }
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  std::erase_if(
      keys, [&](const std::string& key) { return key <= first || (!end.empty() && key >= end); });
  std::vector<std::string> pivots{first};
  for (std::size_t i = 1; i < tablets; ++i) {
    const std::size_t at = i * keys.size() / tablets;
    if (at < keys.size() && pivots.back() < keys[at]) pivots.push_back(keys[at]);
  }
  co_return pivots;
}

Task<Result<void>> StoredTables::replace_tablets(TablePtr table, TabletSpan span,
                                                 std::vector<std::string> pivots) {
  const TableRecord before = table->record();
  TableRecord record = before;
  std::vector<TabletOfTable> made(pivots.size());
  const std::string end = end_of(before, span);
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i].pivot = pivots[i];
    made[i].parents =
        parents_of(before, span, pivots[i], i + 1 < made.size() ? pivots[i + 1] : end);
  }
  for (std::size_t i = span.first; i < span.end; ++i) {
    record.retired.push_back(before.tablets[i].info);
  }
  const auto at = [&](std::size_t i) {
    return record.tablets.begin() + static_cast<std::ptrdiff_t>(i);
  };
  const auto gap = record.tablets.erase(at(span.first), at(span.end));
  record.tablets.insert(gap, made.begin(), made.end());
  const auto count = static_cast<std::uint32_t>(made.size());
  const Fill fill = [this, first_new = span.first, count](TableRecord& filled, TabletId first) {
    for (std::size_t i = 0; i < count; ++i) {
      filled.tablets[first_new + i].info = place(TabletId{first.value + i}, first_new + i);
    }
  };
  co_return co_await store(table, std::move(record), count, fill);
}

// Tablets of the range that have not taken over their parents' chunks yet do so now: only then can
// others take over theirs.
Task<Result<void>> StoredTables::adopt_all(TablePtr table, TabletSpan span) {
  TableRecord record = table->record();
  bool changed = false;
  for (std::size_t i = span.first; i < span.end; ++i) {
    if (record.tablets[i].parents.empty()) continue;
    CO_TRY_VOID(co_await table->with_stopped_tablet(
        i, [](table::TableTablet&) -> Task<Result<void>> { co_return Result<void>(); }));
    record.tablets[i].parents.clear();
    changed = true;
  }
  if (!changed) co_return Result<void>();
  co_return co_await store(table, std::move(record));
}

}  // namespace moraine
