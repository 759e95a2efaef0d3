#include "crash/tables/served_tables.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <thread>

namespace moraine::crash {
namespace {

using namespace std::chrono_literals;

constexpr auto kMountPatience = 60s;
constexpr auto kMountPoll = 20ms;
constexpr std::uint64_t kStoreBytes = std::uint64_t{48} << 10;
constexpr std::size_t kFixedColumns = 5;

ColumnSchema column(std::string name, ColumnType type, bool key = false) {
  ColumnSchema made;
  made.name = std::move(name);
  made.type = type;
  made.key = key;
  return made;
}

Result<void> mount_soon(Database& database, const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + kMountPatience;
  for (;;) {
    TRY(const TableReport report, database.run(database.describe_table(path)));
    if (report.state == MountState::kMounted) return {};
    Result<void> done =
        fail(Errc::kReadOnly,
             fmt::format("the table is {}", report.state ? to_string(*report.state) : "mixed"));
    if (report.state == MountState::kFrozen) done = database.run(database.unfreeze_table(path));
    if (report.state == MountState::kUnmounted) done = database.run(database.mount_table(path));
    if (!done && std::chrono::steady_clock::now() > deadline) {
      return std::unexpected(std::move(done).error().within(path));
    }
    if (!done) std::this_thread::sleep_for(kMountPoll);
  }
}

}  // namespace

std::string path_of(std::uint32_t table) {
  return fmt::format("/crash/table{}", table);
}

TableSchema schema_of(std::uint32_t table, std::int64_t extras) {
  TableSchema schema;
  schema.columns = {column("shard", ColumnType::kInt64, true),
                    column("key", ColumnType::kInt64, true), column("tx", ColumnType::kUint64),
                    column("text", ColumnType::kString), column("sum", ColumnType::kInt64)};
  schema.columns[4].aggregate = Aggregate::kSum;
  schema.columns[4].lock = "sum";
  if (table != kKeeper) schema.columns[3].max_inline_hunk_size = 100;
  for (std::int64_t i = 0; i < extras; ++i) {
    schema.columns.push_back(column(fmt::format("extra{}", i), ColumnType::kString));
  }
  return schema;
}

std::int64_t extras_of(const TableSchema& schema) {
  return static_cast<std::int64_t>(schema.columns.size() - kFixedColumns);
}

TableOptions options_of(std::uint32_t table) {
  TableOptions options;
  TableMountOptions& mount = options.mount;
  mount.max_dynamic_store_bytes = kStoreBytes;
  mount.min_partition_data_size = std::uint64_t{64} << 10;
  mount.desired_partition_data_size = std::uint64_t{128} << 10;
  mount.max_partition_data_size = std::uint64_t{256} << 10;
  mount.min_data_ttl = table == kKeeper ? std::chrono::milliseconds(24h) : 1s;
  mount.max_data_ttl = mount.min_data_ttl;
  options.block_size = 2'048;
  if (table == kKeeper) {
    mount.lookup_cache_rows_per_tablet = 200;
    mount.enable_lookup_cache_by_default = true;
  } else if (table == kSums) {
    options.in_memory_mode = InMemoryMode::kUncompressed;
    mount.merge_rows_on_flush = true;
  } else {
    options.optimize_for = OptimizeFor::kScan;
    options.compression_codec = "zstd_1";
  }
  return options;
}

std::vector<std::vector<Value>> draw_pivots(Random& random) {
  std::vector<std::vector<Value>> pivots;
  for (std::int64_t shard = 1; shard < kShards; ++shard) {
    if (!random.one_in(2)) continue;
    std::vector<Value> pivot = {Value(shard)};
    if (random.one_in(3)) {
      pivot.emplace_back(static_cast<std::int64_t>(random.below(kKeysPerShard)));
    }
    pivots.push_back(std::move(pivot));
    if (pivots.size() == 3) break;
  }
  return pivots;
}

Result<void> bring_up(Database& database) {
  const std::vector<std::vector<Value>> pivots = {{Value(2)}, {Value(4)}};
  for (std::uint32_t table = 0; table < kTables; ++table) {
    const std::string path = path_of(table);
    const auto created =
        database.run(database.create_table(path, schema_of(table, 0), options_of(table), pivots));
    if (!created && created.error().code != Errc::kAlreadyExists) return created;
    TRY_VOID(mount_soon(database, path));
  }
  return {};
}

Result<void> add_change(Transaction& transaction, const Table& table, std::uint64_t id,
                        const RowChangeReport& change) {
  const std::vector<Value> key = {Value(change.row.shard), Value(change.row.key)};
  if (change.kind == RowChangeKind::kDelete) return transaction.remove(table, Key(key));
  std::vector<NamedValue> row = {{"shard", key[0]}, {"key", key[1]}};
  WriteOptions options;
  if (change.kind == RowChangeKind::kDelta) {
    options.update = true;
    options.aggregate = true;
    options.shared_write = true;
    row.push_back({"sum", Value(change.argument)});
    return transaction.insert(table, row, options);
  }
  const std::string text = text_of(id, change.row);
  const std::string extra = fmt::format("extra{}", change.argument - 1);
  row.push_back({"tx", Value(id)});
  row.push_back({"text", Value(std::string_view(text))});
  if (change.argument > 0) row.push_back({extra, Value(std::string_view(text))});
  return transaction.insert(table, row, options);
}

Result<RowState> state_of(const TableSchema& schema, const RowName& row,
                          std::span<const Value> cells) {
  RowState state;
  if (!cells[4].is_null()) state.sum = cells[4].as_int64();
  if (!cells[2].is_null()) state.writer = cells[2].as_uint64();
  const std::string expected = state.writer ? text_of(*state.writer, row) : std::string();
  const bool has_text = !cells[3].is_null();
  if (has_text != state.writer.has_value() || (has_text && cells[3].text() != expected)) {
    return fail(Errc::kCorrupt, "its text is not what its transaction wrote");
  }
  for (std::int64_t i = 0; i < extras_of(schema); ++i) {
    const Value& extra = cells[kFixedColumns + static_cast<std::size_t>(i)];
    if (extra.is_null()) continue;
    if (state.extra != 0 || !state.writer || extra.text() != expected) {
      return fail(Errc::kCorrupt, fmt::format("extra{} is not what its transaction wrote", i));
    }
    state.extra = i + 1;
  }
  return state;
}

}  // namespace moraine::crash
