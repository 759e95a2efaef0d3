// select_rows, explain_query: queries over dynamic tables.
#include <fmt/format.h>

#include "client/select.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/row_writer.h"
#include "io/run_on.h"
#include "query/function/sketch.h"

namespace moraine::yt {
namespace {

constexpr std::uint64_t kInputRowsDefault = 1'000'000'000;
constexpr std::uint64_t kRangesMost = 200'000;

YtResult<void> read_dialect(const Parameters& given, query::BindOptions& bind) {
  YT_TRY(const std::uint64_t syntax, given.count_or("syntax_version", 1));
  YT_TRY(const std::uint64_t builder, given.count_or("expression_builder_version", 1));
  if (syntax < 1 || syntax > 3) return refuse(Code::kGeneric, "Invalid syntax version");
  if (builder < 1 || builder > 2) {
    return refuse(Code::kGeneric, "Invalid expression builder version");
  }
  YT_TRY(const std::uint64_t precision, given.count_or("hyper_log_log_precision", 0));
  if (precision != 0 && (precision < query::kPrecisionMin || precision > query::kPrecisionMax)) {
    return refuse(Code::kGeneric, "hyper_log_log_precision must be 7 to 14");
  }
  bind.hyper_log_log_precision = static_cast<std::uint8_t>(precision);
  bind.syntax_version = static_cast<int>(syntax);
  bind.expression_builder_version = static_cast<int>(builder);
  YT_TRY(bind.canonical_null_relations, given.boolean("use_canonical_null_relations", false));
  YT_TRY(bind.allow_join_without_index, given.boolean("allow_join_without_index", false));
  if (const YsonNode* values = given.find("placeholder_values")) {
    bind.placeholders = values->as<YsonMap>();
    if (bind.placeholders == nullptr) {
      return refuse(Code::kGeneric, "placeholder_values must be a map");
    }
  }
  return {};
}

YtResult<void> read_limits(const Parameters& given, client::SelectOptions& options) {
  YT_TRY(options.input_rows_max, given.count_or("input_row_limit", kInputRowsDefault));
  YT_TRY(options.output_rows_max,
         given.count_or("output_row_limit", client::kSelectOutputRowsDefault));
  YT_TRY(const std::uint64_t ranges, given.count_or("range_expansion_limit", kRangesMost));
  options.ranges_max = std::min(ranges, kRangesMost);
  YT_TRY(options.allow_full_scan, given.boolean("allow_full_scan", true));
  YT_TRY(options.fail_on_incomplete_result, given.boolean("fail_on_incomplete_result", true));
  YT_TRY(const auto timeout, given.duration("timeout"));
  if (timeout) {
    if (timeout->count() <= 0) return refuse(Code::kGeneric, "The timeout must be positive");
    options.timeout = std::min<std::chrono::milliseconds>(*timeout, kScanTimeoutMax);
  }
  return {};
}

// Reads of a client's transaction are at its start.
Task<YtResult<void>> enter_transaction(Call& call, client::SelectOptions& options) {
  YT_CO_TRY(const auto id, call.parameters.id("transaction_id"));
  if (!id) co_return YtResult<void>();
  if (object_type(*id) != ObjectType::kTabletTransaction) co_return no_sticky_transaction(*id);
  YT_CO_TRY(DoorLane* const lane, call.lane.lane_of(*id));
  co_return co_await run_there(lane->world().executor, [&]() -> Task<YtResult<void>> {
    YT_CO_TRY(client::Transaction* const open, lane->transactions().use(*id));
    if (open->atomic()) options.timestamp = open->start();
    co_return YtResult<void>();
  });
}

Task<YtResult<client::SelectOptions>> read_options(Call& call) {
  client::SelectOptions options;
  const Parameters& given = call.parameters;
  YT_CO_TRY_VOID(read_dialect(given, options.bind));
  YT_CO_TRY_VOID(read_limits(given, options));
  YT_CO_TRY(const std::uint64_t timestamp, given.count_or("timestamp", kNullTimestamp));
  if (timestamp != kNullTimestamp) options.timestamp = timestamp;
  YT_CO_TRY(options.retention_timestamp, given.count_or("retention_timestamp", kNullTimestamp));
  if (options.retention_timestamp > options.timestamp) {
    co_return refuse(Code::kTimestampRange,
                     fmt::format("Retention timestamp {} is greater than read timestamp {}",
                                 options.retention_timestamp, options.timestamp));
  }
  YT_CO_TRY(options.latest_timestamps, latest_timestamps(given));
  YT_CO_TRY(const client::TreeScope scope, table_scope(call));
  options.open_table = [&lane = call.lane, scope](std::string path) {
    return lane.open_table(scope, std::move(path));
  };
  YT_CO_TRY_VOID(co_await enter_transaction(call, options));
  co_return options;
}

YsonMap to_yson(const client::SelectStatistics& statistics) {
  const auto microseconds = [](std::chrono::nanoseconds time) {
    return static_cast<std::int64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  };
  const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  YsonMap map;
  map.set("rows_read", number(statistics.rows_read));
  map.set("data_weight_read", number(statistics.bytes_read));
  map.set("rows_written", number(statistics.rows_written));
  map.set("grouped_row_count", number(statistics.rows_grouped));
  map.set("memory_usage", number(statistics.memory_bytes));
  map.set("read_time", microseconds(statistics.read_time));
  map.set("execute_time", microseconds(statistics.execute_time));
  map.set("async_time", microseconds(statistics.total_time));
  map.set("sync_time", std::int64_t{0});
  map.set("write_time", std::int64_t{0});
  map.set("codegen_time", std::int64_t{0});
  map.set("wait_on_ready_event_time", std::int64_t{0});
  map.set("incomplete_input", statistics.incomplete_input);
  map.set("incomplete_output", statistics.incomplete_output);
  map.set("query_count", number(statistics.parts));
  map.set("inner_statistics", YsonList());
  return map;
}

Task<YtResult<void>> answer_rows(client::Selection& selection, RowWriter& out) {
  const std::vector<query::PlanColumn>& columns = selection.columns();
  for (ScanBatch batch;;) {
    YT_CO_TRY(const bool more, co_await selection.next(batch));
    if (!more) co_return co_await out.flush();
    for (std::size_t row = 0; row < batch.rows; ++row) {
      out.begin_row();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        out.cell(columns[i].name, batch.columns[i].at(row));
      }
      out.end_row();
      if (out.is_full()) YT_CO_TRY_VOID(co_await out.flush());
    }
  }
}

}  // namespace

Task<YtResult<void>> select_rows(Call& call) {
  YT_CO_TRY(std::string query, call.parameters.text("query"));
  YT_CO_TRY(const bool with_statistics, call.parameters.boolean("enable_statistics", false));
  YT_CO_TRY(client::SelectOptions options, co_await read_options(call));
  RowWriter out(*call.output);
  YT_CO_TRY_VOID(out.open(call.output_format));
  YT_CO_TRY(const std::unique_ptr<client::Selection> selection,
            co_await client::select(call.lane.tables(), std::move(query), std::move(options)));
  YT_CO_TRY_VOID(co_await answer_rows(*selection, out));
  // Of a long answer the header is sent already.
  if (with_statistics) call.response_parameters = to_yson(selection->statistics());
  co_return YtResult<void>();
}

Task<YtResult<void>> explain_query(Call& call) {
  YT_CO_TRY(std::string query, call.parameters.text("query"));
  YT_CO_TRY(client::SelectOptions options, co_await read_options(call));
  YT_CO_TRY(options.analyze, call.parameters.boolean("analyze", false));
  YT_CO_TRY(call.result,
            co_await client::explain(call.lane.tables(), std::move(query), std::move(options)));
  co_return YtResult<void>();
}

}  // namespace moraine::yt
