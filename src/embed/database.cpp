// Database: creates, changes and describes tables by path.

#include "moraine/database.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "embed/api_impl.h"
#include "table/model/key.h"
#include "table/model/value_check.h"

namespace moraine {
namespace {

using embed::DatabaseCore;

constexpr std::chrono::seconds kOpenWaitMax{2};
constexpr std::chrono::milliseconds kOpenPause{20};

Result<std::vector<std::string>> encode_pivots(const TableSchema& schema,
                                               std::span<const std::vector<Value>> pivots) {
  std::vector<std::string> encoded;
  for (const std::vector<Value>& pivot : pivots) {
    if (pivot.empty() || pivot.size() > schema.key_count()) {
      return fail(Errc::kInvalidArgument, fmt::format("a pivot key of {} columns; the key has {}",
                                                      pivot.size(), schema.key_count()));
    }
    std::string& key = encoded.emplace_back();
    for (std::size_t i = 0; i < pivot.size(); ++i) {
      table::TextMemory memory;
      Value value = pivot[i];
      if (!value.is_null()) {
        auto cell = table::to_cell(schema.columns[i], value, {}, memory);
        if (!cell) return std::unexpected(std::move(cell).error().within("pivot key"));
        value = *cell;
      }
      table::append_key_column(key, value);
    }
  }
  return encoded;
}

std::vector<std::vector<Value>> copy_of(std::span<const std::vector<Value>> pivots) {
  return {pivots.begin(), pivots.end()};
}

std::unexpected<Error> no_table(std::string_view path) {
  return fail(Errc::kNotFound, fmt::format("no table {}", path));
}

// Calls `act` on every tablet of the table.
using TabletAct = std::function<Task<Result<void>>(table::TableTablet&)>;

Task<Result<void>> for_each_tablet(DatabaseCore& core, std::string path, TabletAct act) {
  const auto table = core.services().tables().find(scheme_path(path));
  if (!table) co_return no_table(path);
  for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
    const auto tablet = table->tablet(i);
    if (!tablet) co_return fail(Errc::kReadOnly, fmt::format("{} is not mounted", path));
    CO_TRY_VOID(co_await act(*tablet));
  }
  co_return Result<void>();
}

Task<Result<void>> flush_one(table::TableTablet& tablet) {
  return tablet.flush();
}
Task<Result<void>> compact_one(table::TableTablet& tablet) {
  return tablet.compact_all();
}

// Encodes pivots by the schema that the table has or will have.
Task<Result<void>> create(StoredTables& tables, std::string path, NewTable table,
                          std::vector<std::vector<Value>> pivots) {
  CO_TRY(table.pivots, encode_pivots(table.schema, pivots));
  co_return co_await tables.create(std::move(path), std::move(table));
}

Task<Result<void>> reshard(StoredTables& tables, std::string path,
                           std::vector<std::vector<Value>> pivots) {
  const auto table = tables.find(scheme_path(path));
  if (!table) co_return no_table(path);
  CO_TRY(std::vector<std::string> encoded, encode_pivots(table->record().schema, pivots));
  co_return co_await tables.reshard(scheme_path(path), std::move(encoded));
}

// Returns the resulting number of tablets. Nothing runs between the change and this look-up.
Task<Result<std::size_t>> reshard_by_count(StoredTables& tables, std::string path,
                                           std::size_t tablets) {
  CO_TRY_VOID(co_await tables.reshard(path, tablets));
  const auto table = tables.find(path);
  if (!table) co_return fail(Errc::kUnavailable, "the table was removed meanwhile");
  co_return table->record().tablets.size();
}

// A tablet that is not running has no work.
Task<Result<void>> settle(DatabaseCore& core, std::string path) {
  const auto table = core.services().tables().find(scheme_path(path));
  if (!table) co_return no_table(path);
  for (std::size_t i = 0; i < table->record().tablets.size(); ++i) {
    if (const auto tablet = table->tablet(i)) co_await tablet->settle();
  }
  co_await core.give_back();
  co_return Result<void>();
}

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

Result<TableReport> describe(const RunningTable& table,
                             const std::vector<table::TabletStatistics>& figures) {
  TableReport report;
  const TableRecord& record = table.record();
  report.path = "/" + table.path();
  report.schema = record.schema;
  report.options = record.options;
  report.options.mount.forced_compaction_revision = 0;
  report.forced_compaction_revision = record.options.mount.forced_compaction_revision;
  report.remount_needed = needs_remount(record);
  report.dynamic = record.dynamic;
  const auto open = table.holder()->hold();
  auto memory = std::make_shared<std::vector<std::unique_ptr<std::string>>>();  // Texts of pivots.
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    TabletReport tablet;
    tablet.id = std::to_string(record.tablets[i].info.id.value);
    tablet.state = open->ranges[i].state;
    memory->push_back(std::make_unique<std::string>(record.tablets[i].pivot));
    const std::string& pivot = *memory->back();
    memory->push_back(std::make_unique<std::string>());
    TRY_VOID(table::decode_key(as_bytes(pivot), tablet.pivot, *memory->back()));
    if (i < figures.size()) describe_tablet(tablet, figures[i]);
    if (report.tablets.empty()) report.state = tablet.state;
    if (report.state != tablet.state) report.state = std::nullopt;
    report.tablets.push_back(std::move(tablet));
  }
  report.preload_state = preload_state(report);
  report.memory = std::move(memory);
  return report;
}

}  // namespace

Result<Database> Database::open(const std::string& folder, OpenOptions options) {
  const auto until = std::chrono::steady_clock::now() + kOpenWaitMax;
  auto core = DatabaseCore::open(folder, options);
  while (!core && core.error().code == Errc::kConflict &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kOpenPause);
    core = DatabaseCore::open(folder, options);
  }
  if (!core) return std::unexpected(std::move(core).error());
  auto impl = std::make_unique<Impl>();
  impl->core = std::move(*core);
  return Database(std::move(impl));
}

Database Database::connect(const embed::NodeParts& parts) {
  auto impl = std::make_unique<Impl>();
  impl->core = std::make_shared<DatabaseCore>(parts);
  return Database(std::move(impl));
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Task<Result<void>> Database::create_table_async(std::string path, TableSchema schema,
                                                TableOptions options,
                                                std::vector<std::vector<Value>> pivots) {
  NewTable table;
  table.schema = std::move(schema);
  table.options = std::move(options);
  return create(impl_->core->services().tables(), scheme_path(path), std::move(table),
                std::move(pivots));
}
Result<void> Database::create_table(std::string_view path, const TableSchema& schema,
                                    const TableOptions& options,
                                    std::span<const std::vector<Value>> pivots) {
  return impl_->core->get<Result<void>>(
      [&] { return create_table_async(std::string(path), schema, options, copy_of(pivots)); });
}

Task<Result<void>> Database::remove_table_async(std::string path) {
  return impl_->core->services().tables().remove(scheme_path(path));
}
Result<void> Database::remove_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return remove_table_async(std::string(path)); });
}

Task<Result<void>> Database::remove_directory_async(std::string path) {
  return impl_->core->services().tables().remove_directory(scheme_path(path));
}
Result<void> Database::remove_directory(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return remove_directory_async(std::string(path)); });
}

Task<Result<void>> Database::mount_table_async(std::string path, MountState state) {
  return impl_->core->services().tables().mount(scheme_path(path), state);
}
Result<void> Database::mount_table(std::string_view path, MountState state) {
  return impl_->core->get<Result<void>>(
      [&] { return mount_table_async(std::string(path), state); });
}

Task<Result<void>> Database::unmount_table_async(std::string path) {
  return impl_->core->services().tables().unmount(scheme_path(path));
}
Result<void> Database::unmount_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return unmount_table_async(std::string(path)); });
}

Task<Result<void>> Database::freeze_table_async(std::string path) {
  return impl_->core->services().tables().freeze(scheme_path(path));
}
Result<void> Database::freeze_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return freeze_table_async(std::string(path)); });
}

Task<Result<void>> Database::unfreeze_table_async(std::string path) {
  return impl_->core->services().tables().unfreeze(scheme_path(path));
}
Result<void> Database::unfreeze_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return unfreeze_table_async(std::string(path)); });
}

Task<Result<void>> Database::remount_table_async(std::string path) {
  return impl_->core->services().tables().remount(scheme_path(path));
}
Result<void> Database::remount_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return remount_table_async(std::string(path)); });
}
Task<Result<void>> Database::remount_table_async(std::string path, TableMountOptions options) {
  return impl_->core->services().tables().remount(scheme_path(path), std::move(options));
}
Result<void> Database::remount_table(std::string_view path, const TableMountOptions& options) {
  return impl_->core->get<Result<void>>(
      [&] { return remount_table_async(std::string(path), options); });
}

Task<Result<void>> Database::alter_table_async(std::string path, TableSchema schema) {
  return impl_->core->services().tables().alter(scheme_path(path), std::move(schema));
}
Result<void> Database::alter_table(std::string_view path, const TableSchema& schema) {
  return impl_->core->get<Result<void>>(
      [&] { return alter_table_async(std::string(path), schema); });
}

Task<Result<void>> Database::set_options_async(std::string path, TableOptions options) {
  return impl_->core->services().tables().set_options(scheme_path(path), std::move(options));
}
Result<void> Database::set_options(std::string_view path, const TableOptions& options) {
  return impl_->core->get<Result<void>>(
      [&] { return set_options_async(std::string(path), options); });
}

Task<Result<void>> Database::set_attributes_async(std::string path,
                                                  std::map<std::string, std::string> attributes) {
  return impl_->core->services().tables().set_attributes(scheme_path(path), std::move(attributes));
}
Result<void> Database::set_attributes(std::string_view path,
                                      const std::map<std::string, std::string>& attributes) {
  return impl_->core->get<Result<void>>(
      [&] { return set_attributes_async(std::string(path), attributes); });
}

Task<Result<void>> Database::reshard_table_async(std::string path,
                                                 std::vector<std::vector<Value>> pivots) {
  return reshard(impl_->core->services().tables(), std::move(path), std::move(pivots));
}
Result<void> Database::reshard_table(std::string_view path,
                                     std::span<const std::vector<Value>> pivots) {
  return impl_->core->get<Result<void>>(
      [&] { return reshard_table_async(std::string(path), copy_of(pivots)); });
}

Task<Result<std::size_t>> Database::reshard_table_async(std::string path, std::size_t tablets) {
  return reshard_by_count(impl_->core->services().tables(), scheme_path(path), tablets);
}
Result<std::size_t> Database::reshard_table(std::string_view path, std::size_t tablets) {
  return impl_->core->get<Result<std::size_t>>(
      [&] { return reshard_table_async(std::string(path), tablets); });
}

Task<Result<void>> Database::flush_table_async(std::string path) {
  return for_each_tablet(*impl_->core, std::move(path), flush_one);
}
Result<void> Database::flush_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return flush_table_async(std::string(path)); });
}

Task<Result<void>> Database::compact_table_async(std::string path) {
  return for_each_tablet(*impl_->core, std::move(path), compact_one);
}
Result<void> Database::compact_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return compact_table_async(std::string(path)); });
}

Task<Result<std::vector<std::string>>> Database::list_tables_async() const {
  std::vector<std::string> paths;
  for (const auto& table : impl_->core->services().tables().list()) {
    paths.push_back("/" + table->path());
  }
  co_return paths;
}
Result<std::vector<std::string>> Database::list_tables() const {
  return impl_->core->get<Result<std::vector<std::string>>>([&] { return list_tables_async(); });
}

Task<Result<TableReport>> Database::describe_table_async(std::string path) const {
  StoredTables& tables = impl_->core->services().tables();
  if (!tables.find(scheme_path(path))) co_return no_table(path);
  CO_TRY(const auto figures, co_await tables.figures(scheme_path(path)));
  const auto table = tables.find(scheme_path(path));
  if (!table) co_return no_table(path);
  co_return describe(*table, figures);
}
Result<TableReport> Database::describe_table(std::string_view path) const {
  return impl_->core->get<Result<TableReport>>(
      [&] { return describe_table_async(std::string(path)); });
}

Task<Result<void>> Database::settle_table_async(std::string path) {
  return settle(*impl_->core, std::move(path));
}
Result<void> Database::settle_table(std::string_view path) {
  return impl_->core->get<Result<void>>([&] { return settle_table_async(std::string(path)); });
}

Task<Result<Timestamp>> Database::timestamp_async() {
  return impl_->core->services().timestamps().next();
}
void Database::accept_clock() {
  impl_->core->services().clock().accept();
}
Result<Timestamp> Database::timestamp() {
  if (const auto given = impl_->core->services().try_timestamp()) return *given;
  return impl_->core->get<Result<Timestamp>>([&] { return timestamp_async(); });
}

void Database::run_and_wait(std::function<Task<void>()> body) {
  impl_->core->run(std::move(body));
}

Task<std::uint64_t> Database::device_bytes_used_async() const {
  co_return impl_->core->device_bytes_used();
}
std::uint64_t Database::device_bytes_used() const {
  return impl_->core->get<std::uint64_t>([&] { return device_bytes_used_async(); });
}

Task<std::uint64_t> Database::device_bytes_written_async() const {
  co_return impl_->core->device_bytes_written();
}
std::uint64_t Database::device_bytes_written() const {
  return impl_->core->get<std::uint64_t>([&] { return device_bytes_written_async(); });
}

}  // namespace moraine
