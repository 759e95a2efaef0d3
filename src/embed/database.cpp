// Database: tables by their paths.

#include "moraine/database.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "embed/api_impl.h"
#include "table/model/key.h"

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
    for (std::size_t i = 0; i < pivot.size(); ++i) {
      const ColumnSchema& column = schema.columns[i];
      if (!pivot[i].is_null() && pivot[i].type() != physical_type(column.type)) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("Mismatched type of column \"{}\" in pivot key: {} instead of {}",
                                column.name, to_string(pivot[i].type()), to_string(column.type)));
      }
    }
    encoded.push_back(table::encode_key(pivot));
  }
  return encoded;
}

// Calls `act` on every tablet of the table that runs.
using TabletAct = std::function<Task<Result<void>>(table::TableTablet&)>;

Task<Result<void>> for_each_tablet(DatabaseCore& core, std::string path, TabletAct act) {
  const auto table = core.services().tables().find(path);
  if (!table) co_return fail(Errc::kNotFound, fmt::format("no table {}", path));
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
Task<Result<void>> settle_one(table::TableTablet& tablet) {
  co_await tablet.settle();
  co_return Result<void>();
}

using TablesCall = std::function<Task<Result<void>>(StoredTables&)>;

Result<void> call_tables(DatabaseCore& core, TablesCall call) {
  return core.get<Result<void>>([&] { return call(core.services().tables()); });
}

// A pivot's texts live in `memory`.
void describe_tablet(TabletReport& report, const table::TableTablet& tablet) {
  const table::TabletStatistics statistics = tablet.statistics();
  report.rows = statistics.unmerged_rows;
  report.chunks = statistics.chunks;
  report.partitions = statistics.partitions;
  report.disk_bytes = statistics.compressed_bytes + statistics.hunk_bytes;
  report.uncompressed_bytes = statistics.uncompressed_bytes;
  report.memory_bytes = statistics.memory_bytes;
  report.error = statistics.error;
}

Result<TableReport> describe(const RunningTable& table) {
  TableReport report;
  const TableRecord& record = table.record();
  report.path = "/" + table.path();
  report.schema = record.schema;
  report.options = record.options;
  report.dynamic = record.dynamic;
  const auto open = table.holder()->hold();
  auto memory = std::make_shared<std::vector<std::unique_ptr<std::string>>>();
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    TabletReport tablet;
    tablet.id = fmt::format("{:x}", record.tablets[i].info.id.value);
    tablet.state = open->ranges[i].state;
    memory->push_back(std::make_unique<std::string>(record.tablets[i].pivot));
    const std::string& pivot = *memory->back();
    memory->push_back(std::make_unique<std::string>());
    TRY_VOID(table::decode_key(as_bytes(pivot), tablet.pivot, *memory->back()));
    if (const auto running = table.tablet(i)) describe_tablet(tablet, *running);
    const bool first = report.tablets.empty();
    report.state = first || report.state == tablet.state ? tablet.state : "mixed";
    report.tablets.push_back(std::move(tablet));
  }
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

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<void> Database::create_table(std::string_view path, const TableSchema& schema,
                                    const TableOptions& options,
                                    std::span<const std::vector<Value>> pivots) {
  NewTable table;
  TRY(table.pivots, encode_pivots(schema, pivots));
  table.schema = schema;
  table.options = options;
  return call_tables(*impl_->core, [&](StoredTables& tables) {
    return tables.create(scheme_path(path), std::move(table));
  });
}

Result<void> Database::remove_table(std::string_view path) {
  return call_tables(*impl_->core,
                     [&](StoredTables& tables) { return tables.remove(scheme_path(path)); });
}

Result<void> Database::mount_table(std::string_view path, bool frozen) {
  return call_tables(*impl_->core,
                     [&](StoredTables& tables) { return tables.mount(scheme_path(path), frozen); });
}

Result<void> Database::unmount_table(std::string_view path) {
  return call_tables(*impl_->core,
                     [&](StoredTables& tables) { return tables.unmount(scheme_path(path)); });
}

Result<void> Database::freeze_table(std::string_view path) {
  return call_tables(*impl_->core,
                     [&](StoredTables& tables) { return tables.freeze(scheme_path(path)); });
}

Result<void> Database::unfreeze_table(std::string_view path) {
  return call_tables(*impl_->core,
                     [&](StoredTables& tables) { return tables.unfreeze(scheme_path(path)); });
}

Result<void> Database::remount_table(std::string_view path, const TableMountOptions& options) {
  return call_tables(*impl_->core, [&](StoredTables& tables) {
    return tables.remount(scheme_path(path), options);
  });
}

Result<void> Database::alter_table(std::string_view path, const TableSchema& schema) {
  return call_tables(*impl_->core,
                     [&](StoredTables& tables) { return tables.alter(scheme_path(path), schema); });
}

Result<void> Database::set_options(std::string_view path, const TableOptions& options) {
  return call_tables(*impl_->core, [&](StoredTables& tables) {
    return tables.set_options(scheme_path(path), options);
  });
}

Result<void> Database::reshard_table(std::string_view path,
                                     std::span<const std::vector<Value>> pivots) {
  TRY(const TableReport report, describe_table(path));
  TRY(const std::vector<std::string> encoded, encode_pivots(report.schema, pivots));
  return call_tables(*impl_->core, [&](StoredTables& tables) {
    return tables.reshard(scheme_path(path), encoded);
  });
}

Result<void> Database::reshard_table(std::string_view path, std::size_t tablets) {
  return call_tables(*impl_->core, [&](StoredTables& tables) {
    return tables.reshard(scheme_path(path), tablets);
  });
}

Result<std::vector<std::string>> Database::list_tables() const {
  std::vector<std::string> paths;
  impl_->core->run([&]() -> Task<void> {
    for (const auto& table : impl_->core->services().tables().list()) {
      paths.push_back("/" + table->path());
    }
    co_return;
  });
  return paths;
}

Result<TableReport> Database::describe_table(std::string_view path) const {
  Result<TableReport> report = fail(Errc::kNotFound, fmt::format("no table {}", path));
  impl_->core->run([&]() -> Task<void> {
    const auto table = impl_->core->services().tables().find(scheme_path(path));
    if (table) report = describe(*table);
    co_return;
  });
  return report;
}

Result<void> Database::flush_table(std::string_view path) {
  return impl_->core->get<Result<void>>(
      [&] { return for_each_tablet(*impl_->core, scheme_path(path), flush_one); });
}

Result<void> Database::compact_table(std::string_view path) {
  return impl_->core->get<Result<void>>(
      [&] { return for_each_tablet(*impl_->core, scheme_path(path), compact_one); });
}

void Database::settle_table(std::string_view path) {
  (void)impl_->core->get<Result<void>>(
      [&] { return for_each_tablet(*impl_->core, scheme_path(path), settle_one); });
  impl_->core->run([this] { return impl_->core->give_back(); });
}

Result<Timestamp> Database::timestamp() {
  if (const auto given = impl_->core->services().try_timestamp()) return *given;
  return impl_->core->get<Result<Timestamp>>(
      [&] { return impl_->core->services().timestamps().next(); });
}

void Database::run_and_wait(std::function<Task<void>()> body) {
  impl_->core->run(std::move(body));
}

std::uint64_t Database::device_bytes_used() const {
  return impl_->core->device_bytes_used();
}

std::uint64_t Database::device_bytes_written() const {
  return impl_->core->device_bytes_written();
}

}  // namespace moraine
