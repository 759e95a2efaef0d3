#include "client/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "client/table_client.h"
#include "client/versioned_lookup.h"
#include "io/run_on.h"
#include "table/model/key.h"
#include "table/model/value_check.h"

namespace moraine::client {
namespace {

// The encoded key of positional values. kInvalidArgument: wrong number or type of values. The
// common case: values that have the stored type need no checks and no memory.
Result<void> encode_given_key(const Table& table, Key key, std::string& out) {
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

std::unexpected<Error> no_lookups(const Table& table) {
  return fail(Errc::kInvalidArgument,
              fmt::format("{} does not have unique keys: read it with scans", table.path));
}

// The range of all keys when one has them all and is read here.
std::optional<std::size_t> single_range(const OpenTable& open,
                                        std::span<const std::string_view> keys) {
  std::size_t range = 0;
  if (open.ranges.size() > 1) {
    if (keys.empty()) return std::nullopt;
    range = open.range_of(as_bytes(keys.front()));
    for (const std::string_view key : keys.subspan(1)) {
      if (open.range_of(as_bytes(key)) != range) return std::nullopt;
    }
  }
  if (open.ranges[range].read_elsewhere()) return std::nullopt;
  return range;
}

// Without changing a reference count when all is in memory: lanes that read one table would wait
// for each other's changes of it. Null: done.
Result<Lookup::TabletPtr> try_single(const OpenTable& open, std::size_t range,
                                     const table::LookupRequest& request, Rowset& rows,
                                     table::UnfinishedLookup& left) {
  const Lookup::TabletPtr& running = open.ranges[range].running;
  if (!running) return std::unexpected(open.readable(range).error());
  TRY_VOID(running->reader().try_lookup(request, rows, left));
  return left.keys.empty() ? nullptr : running;
}

void copy_row(const Rowset& from, std::size_t at, Rowset& to, std::size_t row) {
  if (!from.exists(at)) return;
  to.set_exists(row);
  Value* cells = to.cells(row);
  for (std::size_t i = 0; i < from.columns(); ++i) cells[i] = to.keep(from.at(at, i));
}

}  // namespace

Result<void> Lookup::encode(std::span<const Key> keys) {
  if (memory_.keys.size() < keys.size()) memory_.keys.resize(keys.size());
  memory_.views.clear();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    memory_.keys[i].clear();
    TRY_VOID(encode_given_key(table_, keys[i], memory_.keys[i]));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) memory_.views.push_back(memory_.keys[i]);
  return {};
}

Result<bool> Lookup::start(std::span<const Key> keys, const ReadOptions& options,
                           bool in_transaction, Rowset& rows, Blocking blocking) {
  if (!table_.unique_keys) [[unlikely]]
    return no_lookups(table_);
  if (!table_.owns(options.columns)) [[unlikely]]
    return table_.other_columns();
  TRY_VOID(encode(keys));
  request_.keys = memory_.views;
  request_.columns = table_.indexes_of(options.columns);
  request_.timestamp = options.timestamp;
  request_.retention_timestamp = options.retention_timestamp;
  request_.use_lookup_cache = options.use_lookup_cache;
  request_.in_transaction = in_transaction;
  rows_ = &rows;
  std::optional<std::size_t> range;
  {
    const EpochGuard guard;
    const OpenTable& open = table_.holder->get();
    if (table_.is_altered(open)) [[unlikely]]
      return table_.altered();
    range = single_range(open, request_.keys);
    if (range) {
      TRY(tablet_, try_single(open, *range, request_, rows, memory_.left));
    }
  }
  if (!range) return start_parts(blocking);
  if (!tablet_) return true;
  if (blocking == Blocking::kForDisk) {
    TRY_VOID(tablet_->reader().read_missing_blocks_inline(request_, rows, memory_.left));
  }
  return memory_.left.keys.empty();
}

Result<bool> Lookup::start_parts(Blocking blocking) {
  const std::shared_ptr<const OpenTable> open = table_.holder->hold();
  if (table_.is_altered(*open)) return table_.altered();
  std::map<std::size_t, Part> parts;  // By range.
  for (std::size_t i = 0; i < request_.keys.size(); ++i) {
    Part& part = parts[open->range_of(as_bytes(request_.keys[i]))];
    part.keys.push_back(request_.keys[i]);
    part.positions.push_back(static_cast<std::uint32_t>(i));
  }
  rows_->reset(request_.keys.size(), request_.columns.size());
  for (auto& [range, part] : parts) {
    if (open->ranges[range].read_elsewhere()) {
      part.elsewhere = open->ranges[range].tablet;
      parts_.push_back(std::move(part));
      continue;
    }
    TRY(part.tablet, open->readable(range));
    TRY(const bool done, start_part(part, blocking));
    if (done) {
      copy_rows(part);
    } else {
      parts_.push_back(std::move(part));
    }
  }
  return parts_.empty();
}

Result<bool> Lookup::start_part(Part& part, Blocking blocking) {
  const table::TabletReader& reader = part.tablet->reader();
  const table::LookupRequest request = request_of(part);
  TRY_VOID(reader.try_lookup(request, part.rows, part.left));
  if (!part.left.keys.empty() && blocking == Blocking::kForDisk) {
    TRY_VOID(reader.read_missing_blocks_inline(request, part.rows, part.left));
  }
  return part.left.keys.empty();
}

table::LookupRequest Lookup::request_of(const Part& part) const {
  table::LookupRequest request = request_;
  request.keys = part.keys;
  return request;
}

void Lookup::copy_rows(const Part& part) {
  for (std::size_t i = 0; i < part.positions.size(); ++i) {
    copy_row(part.rows, i, *rows_, part.positions[i]);
  }
}

Task<Result<void>> Lookup::finish() {
  if (tablet_) {
    co_return co_await run_there(tablet_->executor(), [this] {
      return tablet_->reader().finish_lookup(request_, *rows_, std::move(memory_.left));
    });
  }
  for (Part& part : parts_) {
    CO_TRY_VOID(co_await finish_part(part));
    copy_rows(part);
  }
  co_return Result<void>();
}

Task<Result<void>> Lookup::finish_part(Part& part) {
  const table::LookupRequest request = request_of(part);
  if (!part.tablet) {
    TableClient& client = *table_.client;
    co_return co_await client.services().reads().lookup(part.elsewhere, table_.schema, request,
                                                        part.rows,
                                                        client.executor().now() + kLookupTimeout);
  }
  co_return co_await run_there(part.tablet->executor(), [&] {
    return part.tablet->reader().finish_lookup(request, part.rows, std::move(part.left));
  });
}

namespace {

// Of one thread, for its next lookup: one that ends at once allocates nothing for its keys.
constexpr std::size_t kSpareKeysMax = 32;
std::unique_ptr<PendingLookup>& spare_lookup() {
  thread_local std::unique_ptr<PendingLookup> spare;
  return spare;
}

// Whether a tablet that fails with this may answer later, or elsewhere.
bool is_unavailable(Errc code) {
  switch (code) {
    case Errc::kReadOnly:
    case Errc::kNotHere:
    case Errc::kUnavailable:
    case Errc::kTimeout:
    case Errc::kOverloaded:
    case Errc::kIo:
    case Errc::kCorrupt: return true;
    default: return false;
  }
}

template <class Keys>
StartedLookup start_with(const Table& table, const Keys& keys, ReadOptions options,
                         bool in_transaction, Rowset& rows) {
  std::unique_ptr<PendingLookup>& spare = spare_lookup();
  std::unique_ptr<PendingLookup> pending =
      spare ? std::move(spare) : std::make_unique<PendingLookup>();
  pending->keys.assign(keys.begin(), keys.end());
  pending->options = std::move(options);
  Lookup& lookup = pending->lookup.emplace(table, pending->memory);
  const auto done =
      lookup.start(pending->keys, pending->options, in_transaction, rows, Lookup::Blocking::kNever);
  if (done && !*done) return {{}, std::move(pending)};
  pending->lookup.reset();
  if (keys.size() <= kSpareKeysMax) {
    pending->options = {};
    pending->memory.left = {};
    spare = std::move(pending);
  }
  if (!done) return {std::unexpected(done.error()), nullptr};
  return {};
}

}  // namespace

StartedLookup start_lookup(const Table& table, std::span<const std::vector<Value>> keys,
                           ReadOptions options, bool in_transaction, Rowset& rows) {
  return start_with(table, keys, std::move(options), in_transaction, rows);
}

StartedLookup start_lookup(const Table& table, std::span<const Key> keys, ReadOptions options,
                           bool in_transaction, Rowset& rows) {
  return start_with(table, keys, std::move(options), in_transaction, rows);
}

Task<Result<void>> finish_lookup(StartedLookup started) {
  if (!started.rest) co_return std::move(started.result);
  co_return co_await started.rest->lookup->finish();
}

Result<std::vector<std::string>> encode_keys(const Table& table,
                                             std::span<const std::vector<Value>> keys) {
  if (!table.unique_keys) return no_lookups(table);
  std::vector<std::string> encoded(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    TRY_VOID(encode_given_key(table, keys[i], encoded[i]));
  }
  return encoded;
}

Task<Result<std::vector<std::uint32_t>>> lookup_available(std::shared_ptr<const Table> table,
                                                          std::vector<std::vector<Value>> keys,
                                                          ReadOptions options, bool in_transaction,
                                                          Rowset& rows) {
  CO_TRY(const std::vector<std::string> encoded, encode_keys(*table, keys));
  std::map<std::size_t, std::vector<std::uint32_t>> by_range;
  {
    const std::shared_ptr<const OpenTable> open = table->holder->hold();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      by_range[open->range_of(as_bytes(encoded[i]))].push_back(static_cast<std::uint32_t>(i));
    }
  }
  rows.reset(keys.size(), table->indexes_of(options.columns).size());
  std::vector<std::uint32_t> unavailable;
  for (const auto& [range, positions] : by_range) {
    std::vector<std::vector<Value>> part;
    for (const std::uint32_t at : positions) part.push_back(keys[at]);
    Rowset found;
    const auto done = co_await lookup(table, part, options, in_transaction, found);
    if (!done && !is_unavailable(done.error().code)) co_return std::unexpected(done.error());
    if (!done) {
      unavailable.insert(unavailable.end(), positions.begin(), positions.end());
      continue;
    }
    for (std::size_t i = 0; i < positions.size(); ++i) copy_row(found, i, rows, positions[i]);
  }
  std::ranges::sort(unavailable);
  co_return unavailable;
}

Task<Result<VersionedResult>> lookup_versions(std::shared_ptr<const Table> table,
                                              std::vector<Value> key, Timestamp timestamp) {
  VersionedLookupOptions options;
  options.timestamp = timestamp;
  std::vector<std::vector<Value>> keys;
  keys.push_back(std::move(key));
  CO_TRY(std::vector<VersionedResult> found,
         co_await lookup_versions(std::move(table), std::move(keys), std::move(options)));
  co_return std::move(found.front());
}

}  // namespace moraine::client
