// Resharding: new tablets take over the chunks of old ones by key range; nothing is rewritten
// immediately.

#include <fmt/format.h>

#include <algorithm>

#include "node/stored_tables.h"

namespace moraine {
namespace {

// Tablets of the old table whose ranges overlap [from, to); an empty `to` is no bound.
std::vector<TabletId> parents_of(const TableRecord& record, const std::string& from,
                                 const std::string& to) {
  std::vector<TabletId> parents;
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    const bool last = i + 1 == record.tablets.size();
    const bool begins_before_end = to.empty() || record.tablets[i].pivot < to;
    const bool ends_after_begin = last || record.tablets[i + 1].pivot > from;
    if (begins_before_end && ends_after_begin) parents.push_back(record.tablets[i].info.id);
  }
  return parents;
}

}  // namespace

Task<Result<void>> StoredTables::reshard(std::string path, std::vector<std::string> pivots) {
  return change(std::move(path),
                [this, pivots](TablePtr table) { return reshard_locked(table, pivots); });
}

Task<Result<void>> StoredTables::reshard(std::string path, std::size_t tablets) {
  return change(std::move(path),
                [this, tablets](TablePtr table) { return reshard_by_count(table, tablets); });
}

Task<Result<void>> StoredTables::reshard_by_count(TablePtr table, std::size_t tablets) {
  if (tablets == 0) co_return fail(Errc::kInvalidArgument, "Tablet count must be positive");
  CO_TRY_VOID(check_dynamic(*table, "be resharded"));
  CO_TRY_VOID(check_unmounted(*table, "reshard the tablets"));
  CO_TRY(std::vector<std::string> pivots, co_await choose_pivots(table, tablets));
  co_return co_await reshard_locked(table, std::move(pivots));
}

Task<Result<std::vector<std::string>>> StoredTables::choose_pivots(TablePtr table,
                                                                   std::size_t tablets) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
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
  std::erase(keys, std::string());
  std::vector<std::string> pivots;
  for (std::size_t i = 1; i < tablets; ++i) {
    const std::size_t at = i * keys.size() / tablets;
    if (at < keys.size() && (pivots.empty() || pivots.back() < keys[at])) {
      pivots.push_back(keys[at]);
    }
  }
  co_return pivots;
}

Task<Result<void>> StoredTables::reshard_locked(TablePtr table, std::vector<std::string> pivots) {
  CO_TRY_VOID(check_dynamic(*table, "be resharded"));
  CO_TRY_VOID(check_unmounted(*table, "reshard the tablets"));
  CO_TRY_VOID(check_pivots(pivots));
  CO_TRY_VOID(co_await adopt_all(table));
  const TableRecord before = table->record();
  TableRecord record = before;
  record.tablets.assign(pivots.size() + 1, TabletOfTable());
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    TabletOfTable& tablet = record.tablets[i];
    if (i > 0) tablet.pivot = pivots[i - 1];
    const std::string end = i < pivots.size() ? pivots[i] : std::string();
    tablet.parents = parents_of(before, tablet.pivot, end);
  }
  for (const TabletOfTable& tablet : before.tablets) record.retired.push_back(tablet.info);
  const Fill fill = [this](TableRecord& filled, TabletId first) {
    for (std::size_t i = 0; i < filled.tablets.size(); ++i) {
      filled.tablets[i].info = place(TabletId{first.value + i}, i);
    }
  };
  const auto count = static_cast<std::uint32_t>(record.tablets.size());
  co_return co_await store(table, std::move(record), count, fill);
}

// Tablets that have not taken over their parents' chunks yet do so now: only then can others take
// over theirs.
Task<Result<void>> StoredTables::adopt_all(TablePtr table) {
  TableRecord record = table->record();
  bool changed = false;
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
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
