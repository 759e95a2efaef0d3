// Reading tables.

#include <fmt/format.h>

#include <algorithm>

#include "embed/api_impl.h"
#include "table/model/key.h"
#include "table/model/static_rows.h"
#include "table/model/value_check.h"

namespace moraine {
namespace {

// Reused by all lookups of a thread.
struct LookupMemory {
  std::vector<std::string> keys;
  std::vector<std::string_view> views;
  table::UnfinishedLookup left;
};

LookupMemory& lookup_memory() {
  thread_local LookupMemory memory;
  return memory;
}

// Keys of one lookup that lie in one tablet.
struct RangePart {
  std::vector<std::string_view> keys;
  std::vector<std::uint32_t> positions;
  Rowset rows;
};

// In a transaction the timestamp is its start.
table::LookupRequest request_of(const Table::Impl& table, const ReadOptions& options,
                                bool in_transaction, std::span<const std::string_view> keys) {
  table::LookupRequest request;
  request.keys = keys;
  request.columns = options.columns.all()
                        ? std::span<const std::uint16_t>(table.all_columns)
                        : std::span<const std::uint16_t>(options.columns.indexes());
  request.timestamp = options.timestamp;
  request.retention_timestamp = options.retention_timestamp;
  request.use_lookup_cache = options.use_lookup_cache;
  request.in_transaction = in_transaction;
  return request;
}

Task<Result<void>> finish(std::shared_ptr<table::TableTablet> tablet, table::LookupRequest request,
                          Rowset& rows, table::UnfinishedLookup left) {
  co_return co_await tablet->reader().finish_lookup(request, rows, std::move(left));
}

using TabletPtr = std::shared_ptr<table::TableTablet>;

// Reads the keys that are not in memory: a few blocks on this thread, more on the node's.
Result<void> finish_lookup(embed::DatabaseCore& core, const TabletPtr& tablet,
                           const table::LookupRequest& request, Rowset& rows,
                           table::UnfinishedLookup& left) {
  TRY_VOID(tablet->reader().read_missing_blocks_inline(request, rows, left));
  if (left.keys.empty()) return {};
  return core.get<Result<void>>([&] { return finish(tablet, request, rows, std::move(left)); });
}

// Runs on this thread if everything is in memory.
Result<void> lookup_in(embed::DatabaseCore& core, const OpenTable& open, std::size_t range,
                       const table::LookupRequest& request, Rowset& rows) {
  TRY(const TabletPtr tablet, open.readable(range));
  table::UnfinishedLookup& left = lookup_memory().left;
  TRY_VOID(tablet->reader().try_lookup(request, rows, left));
  if (left.keys.empty()) return {};
  return finish_lookup(core, tablet, request, rows, left);
}

// The same for a table of one range, without changing a reference count when all is in memory.
// Null: done.
Result<TabletPtr> try_single(const OpenTable& open, const table::LookupRequest& request,
                             Rowset& rows, table::UnfinishedLookup& left) {
  const TabletPtr& running = open.ranges[0].running;
  if (!running) return std::unexpected(open.readable(0).error());
  TRY_VOID(running->reader().try_lookup(request, rows, left));
  return left.keys.empty() ? nullptr : running;
}

void copy_row(const Rowset& from, std::size_t at, Rowset& to, std::size_t row) {
  if (!from.exists(at)) return;
  to.set_exists(row);
  Value* cells = to.cells(row);
  for (std::size_t i = 0; i < from.columns(); ++i) cells[i] = to.keep(from.at(at, i));
}

Result<void> lookup_ranges(embed::DatabaseCore& core, const OpenTable& open,
                           table::LookupRequest request, Rowset& rows) {
  std::map<std::size_t, RangePart> parts;
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    RangePart& part = parts[open.range_of(as_bytes(request.keys[i]))];
    part.keys.push_back(request.keys[i]);
    part.positions.push_back(static_cast<std::uint32_t>(i));
  }
  rows.reset(request.keys.size(), request.columns.size());
  for (auto& [range, part] : parts) {
    request.keys = part.keys;
    TRY_VOID(lookup_in(core, open, range, request, part.rows));
    for (std::size_t i = 0; i < part.positions.size(); ++i) {
      copy_row(part.rows, i, rows, part.positions[i]);
    }
  }
  return {};
}

// The schema may have changed since the handle was made.
bool is_altered(const Table::Impl& table, const OpenTable& open) {
  return open.schema != table.schema;
}

std::unexpected<Error> altered(const Table::Impl& table) {
  return fail(Errc::kInvalidArgument,
              fmt::format("the schema of {} has changed: open it again with Database::table()",
                          table.path));
}

Result<void> lookup_encoded(const Table::Impl& table, const table::LookupRequest& request,
                            Rowset& rows) {
  table::UnfinishedLookup& left = lookup_memory().left;
  TabletPtr unfinished;
  bool single = false;
  {
    const EpochGuard guard;
    const OpenTable& open = table.holder->get();
    if (is_altered(table, open)) [[unlikely]]
      return altered(table);
    single = open.ranges.size() == 1;
    if (single) {
      TRY(unfinished, try_single(open, request, rows, left));
    }
  }
  if (!single) {
    const std::shared_ptr<const OpenTable> open = table.holder->hold();
    if (is_altered(table, *open)) return altered(table);
    return lookup_ranges(*table.core, *open, request, rows);
  }
  if (!unfinished) return {};
  return finish_lookup(*table.core, unfinished, request, rows, left);
}

std::unexpected<Error> no_lookups(const Table::Impl& table) {
  return fail(Errc::kInvalidArgument,
              fmt::format("{} does not have unique keys: read it with scans", table.path));
}

// Indexes of another table's columns may be wrong or out of range here.
bool are_of(const Columns& columns, const Table::Impl& table) {
  return columns.all() || columns.table() == table.columns_id;
}

std::unexpected<Error> other_columns(const Table::Impl& table) {
  return fail(Errc::kInvalidArgument,
              fmt::format("the columns were made by another table than {}, or before its schema "
                          "changed: make them by columns() of the table that is read",
                          table.path));
}

// The encoded key prefix where a scan begins or ends.
Result<std::string> encode_bound(const Table::Impl& table, std::span<const Value> values) {
  const TableSchema& schema = *table.schema;
  if (values.size() > schema.key_count()) {
    return fail(Errc::kInvalidArgument, fmt::format("a bound of {} columns; the key of {} has {}",
                                                    values.size(), table.path, schema.key_count()));
  }
  std::string bound;
  table::TextMemory memory;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    if (!value.is_null()) {
      TRY(value, table::to_cell(schema.columns[i], value, {}, memory));
    }
    table::append_key_column(bound, value);
  }
  return bound;
}

}  // namespace

// The common case: values that have the stored type need no checks and no memory.
Result<void> encode_given_key(const Table::Impl& table, Key key, std::string& out) {
  bool plain = key.size() == table.key_types.size();
  for (std::size_t i = 0; plain && i < key.size(); ++i) {
    plain = key[i].type() == table.key_types[i] && key[i].type() != ValueType::kAny &&
            (!key[i].has_text() || key[i].text().size() < table::kKeyBytesMax / 4);
  }
  if (!plain) {
    TRY(out, table::encode_lookup_key(*table.layout, key));
    return {};
  }
  for (const Value& value : key) table::append_key_column(out, value);
  return {};
}

Result<void> Table::read(std::span<const Key> keys, const ReadOptions& options, bool in_transaction,
                         Rowset& rows) const {
  if (!impl_->unique_keys) [[unlikely]]
    return no_lookups(*impl_);
  if (!are_of(options.columns, *impl_)) [[unlikely]]
    return other_columns(*impl_);
  LookupMemory& memory = lookup_memory();
  if (memory.keys.size() < keys.size()) memory.keys.resize(keys.size());
  memory.views.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    memory.keys[i].clear();
    TRY_VOID(encode_given_key(*impl_, keys[i], memory.keys[i]));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) memory.views.push_back(memory.keys[i]);
  return lookup_encoded(*impl_, request_of(*impl_, options, in_transaction, memory.views), rows);
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

Task<Result<void>> Table::read_async(std::vector<std::vector<Value>> keys, ReadOptions options,
                                     bool in_transaction, Rowset& rows) const {
  const std::shared_ptr<const Impl> impl = impl_;
  if (!impl->unique_keys) co_return no_lookups(*impl);
  if (!are_of(options.columns, *impl)) co_return other_columns(*impl);
  std::vector<std::string> encoded(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CO_TRY_VOID(encode_given_key(*impl, keys[i], encoded[i]));
  }
  const std::shared_ptr<const OpenTable> open = impl->holder->hold();
  if (is_altered(*impl, *open)) co_return altered(*impl);
  rows.reset(keys.size(), request_of(*impl, options, in_transaction, {}).columns.size());
  std::map<std::size_t, RangePart> parts;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    RangePart& part = parts[open->range_of(as_bytes(encoded[i]))];
    part.keys.push_back(encoded[i]);
    part.positions.push_back(static_cast<std::uint32_t>(i));
  }
  for (auto& [range, part] : parts) {
    CO_TRY(const std::shared_ptr<table::TableTablet> tablet, open->readable(range));
    const table::LookupRequest request = request_of(*impl, options, in_transaction, part.keys);
    CO_TRY_VOID(co_await tablet->reader().lookup(request, part.rows));
    for (std::size_t i = 0; i < part.positions.size(); ++i) {
      copy_row(part.rows, i, rows, part.positions[i]);
    }
  }
  co_return Result<void>();
}

Task<Result<VersionedResult>> Table::lookup_versions_async(std::vector<Value> key,
                                                           Timestamp timestamp) const {
  const std::shared_ptr<const Impl> impl = impl_;
  if (!impl->unique_keys) co_return no_lookups(*impl);
  std::string encoded;
  CO_TRY_VOID(encode_given_key(*impl, key, encoded));
  const std::shared_ptr<const OpenTable> open = impl->holder->hold();
  if (is_altered(*impl, *open)) co_return altered(*impl);
  CO_TRY(const TabletPtr tablet, open->readable(open->range_of(as_bytes(encoded))));
  CO_TRY(table::OwnedVersionedRow found,
         co_await tablet->reader().lookup_versions(encoded, timestamp, std::nullopt));
  auto kept = std::make_shared<table::OwnedVersionedRow>(std::move(found));
  VersionedResult result;
  result.found = kept->exists;
  result.write_timestamps = kept->row.write_timestamps;
  result.delete_timestamps = kept->row.delete_timestamps;
  for (const table::VersionedValue& value : kept->row.values) {
    result.versions.push_back(
        {impl->schema->columns[value.column].name, value.timestamp, value.aggregate, value.value});
  }
  result.memory = std::move(kept);
  co_return result;
}

Result<VersionedResult> Table::lookup_versions(Key key, Timestamp timestamp) const {
  return impl_->core->get<Result<VersionedResult>>(
      [&] { return lookup_versions_async(std::vector<Value>(key.begin(), key.end()), timestamp); });
}

namespace {

// Converted to the column's type, so that it is compared by value; values of `any` are compared as
// keys are.
Result<Value> filter_value(const ColumnSchema& column, const Value& given) {
  if (given.is_null() || column.type == ColumnType::kAny) return given;
  table::TextMemory memory;  // Numbers need none, and texts remain those of the filter.
  return table::to_cell(column, given, {}, memory);
}

}  // namespace

Result<Scan> Table::scan(ScanOptions options) const {
  if (!are_of(options.read.columns, *impl_)) return other_columns(*impl_);
  auto impl = std::make_unique<Scan::Impl>();
  impl->core = impl_->core;
  impl->table = impl_->holder->hold();
  if (is_altered(*impl_, *impl->table)) return altered(*impl_);
  if (options.timeout.count() <= 0 || options.timeout > kScanTimeoutMax) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("a scan's timeout is above 0 and at most {} ms; {} ms was given",
                    std::chrono::milliseconds(kScanTimeoutMax).count(), options.timeout.count()));
  }
  impl->timeout = options.timeout;
  impl->rows_left = options.row_limit;
  table::ScanRequest& request = impl->request;
  TRY(request.bounds.from, encode_bound(*impl_, options.from));
  TRY(request.bounds.to, encode_bound(*impl_, options.to));
  request.columns =
      options.read.columns.all() ? impl_->all_columns : options.read.columns.indexes();
  request.timestamp = options.read.timestamp;
  request.retention_timestamp = options.read.retention_timestamp;
  for (const Filter& filter : options.filters) {
    const auto column = impl_->schema->find(filter.column);
    if (!column) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("No such column \"{}\" in table {}", filter.column, impl_->path));
    }
    TRY(Value value, filter_value(impl_->schema->columns[*column], filter.value));
    if (value.has_text()) {
      const std::string& kept =
          *impl->texts.emplace_back(std::make_unique<std::string>(value.text()));
      value = value.type() == ValueType::kAny ? Value::any(kept) : Value(kept);
    }
    request.filters.push_back({static_cast<std::uint16_t>(*column), filter.op, value});
  }
  return Scan(std::move(impl));
}

}  // namespace moraine
