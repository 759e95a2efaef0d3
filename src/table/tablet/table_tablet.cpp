#include "table/tablet/table_tablet.h"

#include "table/tablet/table_impl.h"

namespace moraine::table {

TableTablet::TableTablet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TableTablet::~TableTablet() = default;

Task<Result<std::unique_ptr<TableTablet>>> TableTablet::boot(TableResources& resources,
                                                             TabletInfo info,
                                                             TabletSettings settings,
                                                             TableTabletOptions options) {
  std::unique_ptr<TableTablet> tablet(new TableTablet(
      std::make_unique<Impl>(resources, std::move(info), std::move(settings), std::move(options))));
  auto booted = co_await tablet->impl_->boot();
  if (!booted) {
    co_await tablet->impl_->end_failed_boot();
    co_return std::unexpected(std::move(booted).error());
  }
  co_return std::move(tablet);
}

Task<Result<Timestamp>> TableTablet::commit(TabletWrite write) {
  return impl_->commit(std::move(write));
}
Task<Result<void>> TableTablet::prepare(TabletWrite write, TabletId coordinator) {
  return impl_->prepare(std::move(write), coordinator);
}
Task<Result<void>> TableTablet::commit_prepared(TransactionId id, Timestamp commit) {
  return impl_->commit_prepared(id, commit);
}
Task<Result<void>> TableTablet::abort_prepared(TransactionId id) {
  return impl_->abort_prepared(id);
}

Task<Result<void>> TableTablet::trim(std::uint64_t rows) {
  return impl_->trim(rows);
}

Task<Result<void>> TableTablet::confirm_lead() {
  return impl_->confirm_lead();
}
Executor& TableTablet::executor() const {
  return impl_->executor();
}

const TabletReader& TableTablet::reader() const {
  return impl_->reader();
}
RowCache& TableTablet::row_cache() {
  return impl_->row_cache();
}
ReadStatistics& TableTablet::read_statistics() {
  return impl_->read_statistics();
}
const TabletSettings& TableTablet::settings() const {
  return impl_->settings();
}
Result<void> TableTablet::remount(MountConfig mount, std::optional<ChunkWriteOptions> chunks) {
  return impl_->remount(mount, chunks);
}

Task<Result<void>> TableTablet::freeze() {
  return impl_->freeze();
}
void TableTablet::unfreeze() {
  impl_->unfreeze();
}
Task<Result<void>> TableTablet::flush() {
  return impl_->flush();
}
Task<Result<void>> TableTablet::compact_all() {
  return impl_->maintenance().compact_all();
}
Task<Result<void>> TableTablet::write_static(std::shared_ptr<const StaticRows> rows,
                                             StaticWrite how) {
  return impl_->write_static(std::move(rows), how);
}

Task<Result<void>> TableTablet::write_static(StaticBatches rows, StaticWrite how) {
  return impl_->write_static(std::move(rows), how);
}

Task<void> TableTablet::settle() {
  co_await impl_->maintenance().settle();
  co_await impl_->collect_now();
}

TableTablet::Flushed TableTablet::flushed() const {
  return impl_->flushed();
}
RowEnd TableTablet::trimmed() const {
  return impl_->trimmed();
}
std::vector<ChunkRecord> TableTablet::chunk_records() const {
  return impl_->chunk_records();
}
std::vector<TabletId> TableTablet::borrowed_from() const {
  return impl_->borrowed_from();
}
std::vector<std::string> TableTablet::split_keys(std::size_t parts) const {
  return impl_->split_keys(parts);
}

TabletStatistics TableTablet::statistics() const {
  return impl_->statistics();
}
const TabletInfo& TableTablet::info() const {
  return impl_->info();
}
Task<void> TableTablet::stop() {
  return impl_->stop();
}
void TableTablet::abandon() {
  impl_->abandon();
}
void TableTablet::on_end(Callback hook) {
  impl_->on_end(std::move(hook));
}

}  // namespace moraine::table
