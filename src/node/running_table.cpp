#include "node/running_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/invariant.h"
#include "table/tablet/seeded_bug.h"

namespace moraine {
namespace {

bool runs(MountState state) {
  return state != MountState::kUnmounted;
}

// The state that readers and writers see.
MountState shown_state(MountState stored, bool reachable) {
  if (reachable) return stored;
  if (stored == MountState::kMounted) return MountState::kMounting;
  if (stored == MountState::kFrozen) return MountState::kFrozenMounting;
  return stored;
}

// The schema for readers. The places of rows of an ordered table are columns for them too.
std::shared_ptr<const TableSchema> shown_schema(const TableRecord& record,
                                                const std::shared_ptr<const TableSchema>& stored) {
  const bool all = kind_of(record) == table::TableKind::kOrdered || *stored == record.schema;
  return all ? stored : std::make_shared<const TableSchema>(record.schema);
}

// The intersection of two key ranges; nullopt: it is empty.
std::optional<table::ChunkRecord> clipped(table::ChunkRecord record, const table::KeyBounds& to) {
  if (record.from < to.from) record.from = to.from;
  if (!to.to.empty() && (record.to.empty() || to.to < record.to)) record.to = to.to;
  if (!record.to.empty() && record.from >= record.to) return std::nullopt;
  if (table::ends_below(record.statistics.last_key, record.from)) return std::nullopt;
  if (!record.to.empty() && record.statistics.first_key >= record.to) return std::nullopt;
  return record;
}

}  // namespace

RunningTable::RunningTable(TableParts& parts, std::string path, PathId id, TableRecord record)
    : parts_(parts), path_(std::move(path)), id_(id), record_(std::move(record)) {
  auto first = std::make_shared<OpenTable>();
  first->path = shown_path();
  first->schema = std::make_shared<const TableSchema>(kept_schema(record_));
  first->dynamic = record_.dynamic;
  first->shown = shown_schema(record_, first->schema);
  first->ranges.resize(1);
  holder_ = std::make_shared<TableHolder>(std::move(first));
}

std::optional<std::size_t> RunningTable::index_of(TabletId tablet) const {
  for (std::size_t i = 0; i < record_.tablets.size(); ++i) {
    if (record_.tablets[i].info.id == tablet) return i;
  }
  return std::nullopt;
}

void RunningTable::update(TableRecord record) {
  end_unmounted();
  record_ = std::move(record);
  const auto replaced = [this](const auto& known) { return !index_of(known.first); };
  std::erase_if(last_statistics_, replaced);
  std::erase_if(hosts_, replaced);
  ManagedTablets wanted;
  for (const TabletOfTable& tablet : record_.tablets) {
    if (!runs(tablet.state)) continue;
    std::shared_ptr<Host>& host = hosts_[tablet.info.id];
    if (!host) host = make_host(tablet.info.id);
    // The hooks of the host need this object as long as it runs.
    const auto held =
        std::make_shared<std::pair<std::shared_ptr<RunningTable>, std::shared_ptr<Host>>>(
            shared_from_this(), host);
    wanted.emplace(tablet.info.id, std::shared_ptr<ManagedTablet>(held, host.get()));
  }
  parts_.running.set(id_, NodeKind::kTable, shown_path(), std::move(wanted));
  publish();
}

// Those that are booted from now on have the new record.
void RunningTable::end_unmounted() {
  if (parts_.unmounted.size() == 0) return;
  for (const TabletOfTable& tablet : record_.tablets) parts_.unmounted.end(tablet.info.id);
}

// Sets the current options and state; the tablet may have been booted with older ones.
void RunningTable::configure(std::size_t index, LaneTable& tablet) const {
  const auto settings = tablet_settings(path_, record_, index);
  const bool mounted = record_.tablets[index].state == MountState::kMounted;
  tablet.post([settings, mounted](table::TableTablet& running) {
    if (settings) (void)running.remount(settings->mount, settings->chunks);
    if (mounted) running.unfreeze();
  });
}

std::shared_ptr<RunningTable::Host> RunningTable::make_host(TabletId id) {
  Host::Hooks hooks;
  hooks.boot = [this, id] { return boot(id); };
  hooks.configure = [this, id](const std::shared_ptr<LaneTable>& tablet) {
    if (const auto index = index_of(id)) configure(*index, *tablet);
  };
  hooks.booted = [this, id, configure = hooks.configure](const std::shared_ptr<LaneTable>& tablet) {
    parts_.tablets.add(id, tablet->tablet(), tablet->home());
    configure(tablet);
  };
  hooks.ending = [this, id](const std::shared_ptr<LaneTable>& tablet) -> Task<void> {
    parts_.tablets.remove(id);
    co_await save_statistics(*tablet);
  };
  hooks.still_here = still_here(parts_.running.placement(), id);
  hooks.changed = [this] { publish(); };
  return std::make_shared<Host>(parts_.world.executor, fmt::format("table {} {}", path_, id.value),
                                std::move(hooks));
}

Task<Result<std::unique_ptr<LaneTable>>> RunningTable::boot(TabletId id, bool for_reading) {
  const auto index = index_of(id);
  const GroupId group = index ? record_.tablets[*index].info.latest_group(kLogChannel) : GroupId();
  return parts_.running.turns(NodeKind::kTable).run(group, [this, id, for_reading] {
    return boot_in_turn(id, for_reading);
  });
}

Task<Result<std::unique_ptr<LaneTable>>> RunningTable::boot_in_turn(TabletId id, bool for_reading) {
  TabletTurns::Held turn = co_await parts_.turns.take(id);
  const auto index = index_of(id);
  if (!index) co_return fail(Errc::kUnavailable, "the tablet is no longer part of its table");
  // A stop does not wait for the boots that wait for their turn.
  if (const auto host = hosts_.find(id); !for_reading && host != hosts_.end()) {
    if (host->second->stopping()) co_return fail(Errc::kUnavailable, "stopping");
  }
  // By value: the record may change while the tablet boots.
  const TabletOfTable tablet = record_.tablets[*index];
  if (for_reading && runs(tablet.state)) {
    co_return fail(Errc::kReadOnly,
                   fmt::format("tablet {} of {} is being mounted", id.value, shown_path()));
  }
  CO_TRY(table::TabletSettings settings, tablet_settings(path_, record_, *index));
  if (for_reading) {
    settings.mount.enable_compaction_and_partitioning = false;
    settings.in_memory_mode = InMemoryMode::kNone;
  }
  CO_TRY(Inherited inherited, co_await inherit_from_parents(tablet, settings.bounds));
  const bool frozen = for_reading || tablet.state != MountState::kMounted;
  CO_TRY(auto booted, co_await boot_with(tablet.info, settings, frozen, std::move(inherited)));
  if (for_reading) booted->keep_turn(std::move(turn));
  co_return std::move(booted);
}

Task<Result<std::unique_ptr<LaneTable>>> RunningTable::boot_with(TabletInfo info,
                                                                 table::TabletSettings settings,
                                                                 bool frozen, Inherited inherited) {
  table::TableResources& resources = *parts_.lanes.at(parts_.running.lane_of(info.id));
  Executor& home = resources.world.executor;
  Executor& control = parts_.world.executor;
  table::TableTabletOptions options;
  options.leader = parts_.leader;
  options.ask_coordinator = [ask = parts_.ask_coordinator, &home, &control](
                                TabletId coordinator,
                                TransactionId id) -> Task<Result<TransactionOutcome>> {
    co_return co_await run_on(control, home, [&] { return ask(coordinator, id); });
  };
  options.frozen = frozen;
  options.adopts = inherited.any;
  options.adopted = std::move(inherited.chunks);
  options.adopted_retained = inherited.retained;
  options.adopted_trimmed = inherited.trimmed;
  options.others = record_.retired;
  CO_TRY(auto booted, co_await run_on(home, control, [&] {
           return table::TableTablet::boot(resources, std::move(info), std::move(settings),
                                           std::move(options));
         }));
  co_return std::make_unique<LaneTable>(std::move(booted), home, control);
}

Task<Result<RunningTable::Inherited>> RunningTable::inherit_from_parents(
    const TabletOfTable& tablet, const table::KeyBounds& bounds) {
  Inherited inherited;
  const std::vector<TabletId> parents = tablet.parents;
  const table::KeyBounds within = bounds;
  inherited.any = !parents.empty();
  for (const TabletId parent : parents) {
    const auto info = std::ranges::find(record_.retired, parent, &TabletInfo::id);
    if (info == record_.retired.end()) {
      co_return fail(Errc::kCorrupt, fmt::format("table {} does not know tablet {}, whose rows "
                                                 "it is to take over",
                                                 shown_path(), parent.value));
    }
    CO_TRY(Inherited found, co_await read_parent(*info, within.from));
    inherited.retained = std::max(inherited.retained, found.retained);
    if (found.trimmed.rows > inherited.trimmed.rows) inherited.trimmed = found.trimmed;
    for (table::ChunkRecord& record : found.chunks) {
      if (has_bug(table::SeededBug::kReshardLosesPivot)) {
        record.from = std::max(record.from, within.from + '\0');
      }
      if (auto part = clipped(std::move(record), within)) {
        inherited.chunks.push_back(std::move(*part));
      }
    }
  }
  co_return inherited;
}

// Only one child at a time boots a parent, also of several tables (scheme/table_copy.h). `from`:
// where the child begins; tablets of an ordered table have the range of their parents.
Task<Result<RunningTable::Inherited>> RunningTable::read_parent(TabletInfo parent,
                                                                std::string from) {
  // That of a static table runs until it is replaced.
  co_await parts_.running.wait_stopped(parent.id);
  const TabletTurns::Held turn = co_await parts_.turns.take(parent.id);
  CO_TRY(table::TabletSettings settings, tablet_settings(path_, record_, 0));
  settings.bounds = {};
  if (kind_of(record_) == table::TableKind::kOrdered) settings.bounds.from = std::move(from);
  settings.mount.enable_compaction_and_partitioning = false;
  CO_TRY(const std::unique_ptr<LaneTable> old,
         co_await boot_with(std::move(parent), std::move(settings), true, {}));
  Inherited found = co_await old->get([](table::TableTablet& tablet) {
    return Inherited{true, tablet.chunk_records(), tablet.statistics().retained, tablet.trimmed()};
  });
  co_await old->stop();
  co_return found;
}

Task<Result<void>> RunningTable::with_stopped_tablet(
    std::size_t index, std::function<Task<Result<void>>(table::TableTablet&)> use) {
  const TabletId id = record_.tablets[index].info.id;
  co_await parts_.running.wait_stopped(id);
  CO_TRY(const std::unique_ptr<LaneTable> booted, co_await boot(id, true));
  Result<void> used = co_await booted->run(use);
  co_await save_statistics(*booted);
  co_await booted->stop();
  co_return used;
}

Task<Result<RunningTable::TabletPtr>> RunningTable::open_unmounted(TabletId id) {
  const auto index = index_of(id);
  if (!index) co_return fail(Errc::kAborted, fmt::format("{} was resharded; retry", shown_path()));
  const MountState state = record_.tablets[*index].state;
  if (removed_ || runs(state)) {
    co_return fail(Errc::kReadOnly, fmt::format("tablet {} of {} is in \"{}\" state now; retry",
                                                id.value, shown_path(), to_string(state)));
  }
  co_return co_await parts_.unmounted.open(
      id, [table = shared_from_this(), id]() -> Task<Result<std::unique_ptr<LaneTable>>> {
        co_await table->parts_.running.wait_stopped(id);
        co_return co_await table->boot(id, true);
      });
}

void RunningTable::publish() {
  auto open = std::make_shared<OpenTable>();
  open->path = shown_path();
  open->schema = std::make_shared<const TableSchema>(kept_schema(record_));
  open->dynamic = record_.dynamic;
  const auto before = holder_->hold();
  if (*before->schema == *open->schema) open->schema = before->schema;
  open->shown = shown_schema(record_, open->schema);
  // It changes only while all tablets are unmounted.
  open->atomicity = record_.options.atomicity;
  for (std::size_t i = 0; i < record_.tablets.size(); ++i) {
    const TabletOfTable& tablet = record_.tablets[i];
    OpenRange range;
    range.from = tablet.pivot;
    range.tablet = tablet.info.id;
    range.running = this->tablet(i);
    range.elsewhere =
        runs(tablet.state) && other_node(parts_.running.placement(), range.tablet).has_value();
    range.state = shown_state(tablet.state, range.running || range.elsewhere);
    const auto host = this->host(i);
    if (!range.running && host && host->boot_error()) range.error = host->boot_error()->message();
    if (removed_) {
      range.running = nullptr;
      range.elsewhere = false;
      range.state = MountState::kUnmounted;
    }
    open->ranges.push_back(std::move(range));
  }
  open->removed = removed_;
  holder_->publish(std::move(open));
}

void RunningTable::remove() {
  end_unmounted();
  removed_ = true;
  parts_.running.remove(id_);
  publish();
}

std::shared_ptr<RunningTable::Host> RunningTable::host(std::size_t index) const {
  if (!runs(record_.tablets[index].state)) return nullptr;
  const auto found = hosts_.find(record_.tablets[index].info.id);
  return found == hosts_.end() ? nullptr : found->second;
}

std::shared_ptr<LaneTable> RunningTable::calls(std::size_t index) const {
  const auto its_host = host(index);
  return its_host ? its_host->get() : nullptr;
}

RunningTable::TabletPtr RunningTable::tablet(std::size_t index) const {
  const auto running = calls(index);
  return running ? running->tablet() : nullptr;
}

Task<void> RunningTable::save_statistics(LaneTable& tablet) {
  auto statistics =
      co_await tablet.get([](table::TableTablet& running) { return running.statistics(); });
  last_statistics_[tablet.tablet()->info().id] = std::move(statistics);
}

bool RunningTable::has_figures(std::size_t index) const {
  return calls(index) || last_statistics_.contains(record_.tablets[index].info.id);
}

Task<std::optional<table::TabletStatistics>> RunningTable::figures(std::size_t index) const {
  const TabletId id = record_.tablets[index].info.id;
  if (const auto running = calls(index)) {
    co_return co_await running->get([](table::TableTablet& tablet) { return tablet.statistics(); });
  }
  const auto known = last_statistics_.find(id);
  if (known == last_statistics_.end()) co_return std::nullopt;
  table::TabletStatistics last = known->second;
  last.memory_bytes = 0;
  co_return last;
}

Task<Result<void>> RunningTable::load_statistics() {
  for (std::size_t i = 0; i < record_.tablets.size(); ++i) {
    if (record_.tablets[i].state != MountState::kUnmounted || has_figures(i)) continue;
    CO_TRY_VOID(co_await with_stopped_tablet(
        i, [](table::TableTablet&) -> Task<Result<void>> { co_return Result<void>(); }));
  }
  co_return Result<void>();
}

Task<std::shared_ptr<LaneTable>> RunningTable::wait_tablet(std::size_t index, Instant deadline) {
  const TabletId id = record_.tablets[index].info.id;
  (void)co_await parts_.running.wait_running(id, deadline);
  const auto now = index_of(id);
  co_return now ? calls(*now) : nullptr;
}

}  // namespace moraine
