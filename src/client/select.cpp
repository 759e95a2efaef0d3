#include "client/select.h"

#include <algorithm>

#include "client/select_run.h"
#include "query/execute/join_conditions.h"
#include "query/ranges/infer.h"
#include "query/syntax/parse.h"

namespace moraine::client {
namespace {

// With the columns of SelectOptions::latest_timestamps.
std::shared_ptr<const TableSchema> with_timestamps(const TableSchema& schema) {
  auto all = std::make_shared<TableSchema>(schema);
  for (const ColumnSchema& column : schema.columns) {
    if (column.key) continue;
    ColumnSchema timestamp;
    timestamp.name = std::string(kTimestampPrefix) + column.name;
    timestamp.type = ColumnType::kUint64;
    all->columns.push_back(std::move(timestamp));
  }
  return all;
}

Task<Result<std::shared_ptr<const Table>>> open_table(SelectContext& context,
                                                      const std::string& path) {
  if (context.options.open_table) co_return co_await context.options.open_table(path);
  CO_TRY(Table table, context.client.open(path));
  co_return std::make_shared<const Table>(std::move(table));
}

Task<Result<void>> plan_select(SelectContext& context, std::string_view query) {
  const SelectOptions& options = context.options;
  CO_TRY(const query::SelectQuery parsed,
         query::parse_query(query, {.syntax_version = options.bind.syntax_version}));
  query::Schemas schemas;
  for (const std::string& path : query::table_paths(parsed)) {
    CO_TRY(const std::shared_ptr<const Table> table, co_await open_table(context, path));
    schemas[path] = options.latest_timestamps ? with_timestamps(*table->shown) : table->shown;
    context.tables[path] = table;
  }
  CO_TRY(context.plan, query::bind_query(parsed, query, schemas, options.bind));
  if (options.pushdown) {
    query::move_conditions_into_joins(context.plan.root);
    query::add_ranges(context.plan, std::min(options.ranges_max, query::kRangesMax));
  }
  context.statistics.full_scan = query::scans_whole_table(context.plan.root);
  if (!options.allow_full_scan) {
    CO_TRY_VOID(query::refuse_full_scan(context.plan.root));
  }
  co_return Result<void>();
}

}  // namespace

Task<Result<std::unique_ptr<SelectContext>>> open_select(TableClient& client,
                                                         const std::string& query,
                                                         SelectOptions options) {
  Executor& lane = *Executor::current();
  query::QueryLimits limits;
  limits.input_rows_max = options.input_rows_max;
  limits.memory_bytes_max = options.memory_bytes_max;
  limits.fail_when_incomplete = options.fail_on_incomplete_result;
  limits.deadline = lane.now() + options.timeout;
  auto context = std::make_unique<SelectContext>(client, std::move(options), limits);
  CO_TRY_VOID(co_await plan_select(*context, query));
  context->timestamp = context->options.timestamp;
  if (context->timestamp == kSyncLastCommitted) {
    // All parts read at one time.
    const std::optional<Timestamp> now = client.try_timestamp();
    if (now) {
      context->timestamp = *now;
    } else {
      CO_TRY(context->timestamp, co_await client.timestamp());
    }
  }
  context->lanes = client.services().lanes();
  if (context->lanes.empty()) context->lanes.push_back(&lane);
  const std::size_t lanes_max = std::max<std::size_t>(context->options.lanes_max, 1);
  if (context->lanes.size() > lanes_max) context->lanes.resize(lanes_max);
  co_return context;
}

namespace {

class RunningSelection final : public Selection {
 public:
  explicit RunningSelection(std::unique_ptr<SelectContext> context)
      : context_(std::move(context)), run_(*context_) {}

  const std::vector<query::PlanColumn>& columns() const override {
    return context_->plan.root.columns;
  }
  Task<Result<bool>> next(ScanBatch& batch) override;
  const SelectStatistics& statistics() const override { return context_->statistics; }
  void cancel() override { context_->control.cancel(); }

 private:
  Result<void> count_output();
  void show(ScanBatch& out);

  const std::unique_ptr<SelectContext> context_;
  SelectRun run_;
  bool begun_ = false;
  bool ended_ = false;
  query::Batch rows_;
};

Task<Result<bool>> RunningSelection::next(ScanBatch& batch) {
  batch.rows = 0;
  if (ended_) co_return false;
  Executor& lane = *Executor::current();
  const Instant begun = lane.now();
  if (!std::exchange(begun_, true)) {
    CO_TRY_VOID(co_await run_.run_all(context_->plan.root));
  }
  CO_TRY(const bool more, co_await run_.next(rows_));
  if (!more) {
    ended_ = true;
    rows_.rows = 0;
  }
  CO_TRY_VOID(count_output());
  SelectStatistics& statistics = context_->statistics;
  statistics.rows_read = context_->control.rows_read();
  statistics.bytes_read = context_->control.bytes_read();
  statistics.memory_bytes = context_->control.memory_peak();
  statistics.incomplete_input = context_->control.incomplete_input();
  statistics.total_time += lane.now() - begun;
  statistics.execute_time = statistics.total_time - statistics.read_time;
  if (rows_.rows == 0) co_return false;
  show(batch);
  co_return true;
}

Result<void> RunningSelection::count_output() {
  SelectStatistics& statistics = context_->statistics;
  const std::uint64_t rows_max = context_->options.output_rows_max;
  const std::uint64_t left = rows_max - statistics.rows_written;
  if (rows_.rows > left) {
    if (context_->options.fail_on_incomplete_result) {
      return fail(Errc::kOverloaded,
                  fmt::format("the query returns more than {} rows (output_row_limit)", rows_max));
    }
    statistics.incomplete_output = true;
    ended_ = true;
    rows_.rows = static_cast<std::size_t>(left);
  }
  statistics.rows_written += rows_.rows;
  return {};
}

void RunningSelection::show(ScanBatch& out) {
  const std::size_t rows = rows_.rows;
  out.rows = rows;
  out.columns.resize(rows_.columns.size());
  for (std::size_t i = 0; i < rows_.columns.size(); ++i) {
    const query::Column& from = rows_.columns[i];
    ScanBatch::Column& to = out.columns[i];
    to = {.type = from.type, .words = {}, .texts = {}, .nulls = {}};
    if (from.type == ValueType::kNull) continue;
    if (query::is_text(from.type)) {
      to.texts = {from.texts, rows};
    } else {
      to.words = {from.words, rows};
    }
    if (from.nulls != nullptr) to.nulls = {from.nulls, rows};
  }
}

}  // namespace

Task<Result<std::unique_ptr<Selection>>> select(TableClient& client, std::string query,
                                                SelectOptions options) {
  CO_TRY(auto context, co_await open_select(client, query, std::move(options)));
  co_return std::make_unique<RunningSelection>(std::move(context));
}

}  // namespace moraine::client
