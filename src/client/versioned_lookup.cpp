#include "client/versioned_lookup.h"

#include <algorithm>
#include <map>

#include "client/table_client.h"
#include "io/run_on.h"
#include "table/model/retention.h"

namespace moraine::client {
namespace {

using Rows = std::vector<table::OwnedVersionedRow>;
using Positions = std::vector<std::size_t>;

// What one call needs until it ends.
struct Query {
  std::shared_ptr<const Table> table;
  VersionedLookupOptions options;
  std::vector<std::string> keys;  // Encoded.
  Rows rows;                      // By key.
};

Task<Result<void>> read_here(const table::TabletReader& reader, Query& query,
                             const Positions& positions) {
  for (const std::size_t i : positions) {
    CO_TRY(query.rows[i], co_await reader.lookup_versions(query.keys[i], query.options.timestamp,
                                                          query.options.retention));
  }
  co_return Result<void>();
}

// Versions that the options of retention keep, as the tablet would leave them.
void retain(const TableSchema& schema, const VersionedLookupOptions& options, Timestamp now,
            table::OwnedVersionedRow& row) {
  table::RowBuilder kept;
  table::TextMemory memory;
  read_retained_versions(row.row.row(), options.timestamp, nullptr, schema, *options.retention, now,
                         memory, kept);
  for (table::VersionedValue& value : kept.values) {
    if (!value.value.has_text()) continue;
    const std::string_view text = value.value.text();
    row.memory.push_back(std::make_unique_for_overwrite<char[]>(text.size()));
    std::ranges::copy(text, row.memory.back().get());
    const std::string_view copy(row.memory.back().get(), text.size());
    value.value = value.value.type() == ValueType::kAny ? Value::any(copy) : Value(copy);
  }
  row.row = std::move(kept);
  row.exists = !row.row.empty();
}

Task<Result<void>> read_elsewhere(TabletId tablet, Query& query, const Positions& positions) {
  TableClient& client = *query.table->client;
  Timestamp now = 0;
  if (query.options.retention) {
    CO_TRY(now, co_await client.timestamp());
  }
  for (const std::size_t i : positions) {
    CO_TRY(query.rows[i], co_await client.services().reads().lookup_versions(
                              tablet, query.table->schema, query.keys[i], query.options.timestamp,
                              client.executor().now() + kLookupTimeout));
    if (now != 0) retain(*query.table->schema, query.options, now, query.rows[i]);
  }
  co_return Result<void>();
}

Task<Result<void>> read_all(Query& query) {
  const std::shared_ptr<const OpenTable> open = query.table->holder->hold();
  if (query.table->is_altered(*open)) co_return query.table->altered();
  std::map<std::size_t, Positions> by_range;
  for (std::size_t i = 0; i < query.keys.size(); ++i) {
    by_range[open->range_of(as_bytes(query.keys[i]))].push_back(i);
  }
  query.rows.resize(query.keys.size());
  for (const auto& [range, positions] : by_range) {
    if (open->ranges[range].read_elsewhere()) {
      CO_TRY_VOID(co_await read_elsewhere(open->ranges[range].tablet, query, positions));
      continue;
    }
    CO_TRY(const Lookup::TabletPtr tablet, open->readable(range));
    CO_TRY_VOID(co_await run_there(tablet->executor(),
                                   [&] { return read_here(tablet->reader(), query, positions); }));
  }
  co_return Result<void>();
}

std::vector<Timestamp> not_before(const std::vector<Timestamp>& timestamps, Timestamp first) {
  std::vector<Timestamp> kept;
  for (const Timestamp timestamp : timestamps) {
    if (timestamp >= first) kept.push_back(timestamp);
  }
  return kept;
}

VersionedResult result_of(const Query& query, const std::vector<bool>& wanted,
                          table::OwnedVersionedRow row) {
  const Timestamp first = query.options.retention_timestamp;
  auto kept = std::make_shared<table::OwnedVersionedRow>(std::move(row));
  VersionedResult result;
  result.write_timestamps = not_before(kept->row.write_timestamps, first);
  result.delete_timestamps = not_before(kept->row.delete_timestamps, first);
  result.found = !result.write_timestamps.empty() || !result.delete_timestamps.empty();
  for (const table::VersionedValue& value : kept->row.values) {
    if (!wanted[value.column] || value.timestamp < first) continue;
    result.versions.push_back({query.table->schema->columns[value.column].name, value.timestamp,
                               value.aggregate, value.value});
  }
  result.memory = std::move(kept);
  return result;
}

Result<void> check_timestamps(Timestamp timestamp, Timestamp retention) {
  if (retention <= std::min(timestamp, kMaxTimestamp)) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("Retention timestamp {} is greater than read timestamp {}", retention,
                          timestamp));
}

Task<Result<Query>> read_query(std::shared_ptr<const Table> table,
                               std::vector<std::vector<Value>> keys,
                               VersionedLookupOptions options) {
  if (!table->owns(options.columns)) co_return table->other_columns();
  CO_TRY_VOID(check_timestamps(options.timestamp, options.retention_timestamp));
  Query query;
  CO_TRY(query.keys, encode_keys(*table, keys));
  query.table = std::move(table);
  query.options = std::move(options);
  CO_TRY_VOID(co_await read_all(query));
  co_return query;
}

constexpr std::size_t kNotWanted = ~std::size_t{0};

// The timestamp of each wanted cell of one row. `place`: by column, that of its cell.
void find_timestamps(const table::OwnedVersionedRow& row, std::span<const std::size_t> place,
                     Timestamp first, std::span<Timestamp> cells) {
  const auto& deletes = row.row.delete_timestamps;
  const Timestamp deleted = deletes.empty() ? kNullTimestamp : std::ranges::max(deletes);
  for (const table::VersionedValue& value : row.row.values) {
    if (value.timestamp <= deleted || value.timestamp < first) continue;
    const std::size_t at = place[value.column];
    if (at != kNotWanted) cells[at] = std::max(cells[at], value.timestamp);
  }
}

}  // namespace

Task<Result<std::vector<VersionedResult>>> lookup_versions(std::shared_ptr<const Table> table,
                                                           std::vector<std::vector<Value>> keys,
                                                           VersionedLookupOptions options) {
  CO_TRY(Query query, co_await read_query(std::move(table), std::move(keys), std::move(options)));
  const Columns& columns = query.options.columns;
  std::vector<bool> wanted(query.table->schema->columns.size(), columns.all());
  for (const std::uint16_t column : columns.indexes()) wanted[column] = true;
  std::vector<VersionedResult> results;
  results.reserve(query.rows.size());
  for (table::OwnedVersionedRow& row : query.rows) {
    results.push_back(result_of(query, wanted, std::move(row)));
  }
  co_return results;
}

Task<Result<std::vector<Timestamp>>> lookup_timestamps(std::shared_ptr<const Table> table,
                                                       std::vector<std::vector<Value>> keys,
                                                       ReadOptions options, bool in_transaction,
                                                       Rowset& rows) {
  // Both reads at one timestamp: the second one would otherwise see more.
  if (options.timestamp > kMaxTimestamp) {
    CO_TRY(options.timestamp, co_await table->client->timestamp());
  }
  CO_TRY_VOID(co_await lookup(table, keys, options, in_transaction, rows));
  VersionedLookupOptions versions;
  versions.timestamp = options.timestamp;
  CO_TRY(const Query query, co_await read_query(table, std::move(keys), std::move(versions)));
  const auto columns = table->indexes_of(options.columns);
  std::vector<std::size_t> place(table->schema->columns.size(), kNotWanted);
  for (std::size_t i = 0; i < columns.size(); ++i) place[columns[i]] = i;
  std::vector<Timestamp> cells(rows.rows() * columns.size(), kNullTimestamp);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    if (!rows.exists(i)) continue;
    find_timestamps(query.rows[i], place, options.retention_timestamp,
                    std::span(cells).subspan(i * columns.size(), columns.size()));
  }
  co_return cells;
}

}  // namespace moraine::client
