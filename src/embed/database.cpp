// Database: creates, changes and describes tables by path.

#include "moraine/database.h"

#include <chrono>
#include <thread>

#include "client/describe_table.h"
#include "client/table_changes.h"
#include "embed/api_impl.h"

namespace moraine {
namespace {

using embed::DatabaseCore;

constexpr std::chrono::seconds kOpenWaitMax{2};
constexpr std::chrono::milliseconds kOpenPause{20};

Task<Result<void>> settle(DatabaseCore& core, std::string path) {
  CO_TRY_VOID(co_await client::settle_table(core.tables(), std::move(path)));
  co_await run_there(core.control(), [&] { return core.give_back(); });
  co_return Result<void>();
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
  return Database(std::make_unique<Impl>(std::move(*core)));
}

Database Database::connect(const embed::NodeParts& parts) {
  return Database(std::make_unique<Impl>(std::make_shared<DatabaseCore>(parts)));
}

Database::Database(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Task<Result<void>> Database::create_table(std::string_view path, TableSchema schema,
                                          TableOptions options,
                                          std::vector<std::vector<Value>> pivots) {
  NewTable table;
  table.schema = std::move(schema);
  table.options = std::move(options);
  return client::create_table(impl_->core->tables(), scheme_path(path), std::move(table),
                              std::move(pivots));
}

Task<Result<void>> Database::remove_table(std::string_view path) {
  return impl_->core->tables().remove(scheme_path(path));
}

Task<Result<void>> Database::remove_directory(std::string_view path) {
  return impl_->core->tables().remove_directory(scheme_path(path));
}

Task<Result<void>> Database::mount_table(std::string_view path, MountState state) {
  return impl_->core->tables().mount(scheme_path(path), state);
}

Task<Result<void>> Database::unmount_table(std::string_view path) {
  return impl_->core->tables().unmount(scheme_path(path));
}

Task<Result<void>> Database::freeze_table(std::string_view path) {
  return impl_->core->tables().freeze(scheme_path(path));
}

Task<Result<void>> Database::unfreeze_table(std::string_view path) {
  return impl_->core->tables().unfreeze(scheme_path(path));
}

Task<Result<void>> Database::remount_table(std::string_view path) {
  return impl_->core->tables().remount(scheme_path(path));
}
Task<Result<void>> Database::remount_table(std::string_view path, TableMountOptions options) {
  return impl_->core->tables().remount(scheme_path(path), std::move(options));
}

Task<Result<void>> Database::alter_table(std::string_view path, TableSchema schema) {
  return impl_->core->tables().alter(scheme_path(path), std::move(schema));
}

Task<Result<void>> Database::set_options(std::string_view path, TableOptions options) {
  return impl_->core->tables().set_options(scheme_path(path), std::move(options));
}

Task<Result<void>> Database::set_attributes(std::string_view path,
                                            std::map<std::string, std::string> attributes) {
  return impl_->core->tables().set_attributes(scheme_path(path), std::move(attributes));
}

Task<Result<void>> Database::reshard_table(std::string_view path,
                                           std::vector<std::vector<Value>> pivots) {
  return client::reshard_table(impl_->core->tables(), scheme_path(path), std::move(pivots));
}

Task<Result<std::size_t>> Database::reshard_table(std::string_view path, std::size_t tablets) {
  return client::reshard_table(impl_->core->tables(), scheme_path(path), tablets);
}

Task<Result<void>> Database::flush_table(std::string_view path) {
  return client::flush_table(impl_->core->tables(), scheme_path(path));
}

Task<Result<void>> Database::compact_table(std::string_view path) {
  return client::compact_table(impl_->core->tables(), scheme_path(path));
}

std::vector<std::string> Database::list_tables() const {
  std::vector<std::string> paths = impl_->core->tables().paths();
  for (std::string& path : paths) path.insert(0, 1, '/');
  return paths;
}

Task<Result<TableReport>> Database::describe_table(std::string_view path) const {
  return client::describe_table(impl_->core->tables(), scheme_path(path));
}

Task<Result<void>> Database::settle_table(std::string_view path) {
  return settle(*impl_->core, scheme_path(path));
}

Task<Result<Timestamp>> Database::timestamp_async() {
  return impl_->core->client().timestamp();
}
void Database::accept_clock() {
  impl_->core->services().clock().accept();
}
Result<Timestamp> Database::timestamp() {
  if (const auto given = impl_->core->client().try_timestamp()) return *given;
  return impl_->core->get<Result<Timestamp>>([&] { return timestamp_async(); });
}

void Database::run_and_wait(std::function<Task<void>()> body) const {
  const std::shared_ptr<DatabaseCore> core = impl_->core;  // Kept if this object is destroyed.
  core->run_on(core->next_lane(), std::move(body));
}

Task<std::uint64_t> Database::device_bytes_used() const {
  const auto core = impl_->core;
  co_return co_await run_there(
      core->control(), [&]() -> Task<std::uint64_t> { co_return core->device_bytes_used(); });
}

Task<std::uint64_t> Database::device_bytes_written() const {
  const auto core = impl_->core;
  co_return co_await run_there(
      core->control(), [&]() -> Task<std::uint64_t> { co_return core->device_bytes_written(); });
}

}  // namespace moraine
