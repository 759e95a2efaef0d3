#include "client/transaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "client/table_client.h"
#include "table/model/ordered.h"

namespace moraine::client {
namespace {

table::LockMode mode_of(RowLock lock) {
  switch (lock) {
    case RowLock::kSharedWeak: return table::LockMode::kSharedWeak;
    case RowLock::kSharedStrong: return table::LockMode::kSharedStrong;
    case RowLock::kExclusive: return table::LockMode::kExclusive;
    case RowLock::kSharedWrite: return table::LockMode::kSharedWrite;
  }
  return table::LockMode::kExclusive;
}

// Lets a write that could not be committed be refused immediately.
table::ChangeLimits limits_of(const OpenTable& table) {
  table::ChangeLimits limits;
  limits.rows = table::kRowsPerTransactionMax;
  // Messages to other nodes are no longer than an entry of the log.
  const bool elsewhere = std::ranges::any_of(table.ranges, &OpenRange::elsewhere);
  limits.bytes = elsewhere ? table::kWriteBytesMax : table::kLongWriteBytesMax;
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

// A mounted tablet, if there is one: different ones for different transactions.
std::size_t choose_tablet(const OpenTable& table, const TransactionId& id) {
  std::uint64_t random = 0;
  std::memcpy(&random, id.bytes.data(), sizeof random);
  std::vector<std::size_t> mounted;
  for (std::size_t i = 0; i < table.ranges.size(); ++i) {
    if (table.ranges[i].state == MountState::kMounted) mounted.push_back(i);
  }
  return mounted.empty() ? 0 : mounted[random % mounted.size()];
}

Result<void> check_tablet(const Table& table, const Value& index) {
  const EpochGuard guard;
  const std::size_t tablets = table.holder->get().ranges.size();
  const bool fits_int = index.type() == ValueType::kInt64 && index.as_int64() >= 0 &&
                        static_cast<std::uint64_t>(index.as_int64()) < tablets;
  const bool fits_uint = index.type() == ValueType::kUint64 && index.as_uint64() < tablets;
  if (fits_int || fits_uint) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("Invalid tablet index of a row of {}: the table has {} tablets",
                          table.path, tablets));
}

Task<Result<Timestamp>> commit_gathered(TransactionServices& services,
                                        std::shared_ptr<TransactionLife> life,
                                        GatheredTransaction gathered) {
  Result<Timestamp> done =
      co_await commit_transaction(services.commit_parts(), std::move(gathered), Instant::never());
  if (!done) life->fail_commit();
  co_return done;
}

}  // namespace

TransactionId new_transaction_id(Random& random) {
  TransactionId id;
  for (std::size_t at = 0; at < id.bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(id.bytes.data() + at, &word, sizeof word);
  }
  return id;
}

Result<void> check_options(const TransactionOptions& options) {
  constexpr std::chrono::milliseconds most = kTransactionTimeoutMax;
  if (options.timeout.count() > 0 && options.timeout <= most) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("a transaction's timeout is above 0 and at most {} ms; {} ms was given",
                          most.count(), options.timeout.count()));
}

Transaction::Transaction(TableClient& client, OpenCount::Place place, const TransactionId& id,
                         Timestamp start, const TransactionOptions& options)
    : client_(&client),
      life_(std::make_shared<TransactionLife>(client.executor(), id, options.timeout)),
      start_(start),
      atomicity_(options.atomicity),
      place_(std::move(place)) {}

Transaction::~Transaction() {
  if (life_) life_->abort();
}

Result<void> Transaction::use() {
  Result<void> used = life_->use();
  if (!used) parts_.clear();
  return used;
}

// Tablets of two folders may have equal ids.
Result<void> Transaction::check_table(const Table& table) const {
  if (table.client == client_) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} belongs to another database than the transaction", table.path));
}

Result<Transaction::Part*> Transaction::part_of(const Table& table) {
  TRY_VOID(use());
  TRY_VOID(check_table(table));
  const EpochGuard guard;
  const OpenTable& open = table.holder->get();
  if (!table.dynamic && !open.dynamic) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is a static table: write its rows with write_static_table()", table.path));
  }
  auto found = parts_.find(table.holder.get());
  if (found == parts_.end()) {
    if (open.removed) return fail(Errc::kNotFound, was_removed(table.path));
    table::ChangeSet none(table.layout, {}, limits_of(open));
    Part part{table.holder, table.schema, table.path, std::move(none)};
    if (table.ordered) part.tablet = choose_tablet(open, life_->id());
    found = parts_.emplace(table.holder.get(), std::move(part)).first;
  }
  if (found->second.schema != table.schema) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("the schema of {} has changed since the transaction wrote to it", table.path));
  }
  return &found->second;
}

Result<table::ChangeSet*> Transaction::changes_of(const Table& table) {
  TRY(Part * part, part_of(table));
  if (!table.ordered) return &part->changes;
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is an ordered table: rows are appended, and not deleted or locked",
                          table.path));
}

// The tablet numbers the row when it is committed; until then it has its number in the transaction.
Result<void> Transaction::append(const Table& table, NamedRow row, const WriteOptions& options) {
  if (options.update || options.aggregate || options.shared_write) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{} is an ordered table: its rows are appended, and not changed", table.path));
  }
  TRY(Part * part, part_of(table));
  std::vector<NamedValue> placed{{table::kRowIndexColumn, Value(part->rows)}};
  bool names_tablet = false;
  for (const NamedValue& value : row) {
    if (value.name == table::kRowIndexColumn || value.name == table::kRowTimestampColumn ||
        value.name == table::kCumulativeWeightColumn) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("Column \"{}\" of {} is filled in when the row is committed",
                              value.name, table.path));
    }
    const bool names = value.name == table::kTabletIndexColumn && !value.value.is_null();
    if (names) {
      TRY_VOID(check_tablet(table, value.value));
    }
    names_tablet = names_tablet || names;
    if (names || value.name != table::kTabletIndexColumn) placed.push_back(value);
  }
  if (!names_tablet) {
    placed.push_back({table::kTabletIndexColumn, Value(static_cast<std::int64_t>(part->tablet))});
  }
  TRY_VOID(part->changes.insert(placed));
  ++part->rows;
  return {};
}

Result<void> Transaction::insert(const Table& table, NamedRow row, const WriteOptions& options) {
  if (table.ordered) return append(table, row, options);
  TRY(table::ChangeSet * changes, changes_of(table));
  TRY_VOID(check_key_columns(*table.schema, row));
  table::InsertOptions with;
  with.update = options.update;
  with.aggregate = options.aggregate;
  with.lock = options.shared_write ? table::LockMode::kSharedWrite : table::LockMode::kExclusive;
  return changes->insert(row, with);
}

Result<void> Transaction::remove(const Table& table, Key key) {
  TRY(table::ChangeSet * changes, changes_of(table));
  return changes->erase(key);
}

Result<void> Transaction::lock(const Table& table, Key key, RowLock mode,
                               std::span<const std::string> groups) {
  TRY(table::ChangeSet * changes, changes_of(table));
  return changes->lock(key, groups, mode_of(mode));
}

Result<void> Transaction::begin_read(const Table& table, ReadOptions& options) {
  TRY_VOID(use());
  TRY_VOID(check_table(table));
  if (atomic()) options.timestamp = start_;
  return {};
}

Result<NewScan> Transaction::new_scan(const Table& table, ScanOptions options) {
  TRY_VOID(begin_read(table, options.read));
  TRY(NewScan scan, client::new_scan(table, std::move(options)));
  scan.life = life_;
  scan.timeout = life_->timeout();
  scan.request.in_transaction = atomic();
  return scan;
}

Result<GatheredTransaction> Transaction::take_parts() {
  GatheredTransaction gathered;
  gathered.id = life_->id();
  gathered.start = start_;
  gathered.atomicity = atomicity_;
  for (auto& [holder, part] : std::exchange(parts_, {})) {
    if (part.changes.empty()) continue;
    TableChanges changes;
    changes.table = part.holder->hold();
    if (changes.table->schema != part.schema) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("the schema of {} has changed: open the table again", part.path));
    }
    changes.changes = part.changes.take();
    // Rows that are not there yet conflict with nothing; the coordinator knows appends by it.
    if (part.rows > 0) {
      for (table::RowChange& change : changes.changes) change.locks = {};
    }
    gathered.tables.push_back(std::move(changes));
  }
  return gathered;
}

Result<GatheredTransaction> Transaction::gather() {
  place_.release();
  if (Result<void> used = life_->commit(); !used) {
    parts_.clear();
    return std::unexpected(std::move(used).error());
  }
  Result<GatheredTransaction> gathered = take_parts();
  if (!gathered) life_->fail_commit();
  return gathered;
}

Task<Result<Timestamp>> Transaction::commit(GatheredTransaction gathered) {
  return commit_gathered(client_->services(), life_, std::move(gathered));
}

Task<Result<Timestamp>> Transaction::commit() {
  CO_TRY(GatheredTransaction gathered, gather());
  if (gathered.tables.empty()) co_return start_;
  co_return co_await commit(std::move(gathered));
}

std::size_t Transaction::bytes() const {
  std::size_t bytes = 0;
  for (const auto& [holder, part] : parts_) bytes += part.changes.bytes();
  return bytes;
}

void Transaction::abort() {
  life_->abort();
  parts_.clear();
  place_.release();
}

Executor& lane_of(const GatheredTransaction& gathered, Executor& otherwise) {
  for (const TableChanges& part : gathered.tables) {
    if (part.changes.empty()) continue;
    const OpenTable& table = *part.table;
    const auto& running = table.ranges[table.range_of(as_bytes(part.changes.front().key))].running;
    return running ? running->executor() : otherwise;
  }
  return otherwise;
}

}  // namespace moraine::client
