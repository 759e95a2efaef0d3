// Changes of tables, and their known shapes.

#include <fmt/format.h>

#include <algorithm>

#include "sim/tables/service_tables.h"

namespace moraine::sim {
namespace {

constexpr Duration kMakePause = 200ms;
constexpr std::size_t kTabletsMax = 5;
constexpr int kAltersMax = 6;

bool is_refusal(Errc code) {
  return code == Errc::kReadOnly || code == Errc::kOverloaded || code == Errc::kInvalidArgument ||
         code == Errc::kNotFound || code == Errc::kAlreadyExists || code == Errc::kNotHere;
}

std::vector<std::string> some_pivots(const TableLayout& layout, SeededRandom& random) {
  std::vector<std::int64_t> keys;
  for (std::size_t left = random.below(kTabletsMax); left > 0; --left) {
    keys.push_back(
        1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(layout.keys - 1))));
  }
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  std::vector<std::string> pivots;
  for (const std::int64_t key : keys) pivots.push_back(key_of({0, key}));
  return pivots;
}

// A new column, another order of the values, or another way to keep the text.
TableSchema altered(TableSchema schema, int alters, SeededRandom& random) {
  const auto some_place = [&] {
    return schema.columns.begin() +
           static_cast<std::ptrdiff_t>(1 + random.below(schema.columns.size()));
  };
  ColumnSchema column;
  column.type = ColumnType::kInt64;
  if (!schema.find("x")) {
    column.name = "x";
    schema.columns.insert(some_place(), column);
  } else if (random.one_in(2)) {
    column.name = fmt::format("u{}", alters);
    schema.columns.insert(some_place(), column);
  }
  for (std::size_t i = schema.columns.size(); random.one_in(2) && i > 2; --i) {
    std::swap(schema.columns[i - 1], schema.columns[1 + random.below(i - 1)]);
  }
  ColumnSchema& text = schema.columns[*schema.find("t")];
  if (random.one_in(3)) text.max_inline_hunk_size = 1 + random.below(199);
  if (random.one_in(3)) text.group = fmt::format("g{}", alters);
  return schema;
}

}  // namespace

ServiceTables::ServiceTables(SimWorld& world, History& history, TableOptions options)
    : world_(world),
      history_(history),
      options_(std::move(options)),
      shapes_(options_.layout.tables) {}

std::string ServiceTables::path_of(std::uint32_t table) {
  return fmt::format("sim/table{}", table);
}

std::shared_ptr<const OpenTable> ServiceTables::open(std::uint32_t table) const {
  const ServingTables* const run = serving();
  if (!run || *run->over || !run->ready) return nullptr;
  const auto found = run->services.tables().find(path_of(table));
  return found ? found->holder()->hold() : nullptr;
}

void ServiceTables::start_changes() {
  scope_.spawn(change_tables(world_.stream("changes of tables")));
}

void ServiceTables::mount_again() {
  if (!std::exchange(mounting_, true)) scope_.spawn(mount_all());
}

void ServiceTables::stop() {
  stopped_ = true;
  scope_.close();
}

std::string ServiceTables::unsettled() const {
  const ServingTables* const run = serving();
  if (!run || !run->ready || run->ending || *run->over) return "no node serves tables";
  for (std::uint32_t i = 0; i < options_.layout.tables; ++i) {
    const auto table = open(i);
    if (!table) return fmt::format("table {} does not exist", i);
    for (const OpenRange& range : table->ranges) {
      if (!range.running || range.state != MountState::kMounted) {
        return fmt::format("tablet {} of table {} is {}", range.tablet.value, i,
                           to_string(range.state));
      }
    }
  }
  const auto coordinator = run->services.coordinator();
  if (!coordinator) return "no coordinator runs";
  if (coordinator->unacknowledged() + coordinator->undecided() > 0) {
    return "decisions are not acknowledged";
  }
  return {};
}

Task<void> ServiceTables::change_tables(SeededRandom random) {
  for (std::uint32_t i = 0; i < options_.layout.tables; ++i) {
    while (!scope_.closed() && !co_await make(i)) {
      co_await sleep_for(world_.executor(), kMakePause);
    }
  }
  while (!scope_.closed() && !history_.failed()) {
    const auto most = static_cast<std::uint64_t>(options_.changes_every.count());
    co_await sleep_for(world_.executor(), Duration(1 + random.below(most)));
    if (calm_ || scope_.closed()) co_return;
    co_await change_one(static_cast<std::uint32_t>(random.below(options_.layout.tables)), random);
  }
}

Task<std::optional<bool>> ServiceTables::change(TableCommand command, Change body) {
  const std::function<Task<Result<void>>(ServingTables&)> call =
      [body = std::move(body)](ServingTables& run) { return body(run.services.tables()); };
  const Answer<void> answer = co_await ask<void>(call);
  const bool refused = answer && !*answer && is_refusal((*answer).error().code);
  const TableAnswer outcome = !answer   ? TableAnswer::kTimeout
                              : *answer ? TableAnswer::kOk
                              : refused ? TableAnswer::kRefused
                                        : TableAnswer::kUnknown;
  history_.tally.add(command, outcome);
  if (history_.verbose()) {
    history_.say(fmt::format("{}: {}", to_string(command),
                             !answer   ? "timeout"
                             : *answer ? "OK"
                                       : (*answer).error().message()));
  }
  if (answer && *answer) co_return true;
  if (refused) co_return false;
  co_return std::nullopt;
}

Task<bool> ServiceTables::make(std::uint32_t table) {
  NewTable made;
  made.schema = *options_.layout.schema;
  made.options = options_.of_tables[table];
  const std::string path = path_of(table);
  (void)co_await change(TableCommand::kMount,
                        [path, made](StoredTables& tables) { return tables.create(path, made); });
  const std::function<Task<Result<TableRecord>>(ServingTables&)> call = [path](ServingTables& run) {
    return describe(run, path);
  };
  const Answer<TableRecord> found = co_await ask<TableRecord>(call);
  if (!found || !*found) co_return false;
  Shape& shape = shapes_[table];
  shape.made = true;
  shape.pivots.emplace();
  shape.schema = made.schema;
  co_return true;
}

Task<Result<TableRecord>> ServiceTables::describe(ServingTables& run, std::string path) {
  const auto found = run.services.tables().find(path);
  if (!found) co_return fail(Errc::kNotFound, "no such table");
  co_return found->record();
}

Task<bool> ServiceTables::mount(std::uint32_t table) {
  const std::string path = path_of(table);
  const auto mounted = co_await change(TableCommand::kMount, [path](StoredTables& tables) {
    return tables.mount(path, MountState::kMounted);
  });
  if (mounted.value_or(true)) co_return mounted.has_value();
  // It is frozen, or in transition since a change that failed: that change is repeated.
  (void)co_await change(TableCommand::kMount,
                        [path](StoredTables& tables) { return tables.unmount(path); });
  co_return false;
}

// An acknowledged reshard or alter must have its effect, whichever node serves.
Task<void> ServiceTables::check_shape(std::uint32_t table) {
  const Shape before = shapes_[table];
  const std::function<Task<Result<TableRecord>>(ServingTables&)> call =
      [table](ServingTables& run) { return describe(run, path_of(table)); };
  const Answer<TableRecord> found = co_await ask<TableRecord>(call);
  if (!found || !*found) co_return;
  const TableRecord& record = **found;
  std::vector<std::string> pivots;
  for (const TabletOfTable& tablet : record.tablets) pivots.push_back(tablet.pivot);
  pivots.erase(pivots.begin());
  if (before.pivots && pivots != *before.pivots) {
    history_.fail(fmt::format("table {} has {} tablets; {} were acknowledged, or others", table,
                              pivots.size() + 1, before.pivots->size() + 1));
  }
  if (before.tablets_max > 0 && pivots.size() >= before.tablets_max) {
    history_.fail(fmt::format("table {} has {} tablets; {} were requested", table,
                              pivots.size() + 1, before.tablets_max));
  }
  if (before.schema && record.schema != *before.schema) {
    history_.fail(fmt::format("table {} does not have the schema that was acknowledged", table));
  }
  // The unknown outcome is resolved.
  shapes_[table].pivots = std::move(pivots);
  shapes_[table].schema = record.schema;
}

Task<void> ServiceTables::change_one(std::uint32_t table, SeededRandom& random) {
  const std::string path = path_of(table);
  if (!co_await mount(table)) co_return;
  const std::uint64_t dice = random.below(10);
  if (dice < 3) co_return co_await maintain(table, random);
  if (dice == 3) {
    const auto frozen = co_await change(
        TableCommand::kMount, [path](StoredTables& tables) { return tables.freeze(path); });
    if (!frozen.value_or(false)) co_return;
    (void)co_await change(TableCommand::kMount,
                          [path](StoredTables& tables) { return tables.unfreeze(path); });
    co_return;
  }
  const auto unmounted = co_await change(
      TableCommand::kMount, [path](StoredTables& tables) { return tables.unmount(path); });
  if (unmounted.value_or(false)) {
    co_await (dice < 8 ? reshard(table, random) : alter(table, random));
  }
  // One that is not unmounted yet is mounted later.
  if (co_await mount(table)) co_await check_shape(table);
}

Task<void> ServiceTables::reshard(std::uint32_t table, SeededRandom& random) {
  const std::string path = path_of(table);
  const Shape before = shapes_[table];
  Shape& shape = shapes_[table];
  shape.pivots = std::nullopt;
  shape.tablets_max = 0;
  std::optional<bool> done;
  if (random.one_in(3)) {
    const std::size_t count = 1 + random.below(kTabletsMax);
    done = co_await change(TableCommand::kReshard, [path, count](StoredTables& tables) {
      return tables.reshard(path, count);
    });
    if (done.value_or(false)) shape.tablets_max = count;
  } else {
    const std::vector<std::string> pivots = some_pivots(options_.layout, random);
    done = co_await change(TableCommand::kReshard, [path, pivots](StoredTables& tables) {
      return tables.reshard(path, pivots);
    });
    if (done.value_or(false)) shape.pivots = pivots;
  }
  if (done && !*done) shape = before;
}

Task<void> ServiceTables::alter(std::uint32_t table, SeededRandom& random) {
  Shape& shape = shapes_[table];
  if (!shape.schema || shape.alters >= kAltersMax) co_return;
  const Shape before = shape;
  const std::string path = path_of(table);
  const TableSchema schema = altered(*shape.schema, ++shape.alters, random);
  shape.schema = std::nullopt;
  const auto done = co_await change(TableCommand::kAlter, [path, schema](StoredTables& tables) {
    return tables.alter(path, schema);
  });
  if (done.value_or(false)) shape.schema = schema;
  if (done && !*done) shape.schema = before.schema;
}

Task<void> ServiceTables::maintain(std::uint32_t table, SeededRandom& random) {
  const bool compacts = random.one_in(3);
  const std::function<Task<Result<void>>(ServingTables&)> call =
      [table, compacts](ServingTables& run) { return work_on(run, path_of(table), compacts); };
  const Answer<void> done = co_await ask<void>(call);
  history_.tally.add(TableCommand::kMaintain,
                     done && *done ? TableAnswer::kOk : TableAnswer::kFailed);
}

Task<Result<void>> ServiceTables::work_on(ServingTables& run, std::string path, bool compacts) {
  const auto found = run.services.tables().find(path);
  if (!found) co_return fail(Errc::kNotFound, "no such table");
  for (std::size_t i = 0; i < found->record().tablets.size(); ++i) {
    const auto tablet = found->calls(i);
    if (!tablet) co_return fail(Errc::kReadOnly, "a tablet does not run");
    CO_TRY_VOID(co_await tablet->run([compacts](table::TableTablet& running) {
      return compacts ? running.compact_all() : running.flush();
    }));
  }
  co_return Result<void>();
}

Task<void> ServiceTables::mount_all() {
  for (std::uint32_t i = 0; i < options_.layout.tables; ++i) {
    if (co_await mount(i)) co_await check_shape(i);
  }
  co_await sleep_for(world_.executor(), kMakePause);
  mounting_ = false;
}

// Rewritten chunks refer to no other tablet: replaced tablets are released.
Task<bool> ServiceTables::tidy() {
  for (std::uint32_t i = 0; i < options_.layout.tables; ++i) {
    const std::function<Task<Result<void>>(ServingTables&)> compact = [i](ServingTables& run) {
      return work_on(run, path_of(i), true);
    };
    const Answer<void> done = co_await ask<void>(compact);
    if (!done || !*done) co_return false;
    const std::function<Task<Result<TableRecord>>(ServingTables&)> call = [i](ServingTables& run) {
      return describe(run, path_of(i));
    };
    const Answer<TableRecord> found = co_await ask<TableRecord>(call);
    if (!found || !*found) co_return false;
    // Hunks are not rewritten.
    const auto keeps_hunks = [](const ColumnSchema& column) {
      return column.max_inline_hunk_size.has_value();
    };
    const bool hunks = std::ranges::any_of((*found)->schema.columns, keeps_hunks);
    if (!hunks && !(*found)->retired.empty()) co_return false;
  }
  co_return true;
}

}  // namespace moraine::sim
