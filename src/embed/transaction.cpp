// Transactions: changes are gathered here and sent when the transaction commits.

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

std::unique_ptr<Transaction::Impl> new_transaction(std::shared_ptr<embed::DatabaseCore> core,
                                                   Timestamp start, TransactionOptions options) {
  auto impl = std::make_unique<Transaction::Impl>();
  impl->core = std::move(core);
  impl->start = start;
  impl->options = options;
  thread_local OsRandom random;
  for (std::size_t at = 0; at < impl->id.bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(impl->id.bytes.data() + at, &word, sizeof word);
  }
  impl->expires = std::chrono::steady_clock::now() + options.timeout;
  return impl;
}

// A key column that is null is named as well.
Result<void> check_key_columns(const TableSchema& schema, NamedRow row) {
  for (std::size_t i = 0; i < schema.key_count(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    if (!column.expression.empty()) continue;
    const auto named = [&](const NamedValue& value) { return value.name == column.name; };
    if (std::ranges::any_of(row, named)) continue;
    // A name that is no column's, perhaps a slip, tells more: the insert refuses it.
    const auto unknown = [&](const NamedValue& value) { return !schema.find(value.name); };
    if (std::ranges::any_of(row, unknown)) return {};
    return fail(Errc::kInvalidArgument, fmt::format("Missing key column \"{}\"", column.name));
  }
  return {};
}

}  // namespace

Result<Transaction> Database::begin(TransactionOptions options) {
  TRY(const Timestamp start, timestamp());
  return Transaction(new_transaction(impl_->core, start, options));
}

Task<Result<Transaction>> Database::begin_async(TransactionOptions options) {
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
  return to_string(impl_->id);
}

Result<void> Transaction::Impl::use() {
  if (!over) {
    const auto now = std::chrono::steady_clock::now();
    if (now <= expires) {
      expires = now + options.timeout;
      return {};
    }
    over = true;
    expired = true;
    parts.clear();
  }
  if (!expired) {
    return fail(Errc::kAborted, fmt::format("transaction {} is over", to_string(id)));
  }
  return fail(Errc::kAborted, fmt::format("transaction {} was not used for {} ms and has expired",
                                          to_string(id), options.timeout.count()));
}

// Equal ids in two folders mean different tablets.
Result<void> Transaction::Impl::check_table(const Table::Impl& table) const {
  if (table.core == core) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is a table of another database than the transaction", table.path));
}

Result<table::ChangeSet*> Transaction::Impl::changes_of(
    const std::shared_ptr<const Table::Impl>& table) {
  TRY_VOID(use());
  TRY_VOID(check_table(*table));
  if (!table->dynamic && !table->holder->hold()->dynamic) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is a static table: its rows come by write_static_table()", table->path));
  }
  auto found = parts.find(table->path);
  if (found == parts.end()) {
    found = parts.emplace(table->path, Part{table, table::ChangeSet(table->layout)}).first;
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
  if (impl_->options.atomicity == TableAtomicity::kFull) options.timestamp = impl_->start;
  return table.lookup(keys, options, rows);
}

Task<Result<void>> Transaction::lookup_async(Table table, std::vector<std::vector<Value>> keys,
                                             ReadOptions options, Rowset& rows) const {
  CO_TRY_VOID(impl_->use());
  CO_TRY_VOID(impl_->check_table(*table.impl_));
  if (impl_->options.atomicity == TableAtomicity::kFull) options.timestamp = impl_->start;
  co_return co_await table.lookup_async(std::move(keys), std::move(options), rows);
}

Result<Scan> Transaction::scan(const Table& table, ScanOptions options) const {
  TRY_VOID(impl_->use());
  TRY_VOID(impl_->check_table(*table.impl_));
  if (impl_->options.atomicity == TableAtomicity::kFull) options.read.timestamp = impl_->start;
  return table.scan(std::move(options));
}

Result<GatheredTransaction> Transaction::Impl::gather() {
  TRY_VOID(use());
  over = true;
  GatheredTransaction gathered;
  gathered.id = id;
  gathered.start = start;
  gathered.atomicity = static_cast<table::Atomicity>(options.atomicity);
  for (auto& [path, part] : parts) {
    if (part.changes.empty()) continue;
    TableChanges changes;
    changes.table = part.table->holder->hold();
    if (changes.table->schema != part.table->schema) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("the schema of {} has changed: take the table anew", path));
    }
    changes.changes = part.changes.take();
    gathered.tables.push_back(std::move(changes));
  }
  parts.clear();
  return gathered;
}

Result<Timestamp> Transaction::commit() {
  TRY(GatheredTransaction gathered, impl_->gather());
  if (gathered.tables.empty()) return impl_->start;
  embed::DatabaseCore& core = *impl_->core;
  return core.get<Result<Timestamp>>([&] {
    return commit_transaction(core.services().commit_parts(), std::move(gathered),
                              Instant::never());
  });
}

Task<Result<Timestamp>> Transaction::commit_async() {
  CO_TRY(GatheredTransaction gathered, impl_->gather());
  if (gathered.tables.empty()) co_return impl_->start;
  const std::shared_ptr<embed::DatabaseCore> core = impl_->core;
  co_return co_await commit_transaction(core->services().commit_parts(), std::move(gathered),
                                        Instant::never());
}

void Transaction::abort() {
  impl_->over = true;
  impl_->parts.clear();
}

}  // namespace moraine
