#include "sim/query/query_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/table_changes.h"
#include "io/sync.h"

namespace moraine::sim {
namespace {

constexpr std::uint32_t kSegmentBytes = 32u << 20;
constexpr std::size_t kSegments = 64;
constexpr Duration kStartTime = 60s;
constexpr Duration kStartStep = 10ms;

SimOptions sim_options() {
  SimOptions options;
  options.jitter_max = 50us;
  return options;
}

std::vector<NamedValue> named(const TableSchema& schema, const query::Row& row, bool key_only) {
  std::vector<NamedValue> cells;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    if (!column.expression.empty() || (key_only && !column.key)) continue;
    cells.emplace_back(column.name, row[i]);
  }
  return cells;
}

}  // namespace

QueryNode::QueryNode(std::uint64_t seed, std::size_t lanes)
    : random_(seed), world_(seed, sim_options()), machine_(world_.add_node()), lanes_(lanes) {
  start();
}

QueryNode::~QueryNode() {
  stop();
  world_.shutdown();
}

void QueryNode::start() {
  blob::ClusterConfig config = blob::single_node_config("device", kSegments * kSegmentBytes);
  config.nodes[0].id = machine_.id();
  config.nodes[0].devices[0].segment_size = kSegmentBytes;
  config.groups[0].disks[0].node = machine_.id();
  node_ = std::make_unique<Node>(machine_.lanes(lanes_), machine_.world().executor,
                                 std::move(config), machine_.id(), NodeOptions{});
  const auto begun = run<Result<void>>(0, [this] { return begin(); });
  INVARIANT(begun, "a node of queries does not start: {}", begun.error().message());
  tables_ = std::make_unique<LaneTables>(node_->tables().tables(), node_->lane(0).executor);
  client_ =
      std::make_unique<client::TableClient>(node_->lane(0).executor, *tables_, node_->tables());
}

Task<Result<void>> QueryNode::begin() {
  const Instant deadline = world_.executor().now() + kStartTime;
  CO_TRY_VOID(co_await node_->open());
  CO_TRY_VOID(co_await node_->locate_system(deadline));
  CO_TRY_VOID(co_await node_->start(deadline));
  CO_TRY_VOID(co_await node_->wait_transactions(deadline));
  // Tablets of tables start in the background.
  while (!node_->not_ready().empty()) {
    if (world_.executor().now() > deadline) {
      co_return fail(Errc::kTimeout, node_->not_ready().front());
    }
    co_await sleep_for(node_->lane(0).executor, kStartStep);
  }
  co_return Result<void>();
}

void QueryNode::stop() {
  client_.reset();
  run<bool>(0, [this]() -> Task<bool> {
    co_await node_->stop();
    co_return true;
  });
  tables_.reset();
  node_.reset();
}

TableOptions QueryNode::random_options() {
  static constexpr const char* kCodecs[] = {"none", "lz4", "zstd_3", "snappy", "zlib_6"};
  TableOptions options;
  options.optimize_for = random_.one_in(2) ? OptimizeFor::kScan : OptimizeFor::kLookup;
  options.compression_codec = kCodecs[random_.below(std::size(kCodecs))];
  options.key_filter = random_.one_in(2);
  // Blocks of a few rows.
  if (random_.one_in(3)) options.block_size = 512;
  options.mount.enable_compaction_and_partitioning = random_.one_in(2);
  if (random_.one_in(2)) options.mount.lookup_cache_rows_per_tablet = 20;
  options.mount.enable_lookup_cache_by_default = random_.one_in(2);
  return options;
}

std::vector<std::vector<Value>> QueryNode::random_pivots(const QueryTable& table) {
  std::vector<std::vector<Value>> pivots;
  const std::size_t wanted = random_.below(4);
  for (std::size_t i = 0; i < wanted && !table.rows.empty(); ++i) {
    const query::Row& row = table.rows[random_.below(table.rows.size())];
    const std::size_t width = 1 + random_.below(table.schema->key_count());
    pivots.emplace_back(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(width));
  }
  const auto less = [](const std::vector<Value>& a, const std::vector<Value>& b) {
    return std::ranges::lexicographical_compare(
        a, b, [](const Value& x, const Value& y) { return compare(x, y) < 0; });
  };
  std::ranges::sort(pivots, less);
  const auto equal = std::ranges::unique(
      pivots, [&](const auto& a, const auto& b) { return !less(a, b) && !less(b, a); });
  pivots.erase(equal.begin(), equal.end());
  return pivots;
}

Result<void> QueryNode::create(const QueryTable& table) {
  NewTable made;
  made.schema = *table.schema;
  made.options = random_options();
  auto pivots = random_pivots(table);
  layout_ += fmt::format("  {}: {}, {}, {} tablets, blocks of {}, cache of {}", table.path,
                         made.options.optimize_for == OptimizeFor::kScan ? "scan" : "lookup",
                         made.options.compression_codec, pivots.size() + 1, made.options.block_size,
                         made.options.mount.lookup_cache_rows_per_tablet);
  return run<Result<void>>(1 % lanes_, [&] {
    return client::create_table(*tables_, scheme_path(table.path), made, pivots);
  });
}

Task<Result<void>> QueryNode::write_rows(const QueryTable& table,
                                         std::span<const query::Row> rows) {
  CO_TRY(const client::Table opened, client_->open(table.path));
  CO_TRY(client::Transaction transaction, co_await client_->begin({}, random_));
  for (const query::Row& row : rows) {
    const auto cells = named(*table.schema, row, /*key_only=*/false);
    CO_TRY_VOID(transaction.insert(opened, cells, {}));
  }
  const auto done = co_await transaction.commit();
  if (!done) co_return std::unexpected(done.error());
  co_return Result<void>();
}

Task<Result<void>> QueryNode::remove_rows(const QueryTable& table,
                                          std::span<const query::Row> rows) {
  CO_TRY(const client::Table opened, client_->open(table.path));
  CO_TRY(client::Transaction transaction, co_await client_->begin({}, random_));
  for (const query::Row& row : rows) {
    std::vector<Value> key;
    for (std::size_t i = 0; i < table.schema->key_count(); ++i) {
      if (table.schema->columns[i].expression.empty()) key.push_back(row[i]);
    }
    CO_TRY_VOID(transaction.remove(opened, key));
  }
  const auto done = co_await transaction.commit();
  if (!done) co_return std::unexpected(done.error());
  co_return Result<void>();
}

Result<void> QueryNode::flush(const std::string& path) {
  layout_ += ", flush";
  return run<Result<void>>(1 % lanes_,
                           [&] { return client::flush_table(*tables_, scheme_path(path)); });
}

Result<void> QueryNode::compact(const std::string& path) {
  layout_ += ", compaction";
  return run<Result<void>>(1 % lanes_,
                           [&] { return client::compact_table(*tables_, scheme_path(path)); });
}

// In several transactions, with flushes between them.
Result<void> QueryNode::write(const QueryTable& table, std::span<const query::Row> rows) {
  const std::size_t parts = 1 + random_.below(3);
  const std::size_t step = rows.size() / parts + 1;
  for (std::size_t first = 0; first < rows.size(); first += step) {
    const auto part = rows.subspan(first, std::min(step, rows.size() - first));
    layout_ += fmt::format(", {} rows", part.size());
    TRY_VOID(run<Result<void>>(1 % lanes_, [&] { return write_rows(table, part); }));
    if (random_.one_in(2)) {
      TRY_VOID(flush(table.path));
    }
  }
  return {};
}

Result<void> QueryNode::load(const QueryTables& tables) {
  for (const QueryTable& table : tables.tables) {
    paths_.push_back(table.path);
    TRY_VOID(create(table));
    // Versions that are overwritten, rows that are deleted.
    const std::size_t keys = table.schema->key_count();
    std::vector<query::Row> older;
    std::vector<query::Row> gone;
    for (const query::Row& row : table.rows) {
      if (!random_.one_in(3)) continue;
      older.push_back(row);
      older.back()[keys] = std::int64_t{77};
    }
    for (std::size_t i = random_.below(5); i > 0 && !table.rows.empty(); --i) {
      query::Row row = table.rows[random_.below(table.rows.size())];
      const ValueType type = row[keys - 1].type();
      if (type == ValueType::kNull) continue;
      row[keys - 1] = random_value(random_, type, /*wrapping=*/false);
      gone.push_back(std::move(row));
    }
    if (random_.one_in(2)) {
      TRY_VOID(write(table, older));
    }
    if (!gone.empty() && random_.one_in(2)) {
      TRY_VOID(write(table, gone));
      layout_ += ", deletes";
      TRY_VOID(run<Result<void>>(1 % lanes_, [&] { return remove_rows(table, gone); }));
      if (random_.one_in(3)) {
        TRY_VOID(flush(table.path));
      }
    }
    TRY_VOID(write(table, table.rows));
    if (random_.one_in(4)) {
      TRY_VOID(compact(table.path));
    }
    layout_ += "\n";
  }
  return {};
}

Result<void> QueryNode::change_layout() {
  layout_ += "  later:";
  switch (random_.below(4)) {
    case 0:
      for (const std::string& path : paths_) {
        TRY_VOID(flush(path));
      }
      break;
    case 1:
      for (const std::string& path : paths_) {
        TRY_VOID(compact(path));
      }
      break;
    case 2:
      layout_ += " restart";
      stop();
      start();
      break;
    default: break;
  }
  layout_ += "\n";
  return {};
}

}  // namespace moraine::sim
