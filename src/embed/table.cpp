// Table, Scan: reads that begin on the caller's thread and wait for the node's thread when they
// must.

#include "moraine/table.h"

#include "client/lookup.h"
#include "embed/api_impl.h"

namespace moraine {
namespace {

// Reused by all lookups of a thread.
client::LookupMemory& lookup_memory() {
  thread_local client::LookupMemory memory;
  return memory;
}

// Keeps the database, too.
std::shared_ptr<const client::Table> opened(const std::shared_ptr<const Table::Impl>& impl) {
  return {impl, &impl->table};
}

}  // namespace

Result<Table> Database::table(std::string_view path) const {
  TRY(client::Table found, impl_->core->client().open(std::string(path)));
  return Table(std::make_shared<const Table::Impl>(impl_->core, std::move(found)));
}

Table::Table(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

const std::string& Table::path() const {
  return impl_->table.path;
}
const TableSchema& Table::schema() const {
  return *impl_->table.shown;
}

Result<Columns> Table::columns(std::span<const std::string> names) const {
  return impl_->table.columns(names);
}

Result<Columns> Table::columns(std::initializer_list<std::string_view> names) const {
  return columns(std::vector<std::string>(names.begin(), names.end()));
}

Result<void> Table::read(std::span<const Key> keys, const ReadOptions& options, bool in_transaction,
                         Rowset& rows) const {
  client::Lookup lookup(impl_->table, lookup_memory());
  TRY(const bool done,
      lookup.start(keys, options, in_transaction, rows, client::Lookup::Blocking::kForDisk));
  if (done) return {};
  return impl_->core->get<Result<void>>([&] { return lookup.finish(); });
}

Task<Result<void>> Table::read_async(std::vector<std::vector<Value>> keys, ReadOptions options,
                                     bool in_transaction, Rowset& rows) const {
  return client::lookup(impl_->table, impl_, keys, std::move(options), in_transaction, rows);
}

Result<void> Table::lookup(std::span<const Key> keys, const ReadOptions& options,
                           Rowset& rows) const {
  return read(keys, options, false, rows);
}

Result<void> Table::lookup(std::initializer_list<Value> key, const ReadOptions& options,
                           Rowset& rows) const {
  const Key one(key.begin(), key.size());
  return read(std::span(&one, 1), options, false, rows);
}

Task<Result<void>> Table::lookup_async(std::vector<std::vector<Value>> keys, ReadOptions options,
                                       Rowset& rows) const {
  return read_async(std::move(keys), std::move(options), false, rows);
}

Task<Result<VersionedResult>> Table::lookup_versions_async(std::vector<Value> key,
                                                           Timestamp timestamp) const {
  return client::lookup_versions(opened(impl_), std::move(key), timestamp);
}

Result<VersionedResult> Table::lookup_versions(Key key, Timestamp timestamp) const {
  return impl_->core->get<Result<VersionedResult>>(
      [&] { return lookup_versions_async(std::vector<Value>(key.begin(), key.end()), timestamp); });
}

Result<Scan> Table::scan(ScanOptions options) const {
  TRY(client::NewScan scan, client::new_scan(impl_->table, std::move(options)));
  return Scan(std::make_unique<Scan::Impl>(impl_->core, std::move(scan)));
}

Scan::Scan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Scan::Scan(Scan&&) noexcept = default;
Scan& Scan::operator=(Scan&&) noexcept = default;
Scan::~Scan() = default;

Result<bool> Scan::next(ScanBatch& batch) {
  using Found = client::Scan::Found;
  client::Scan& scan = impl_->scan;
  TRY_VOID(scan.begin_step());
  const client::Scan::Step running(scan);
  for (;;) {
    TRY(const Found found, scan.try_next(batch));
    if (found != Found::kNeedsData) return found == Found::kRows;
    TRY_VOID(impl_->core->get<Result<void>>([&] { return scan.load(); }));
  }
}

Task<Result<bool>> Scan::next_async(ScanBatch& batch) {
  return impl_->scan.next(batch);
}

}  // namespace moraine
