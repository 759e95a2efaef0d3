// Transactions: changes are collected here and sent when the transaction commits.

#include <fmt/format.h>

#include <algorithm>

#include "embed/api_impl.h"

namespace moraine {
namespace {

table::LockMode mode_of(RowLock lock) {
  switch (lock) {
    case RowLock::kSharedWeak: return table::LockMode::kSharedWeak;
    case RowLock::kSharedStrong: return table::LockMode::kSharedStrong;
    case RowLock::kExclusive: return table::LockMode::kExclusive;
  }
  return table::LockMode::kExclusive;
}

Result<void> check_timeout(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds most = kTransactionTimeoutMax;
  if (timeout.count() > 0 && timeout <= most) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("a transaction's timeout is above 0 and at most {} ms; {} ms was given",
                          most.count(), timeout.count()));
}

std::unique_ptr<Transaction::Impl> new_transaction(std::shared_ptr<embed::DatabaseCore> core,
                                                   Timestamp start, TransactionOptions options) {
  table::TransactionId id;
  thread_local OsRandom random;
  for (std::size_t at = 0; at < id.bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(id.bytes.data() + at, &word, sizeof word);
  }
  auto impl = std::make_unique<Transaction::Impl>();
  impl->core = std::move(core);
  impl->life = std::make_shared<embed::TransactionLife>(id, options.timeout);
  impl->start = start;
  impl->atomicity = options.atomicity;
  return impl;
}

// Lets a write that could not be committed be refused immediately.
table::ChangeLimits limits_of(const OpenTable& table) {
  table::ChangeLimits limits;
  limits.rows = table::kRowsPerTransactionMax;
  limits.bytes = table::kWriteBytesMax;
  for (std::size_t i = 1; i < table.ranges.size(); ++i) {
    limits.pivots.push_back(table.ranges[i].from);
  }
  return limits;
}

// A null key column must be named as well.
Result<void> check_key_columns(const TableSchema& schema, NamedRow row) {
  for (std::size_t i = 0; i < schema.key_count(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    if (!column.expression.empty()) continue;
    const auto named = [&](const NamedValue& value) { return value.name == column.name; };
    if (std::ranges::any_of(row, named)) continue;
    // An unknown column name, perhaps a typo, is the better error: the insert reports it.
    const auto unknown = [&](const NamedValue& value) { return !schema.find(value.name); };
    if (std::ranges::any_of(row, unknown)) return {};
    return fail(Errc::kInvalidArgument, fmt::format("Missing key column \"{}\"", column.name));
  }
  return {};
}

}  // namespace

Result<Transaction> Database::begin(TransactionOptions options) {
  TRY_VOID(check_timeout(options.timeout));
  TRY(const Timestamp start, timestamp());
  return Transaction(new_transaction(impl_->core, start, options));
}

Task<Result<Transaction>> Database::begin_async(TransactionOptions options) {
  CO_TRY_VOID(check_timeout(options.timeout));
  const std::shared_ptr<embed::DatabaseCore> core = impl_->core;
  CO_TRY(const Timestamp start, co_await core->services().timestamps().next());
  co_return Transaction(new_transaction(core, start, options));
}

Transaction::Transaction(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Transaction::Transaction(Transaction&&) noexcept = default;
Transaction& Transaction::operator=(Transaction&&) noexcept = default;
Transaction::~Transaction() = default;

Timestamp Transaction::start() const {
  return impl_->start;
}

std::string Transaction::id() const {
  return to_string(impl_->life->id());
}

Result<void> Transaction::Impl::use() {
  Result<void> used = life->use();
  if (!used) parts.clear();
  return used;
}

Result<void> Transaction::Impl::use_last() {
  Result<void> used = life->commit();
  if (!used) parts.clear();
  return used;
}

// Equal ids in two folders refer to different tablets.
Result<void> Transaction::Impl::check_table(const Table::Impl& table) const {
  if (table.core == core) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} belongs to another database than the transaction", table.path));
}

Result<table::ChangeSet*> Transaction::Impl::changes_of(
    const std::shared_ptr<const Table::Impl>& table) {
  TRY_VOID(use());
  TRY_VOID(check_table(*table));
  if (!table->dynamic && !table->holder->hold()->dynamic) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is a static table: write its rows with write_static_table()", table->path));
  }
  auto found = parts.find(table->holder.get());
  if (found == parts.end()) {
    const std::shared_ptr<const OpenTable> open = table->holder->hold();
    if (open->removed) return fail(Errc::kNotFound, was_removed(table->path));
    table::ChangeSet none(table->layout, {}, limits_of(*open));
    found = parts.emplace(table->holder.get(), Part{table, std::move(none)}).first;
  }
  if (found->second.table->schema != table->schema) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("the schema of {} has changed since the transaction wrote to it", table->path));
  }
  return &found->second.changes;
}

Result<void> Transaction::insert(const Table& table, NamedRow row, WriteOptions options) {
  TRY(table::ChangeSet * changes, impl_->changes_of(table.impl_));
  TRY_VOID(check_key_columns(*table.impl_->schema, row));
  table::InsertOptions with;
  with.update = options.update;
  with.aggregate = options.aggregate;
  with.lock = options.shared_write ? table::LockMode::kSharedWrite : table::LockMode::kExclusive;
  return changes->insert(row, with);
}

Result<void> Transaction::insert(const Table& table, std::initializer_list<NamedValue> row,
                                 WriteOptions options) {
  return insert(table, NamedRow(row.begin(), row.size()), options);
}

Result<void> Transaction::remove(const Table& table, Key key) {
  TRY(table::ChangeSet * changes, impl_->changes_of(table.impl_));
  return changes->erase(key);
}

Result<void> Transaction::remove(const Table& table, std::initializer_list<Value> key) {
  return remove(table, Key(key.begin(), key.size()));
}

Result<void> Transaction::lock(const Table& table, Key key, RowLock mode,
                               std::span<const std::string> groups) {
  TRY(table::ChangeSet * changes, impl_->changes_of(table.impl_));
  return changes->lock(key, groups, mode_of(mode));
}

Result<void> Transaction::lookup(const Table& table, std::span<const Key> keys, ReadOptions options,
                                 Rowset& rows) const {
  TRY_VOID(impl_->use());
  TRY_VOID(impl_->check_table(*table.impl_));
  if (impl_->atomic()) options.timestamp = impl_->start;
  return table.read(keys, options, impl_->atomic(), rows);
}

Task<Result<void>> Transaction::lookup_async(Table table, std::vector<std::vector<Value>> keys,
                                             ReadOptions options, Rowset& rows) const {
  CO_TRY_VOID(impl_->use());
  CO_TRY_VOID(impl_->check_table(*table.impl_));
  if (impl_->atomic()) options.timestamp = impl_->start;
  co_return co_await table.read_async(std::move(keys), std::move(options), impl_->atomic(), rows);
}

Result<Scan> Transaction::scan(const Table& table, ScanOptions options) const {
  TRY_VOID(impl_->use());
  TRY_VOID(impl_->check_table(*table.impl_));
  if (impl_->atomic()) options.read.timestamp = impl_->start;
  TRY(Scan scan, table.scan(std::move(options)));
  scan.impl_->life = impl_->life;
  scan.impl_->timeout = impl_->life->timeout();
  scan.impl_->request.in_transaction = impl_->atomic();
  return scan;
}

Result<GatheredTransaction> Transaction::Impl::gather() {
  GatheredTransaction gathered;
  gathered.id = life->id();
  gathered.start = start;
  gathered.atomicity = atomicity;
  for (auto& [holder, part] : std::exchange(parts, {})) {
    if (part.changes.empty()) continue;
    TableChanges changes;
    changes.table = holder->hold();
    if (changes.table->schema != part.table->schema) {
      return fail(Errc::kInvalidArgument, fmt::format("the schema of {} has changed: open it "
                                                      "again with Database::table()",
                                                      part.table->path));
    }
    changes.changes = part.changes.take();
    gathered.tables.push_back(std::move(changes));
  }
  return gathered;
}

namespace {

Task<Result<Timestamp>> commit_gathered(std::shared_ptr<embed::DatabaseCore> core,
                                        std::shared_ptr<embed::TransactionLife> life,
                                        Result<GatheredTransaction> gathered) {
  Result<Timestamp> done;
  if (gathered) {
    done = co_await commit_transaction(core->services().commit_parts(), std::move(*gathered),
                                       Instant::never());
  } else {
    done = std::unexpected(std::move(gathered).error());
  }
  if (!done) life->fail_commit();
  co_return done;
}

}  // namespace

Result<Timestamp> Transaction::commit() {
  TRY_VOID(impl_->use_last());
  Result<GatheredTransaction> gathered = impl_->gather();
  if (gathered && gathered->tables.empty()) return impl_->start;
  return impl_->core->get<Result<Timestamp>>(
      [&] { return commit_gathered(impl_->core, impl_->life, std::move(gathered)); });
}

Task<Result<Timestamp>> Transaction::commit_async() {
  CO_TRY_VOID(impl_->use_last());
  Result<GatheredTransaction> gathered = impl_->gather();
  if (gathered && gathered->tables.empty()) co_return impl_->start;
  co_return co_await commit_gathered(impl_->core, impl_->life, std::move(gathered));
}

void Transaction::abort() {
  impl_->life->abort();
  impl_->parts.clear();
}

}  // namespace moraine
