#include "sim/tables/service_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "io/run_on.h"
#include "table/model/change_set.h"

namespace moraine::sim {
namespace {

using OpenPtr = std::shared_ptr<const OpenTable>;

constexpr Duration kCallDeadline = 5s;

Result<OpenPtr> open(ServingTables& run, std::uint32_t table) {
  const auto found = run.services.tables().find(ServiceTables::path_of(table));
  if (!found) return fail(Errc::kReadOnly, "no such table yet");
  return OpenPtr(found->holder()->hold());
}

// A tablet and the lane that runs it.
struct TabletOnLane {
  std::shared_ptr<table::TableTablet> tablet;
  Executor* home = nullptr;
};

Result<TabletOnLane> readable(ServingTables& run, const OpenTable& table, std::size_t range) {
  TabletOnLane found;
  TRY(found.tablet, table.readable(range));
  found.home = run.services.tablets().find(table.ranges[range].tablet).home;
  if (!found.home) return fail(Errc::kReadOnly, "the tablet has ended");
  return found;
}

// The existing ones of kValueColumns, in their order.
std::vector<table::ColumnIndex> columns_of(const TableSchema& schema) {
  std::vector<table::ColumnIndex> columns;
  for (const std::string_view name : kValueColumns) {
    if (const auto at = schema.find(name)) columns.push_back(static_cast<table::ColumnIndex>(*at));
  }
  return columns;
}

Task<Result<std::vector<SeenRow>>> look_up(ServingTables& run, OpenPtr open_table,
                                           std::vector<std::string> all, Timestamp at) {
  const std::vector<table::ColumnIndex> columns = columns_of(*open_table->schema);
  std::vector<SeenRow> seen(all.size());
  for (std::size_t first = 0; first < all.size();) {
    const std::size_t range = open_table->range_of(as_bytes(all[first]));
    std::vector<std::string_view> keys;
    for (std::size_t i = first; i < all.size(); ++i) {
      if (open_table->range_of(as_bytes(all[i])) == range) keys.push_back(all[i]);
    }
    CO_TRY(const TabletOnLane found, readable(run, *open_table, range));
    table::LookupRequest request;
    request.keys = keys;
    request.columns = columns;
    request.timestamp = at;
    Rowset rows;
    CO_TRY_VOID(co_await run_on(*found.home, run.world.executor,
                                [&] { return found.tablet->reader().lookup(request, rows); }));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      SeenRow& row = seen[first + i];
      row.exists = rows.exists(i);
      for (std::size_t c = 0; row.exists && c < columns.size(); ++c) {
        const Value value = rows.at(i, c);
        if (value.type() == ValueType::kInt64) show_cell(row, c, value.as_int64());
      }
    }
    first += keys.size();
  }
  co_return seen;
}

// Rows of one range by their keys.
Task<Result<void>> scan_range(std::shared_ptr<table::TableTablet> tablet,
                              table::ScanRequest request, std::map<std::string, SeenRow>& rows) {
  const std::size_t columns = request.columns.size() - 1;
  CO_TRY(const std::unique_ptr<table::TabletScan> scan, tablet->reader().scan(std::move(request)));
  table::ColumnBatch batch;
  for (;;) {
    CO_TRY(const table::TabletScan::Step step, scan->next(batch));
    if (step == table::TabletScan::Step::kEnd) co_return Result<void>();
    if (step == table::TabletScan::Step::kNeedsData) {
      CO_TRY_VOID(co_await scan->load());
      continue;
    }
    for (std::size_t i = 0; i < batch.rows; ++i) {
      SeenRow row;
      row.exists = true;
      for (std::size_t c = 0; c < columns; ++c) {
        const table::ColumnVector& cells = batch.columns[c];
        const bool null = !cells.nulls.empty() && cells.nulls[i] != 0;
        if (null || cells.type != ValueType::kInt64) continue;
        show_cell(row, c, static_cast<std::int64_t>(cells.words[i]));
      }
      std::string key;
      const auto number = static_cast<std::int64_t>(batch.columns[columns].words[i]);
      table::append_key_column(key, Value(number));
      rows[key] = row;
    }
  }
}

Task<Result<std::vector<SeenRow>>> scan(ServingTables& run, OpenPtr open_table,
                                        std::vector<std::string> keys, Timestamp at) {
  std::map<std::string, SeenRow> rows;
  table::ScanRequest request;
  request.bounds = {keys.front(), keys.back() + '\0'};
  request.columns = columns_of(*open_table->schema);
  request.columns.push_back(0);
  request.timestamp = at;
  const std::size_t last = open_table->range_of(as_bytes(keys.back()));
  for (std::size_t i = open_table->range_of(as_bytes(keys.front())); i <= last; ++i) {
    CO_TRY(const TabletOnLane found, readable(run, *open_table, i));
    CO_TRY_VOID(co_await run_on(*found.home, run.world.executor,
                                [&] { return scan_range(found.tablet, request, rows); }));
  }
  std::vector<SeenRow> seen;
  for (const std::string& key : keys) seen.push_back(rows[key]);
  co_return seen;
}

Task<Result<std::vector<SeenRow>>> read_on_node(ServingTables& run, std::vector<RowName> rows,
                                                Timestamp at, bool scans) {
  CO_TRY(const OpenPtr table, open(run, rows.front().table));
  std::vector<std::string> keys;
  for (const RowName& row : rows) keys.push_back(key_of(row));
  co_return co_await (scans ? scan(run, table, std::move(keys), at)
                            : look_up(run, table, std::move(keys), at));
}

// Adds the change as a program would.
Result<void> add_change(table::ChangeSet& changes, const PlannedChange& planned,
                        std::uint64_t transaction) {
  const NamedValue key{"k", Value(planned.row.key)};
  const auto number = Value(static_cast<std::int64_t>(transaction));
  const std::string text(planned.text_bytes, static_cast<char>('a' + transaction % 26));
  std::vector<NamedValue> row = {key};
  table::InsertOptions options;
  options.update = true;
  switch (planned.kind) {
    case PlannedKind::kPut:
      row.push_back({"w", number});
      row.push_back({"v", Value(planned.value)});
      row.push_back({"t", Value(std::string_view(text))});
      if (planned.extra) row.push_back({"x", number});
      break;
    case PlannedKind::kSharedDelta: options.lock = table::LockMode::kSharedWrite; [[fallthrough]];
    case PlannedKind::kDelta:
      options.aggregate = true;
      row.push_back({"s", number});
      break;
    case PlannedKind::kLeft: row.push_back({"l", number}); break;
    case PlannedKind::kRight: row.push_back({"r", number}); break;
    case PlannedKind::kDelete: return changes.erase(NamedRow(&key, 1));
    case PlannedKind::kReadLock: break;
  }
  if (row.size() > 1) {
    TRY_VOID(changes.insert(row, options));
  }
  std::vector<std::string> locks;
  if (planned.locked == kLeftHalf) locks = {"left"};
  if (planned.locked == kRightHalf) locks = {"right"};
  if (locks.empty() && planned.kind != PlannedKind::kReadLock) return {};
  return changes.lock(NamedRow(&key, 1), locks,
                      planned.weak ? table::LockMode::kSharedWeak : table::LockMode::kSharedStrong);
}

Result<GatheredTransaction> gather(ServingTables& run, const ModelTransaction& transaction) {
  GatheredTransaction gathered;
  gathered.id = transaction_id(transaction.number);
  gathered.start = transaction.start;
  std::map<std::uint32_t, std::unique_ptr<table::ChangeSet>> sets;
  std::map<std::uint32_t, OpenPtr> tables;
  for (const PlannedChange& change : transaction.changes) {
    auto& set = sets[change.row.table];
    if (!set) {
      TRY(const OpenPtr table, open(run, change.row.table));
      TRY(const auto layout, table::RowLayout::make(table->schema));
      set = std::make_unique<table::ChangeSet>(layout);
      tables[change.row.table] = table;
    }
    TRY_VOID(add_change(*set, change, transaction.number));
  }
  for (auto& [number, set] : sets) gathered.tables.push_back({tables[number], set->take()});
  return gathered;
}

Task<Result<Timestamp>> commit_on_node(ServingTables& run, ModelTransaction transaction) {
  CO_TRY(GatheredTransaction gathered, gather(run, transaction));
  const Instant deadline = run.world.executor.now() + kCallDeadline;
  const std::size_t lane = run.lanes.empty() ? 0 : transaction.number % run.lanes.size();
  Executor& executor = lane == 0 ? run.world.executor : *run.lanes[lane];
  co_return co_await run_on(executor, run.world.executor, [&] {
    return commit_transaction(run.services.commit_parts(), std::move(gathered), deadline);
  });
}

Task<Result<std::vector<FoundVersion>>> look_on_node(ServingTables& run, RowName row) {
  CO_TRY(const OpenPtr table, open(run, row.table));
  const std::string key = key_of(row);
  CO_TRY(const TabletOnLane at, readable(run, *table, table->range_of(as_bytes(key))));
  CO_TRY(const auto found, co_await run_on(*at.home, run.world.executor, [&] {
           return at.tablet->reader().lookup_versions(key, kMaxTimestamp, std::nullopt);
         }));
  co_return versions_of(found, *table->schema);
}

Task<Result<Timestamp>> draw_on_node(ServingTables& run) {
  co_return co_await run.services.timestamps().next();
}

}  // namespace

bool ServiceAccess::has_extra(const RowName& row) const {
  const auto table = host_.open(row.table);
  return table && table->schema->find("x");
}

Task<Answer<Timestamp>> ServiceAccess::timestamp() {
  const std::function<Task<Result<Timestamp>>(ServingTables&)> call = draw_on_node;
  return host_.ask<Timestamp>(call);
}

Task<Answer<std::vector<SeenRow>>> ServiceAccess::read(std::vector<RowName> rows, Timestamp at) {
  const std::function<Task<Result<std::vector<SeenRow>>>(ServingTables&)> call =
      [rows = std::move(rows), at, scans = random_.one_in(3)](ServingTables& run) {
        return read_on_node(run, rows, at, scans);
      };
  return host_.ask<std::vector<SeenRow>>(call);
}

Task<Answer<Timestamp>> ServiceAccess::commit(ModelTransaction transaction) {
  const std::function<Task<Result<Timestamp>>(ServingTables&)> call =
      [transaction = std::move(transaction)](ServingTables& run) {
        return commit_on_node(run, transaction);
      };
  return host_.ask<Timestamp>(call);
}

Task<Answer<std::vector<FoundVersion>>> ServiceAccess::look(RowName row) {
  const std::function<Task<Result<std::vector<FoundVersion>>>(ServingTables&)> call =
      [row](ServingTables& run) { return look_on_node(run, row); };
  return host_.ask<std::vector<FoundVersion>>(call);
}

}  // namespace moraine::sim
