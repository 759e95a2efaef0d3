// Transaction: changes are gathered on the caller's thread and committed on the node's.

#include "moraine/transaction.h"

#include "embed/api_impl.h"
#include "io/real/os_random.h"

namespace moraine {
namespace {

Random& thread_random() {
  thread_local OsRandom random;
  return random;
}

}  // namespace

Result<Transaction> Database::begin(TransactionOptions options) {
  TRY_VOID(client::check_options(options));
  TRY(const Timestamp start, timestamp());
  TRY(client::Transaction begun, impl_->core->client().begin_at(start, options, thread_random()));
  return Transaction(std::make_unique<Transaction::Impl>(impl_->core, std::move(begun)));
}

Task<Result<Transaction>> Database::begin_async(TransactionOptions options) {
  const std::shared_ptr<embed::DatabaseCore> core = impl_->core;
  CO_TRY(client::Transaction begun, co_await core->client().begin(options, thread_random()));
  co_return Transaction(std::make_unique<Transaction::Impl>(core, std::move(begun)));
}

Transaction::Transaction(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;
Transaction::~Transaction() = default;

Timestamp Transaction::start() const {
  return impl_->transaction.start();
}

std::string Transaction::id() const {
  return to_string(impl_->transaction.id());
}

Result<void> Transaction::insert(const Table& table, NamedRow row, WriteOptions options) {
  return impl_->transaction.insert(table.impl_->table, row, options);
}

Result<void> Transaction::insert(const Table& table, std::initializer_list<NamedValue> row,
                                 WriteOptions options) {
  return insert(table, NamedRow(row.begin(), row.size()), options);
}

Result<void> Transaction::remove(const Table& table, Key key) {
  return impl_->transaction.remove(table.impl_->table, key);
}

Result<void> Transaction::remove(const Table& table, std::initializer_list<Value> key) {
  return remove(table, Key(key.begin(), key.size()));
}

Result<void> Transaction::lock(const Table& table, Key key, RowLock mode,
                               std::span<const std::string> groups) {
  return impl_->transaction.lock(table.impl_->table, key, mode, groups);
}

Result<void> Transaction::lookup(const Table& table, std::span<const Key> keys, ReadOptions options,
                                 Rowset& rows) const {
  TRY_VOID(impl_->transaction.begin_read(table.impl_->table, options));
  return table.read(keys, options, impl_->transaction.atomic(), rows);
}

Task<Result<void>> Transaction::lookup_async(Table table, std::vector<std::vector<Value>> keys,
                                             ReadOptions options, Rowset& rows) const {
  CO_TRY_VOID(impl_->transaction.begin_read(table.impl_->table, options));
  const bool atomic = impl_->transaction.atomic();
  co_return co_await table.read_async(std::move(keys), std::move(options), atomic, rows);
}

Result<Scan> Transaction::scan(const Table& table, ScanOptions options) const {
  TRY(client::NewScan scan, impl_->transaction.new_scan(table.impl_->table, std::move(options)));
  return Scan(std::make_unique<Scan::Impl>(impl_->core, std::move(scan)));
}

Result<Timestamp> Transaction::commit() {
  client::Transaction& transaction = impl_->transaction;
  TRY(GatheredTransaction gathered, transaction.gather());
  if (gathered.tables.empty()) return transaction.start();
  Executor& lane = client::lane_of(gathered, impl_->core->control());
  return impl_->core->get_on<Result<Timestamp>>(
      lane, [&] { return transaction.commit(std::move(gathered)); });
}

Task<Result<Timestamp>> Transaction::commit_async() {
  return impl_->transaction.commit();
}

void Transaction::abort() {
  impl_->transaction.abort();
}

}  // namespace moraine
