#include "bench/tables/our_table.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "bench/measure.h"
#include "bench/tables/contest.h"

namespace moraine::bench {
namespace {

constexpr auto kOverloadPause = std::chrono::milliseconds(5);
constexpr std::array<std::string_view, WideRow::kNumbers> kNumberNames{
    "at", "percent", "amount", "token", "balance", "weekday", "address"};

ColumnSchema column(std::string_view name, ColumnType type, bool key = false) {
  ColumnSchema made;
  made.name = name;
  made.type = type;
  made.key = key;
  return made;
}

TableSchema schema_of(bool wide) {
  TableSchema schema;
  if (!wide) {
    schema.columns = {column("key", ColumnType::kString, true),
                      column("value", ColumnType::kString)};
    return schema;
  }
  schema.columns = {column("id", ColumnType::kInt64, true)};
  for (const std::string_view name : kNumberNames) {
    schema.columns.push_back(column(name, ColumnType::kInt64));
  }
  schema.columns.push_back(column("city", ColumnType::kString));
  schema.columns.push_back(column("comment", ColumnType::kString));
  return schema;
}

}  // namespace

Result<std::unique_ptr<OurTable>> OurTable::open(const OurOptions& options) {
  std::unique_ptr<OurTable> made(new OurTable(options));
  TRY_VOID(made->start());
  return made;
}

Result<void> OurTable::start() {
  OpenOptions open;
  open.device_bytes = options_.device_bytes;
  open.lanes = options_.lanes;
  open.block_cache_bytes = options_.cache_bytes;
  open.row_cache_bytes = options_.row_cache_bytes;
  TRY(Database opened, Database::open(options_.folder, open));
  database_.emplace(std::move(opened));
  const Result<void> made = database_->run(
      database_->create_table(kPath, schema_of(options_.wide), options_.table, options_.pivots));
  if (!made && made.error().code != Errc::kAlreadyExists) return std::unexpected(made.error());
  TRY(Table table, database_->table(kPath));
  table_.emplace(std::move(table));
  return {};
}

void OurTable::close() {
  table_.reset();
  database_.reset();
}

Result<double> OurTable::reopen() {
  close();
  const Stopwatch watch;
  TRY_VOID(start());
  return watch.seconds();
}

Result<void> OurTable::insert_wide(Transaction& transaction, const WideRow& row) {
  std::array<NamedValue, WideRow::kNumbers + 3> cells;
  cells[0] = {"id", row.id};
  for (std::size_t i = 0; i < row.numbers.size(); ++i) {
    cells[i + 1] = {kNumberNames[i], row.numbers[i]};
  }
  cells[WideRow::kNumbers + 1] = {"city", row.city};
  cells[WideRow::kNumbers + 2] = {"comment", row.comment};
  return transaction.insert(*table_, cells);
}

Result<void> OurTable::load_batch(RowRange range, std::uint64_t version) {
  TRY(Transaction transaction, database_->begin());
  WideRowMaker wide;
  for (std::uint64_t i = range.first; i < range.first + range.count; ++i) {
    if (options_.wide) {
      TRY_VOID(insert_wide(transaction, wide.make(i)));
      continue;
    }
    const KeyText key = KeyText::scattered(i);
    const ValueText value(i, version);
    TRY_VOID(transaction.insert(*table_, {{"key", key.view()}, {"value", value.view()}}));
  }
  TRY(const Timestamp committed, transaction.commit());
  (void)committed;
  return {};
}

Result<void> OurTable::load(RowRange range, std::uint64_t version) {
  std::atomic<std::uint64_t> next{range.first};
  const std::uint64_t end = range.first + range.count;
  return on_threads(kLoaders, [&](std::uint32_t) -> Result<void> {
    for (;;) {
      const std::uint64_t first = next.fetch_add(kRowsPerBatch);
      if (first >= end) return {};
      const RowRange batch{first, std::min(kRowsPerBatch, end - first)};
      for (;;) {
        Result<void> done = load_batch(batch, version);
        if (done) break;
        if (done.error().code != Errc::kOverloaded) return done;
        std::this_thread::sleep_for(kOverloadPause);  // Until memory has been flushed.
      }
    }
  });
}

Result<void> OurTable::settle() {
  TRY_VOID(database_->run(database_->flush_table(kPath)));
  return database_->run(database_->settle_table(kPath));
}

Result<std::uint64_t> OurTable::chunk_bytes() const {
  TRY(const TableReport report, database_->run(database_->describe_table(kPath)));
  std::uint64_t bytes = 0;
  for (const TabletReport& tablet : report.tablets) bytes += tablet.disk_bytes;
  return bytes;
}

Result<void> commit_row(Database& database, const Table& table, const KeyText& key,
                        const ValueText& value) {
  TRY(Transaction transaction, database.begin());
  TRY_VOID(transaction.insert(table, {{"key", key.view()}, {"value", value.view()}}));
  TRY(const Timestamp committed, transaction.commit());
  (void)committed;
  return {};
}

Result<OurReader> OurReader::make(const Table& table, bool row_cache) {
  OurReader reader(table);
  TRY(reader.options_.columns, table.columns({"value"}));
  reader.options_.use_lookup_cache = row_cache;
  return reader;
}

Result<bool> OurReader::get(const KeyText& key) {
  TRY_VOID(table_.lookup({Value(key.view())}, options_, rows_));
  return rows_.exists(0) && rows_.at(0, 0).text().size() == kValueBytes;
}

Result<std::size_t> OurReader::get_many(std::span<const KeyText> keys) {
  values_.resize(keys.size());
  keys_.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    values_[i] = Value(keys[i].view());
    keys_.emplace_back(&values_[i], 1);
  }
  TRY_VOID(table_.lookup(keys_, options_, rows_));
  std::size_t found = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (rows_.exists(i) && rows_.at(i, 0).text().size() == kValueBytes) ++found;
  }
  return found;
}

}  // namespace moraine::bench
