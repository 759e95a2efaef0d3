// write_table, concatenate: rows of a static table, added behind those that it has or in their
// place.
#include <fmt/format.h>

#include "client/concatenate.h"
#include "gateway/http/answer_budget.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/mutation.h"
#include "gateway/yt/rich_path.h"
#include "gateway/yt/row_reader.h"

namespace moraine::yt {
namespace {

// Memory of a row beside its texts, about.
constexpr std::size_t kRowMemory = 128;

Task<YtResult<void>> read_rows(Call& call, RowReader& reader, table::StaticRows& rows) {
  http::AnswerRoom room(call.lane.inputs());
  std::size_t bytes = 0;
  for (;;) {
    YT_CO_TRY(const RowReader::Step step, reader.next());
    if (step == RowReader::Step::kEnd) co_return YtResult<void>();
    if (step == RowReader::Step::kNeedsInput) {
      YT_CO_TRY_VOID(take_room(room, bytes));
      YT_CO_TRY_VOID(co_await reader.load());
      continue;
    }
    if (auto added = rows.add(reader.values()); !added) {
      co_return std::unexpected(
          YtError(std::move(added).error().within(fmt::format("row {}", rows.size()))));
    }
    bytes += kRowMemory + reader.text_bytes();
    reader.forget();
  }
}

}  // namespace

Task<YtResult<void>> write_table(Call& call) {
  const YsonNode* const given = call.parameters.find("path");
  if (given == nullptr) co_return refuse(Code::kGeneric, "Missing required parameter /path");
  YT_CO_TRY(const RichPath path, parse_rich_path(*given));
  YT_CO_TRY(const bool append, Parameters(path.attributes).boolean("append", false));
  if (path.ranges || path.columns) {
    co_return refuse(Code::kGeneric, "A table is written without ranges and columns");
  }
  YT_CO_TRY(const std::string stored, co_await table_path(call, path.path, true));
  YT_CO_TRY(const client::Table table, call.lane.tables().open(stored));
  if (table.dynamic) {
    co_return refuse(Code::kGeneric, "\"write_table\" API is not supported for dynamic tables");
  }
  YT_CO_TRY(RowReader reader, RowReader::make(call, *table.shown, RowReader::Shape::kRow));
  YT_CO_TRY(std::shared_ptr<const table::RowLayout> layout, table::RowLayout::make(table.shown));
  const auto rows = std::make_shared<table::StaticRows>(std::move(layout));
  YT_CO_TRY_VOID(co_await read_rows(call, reader, *rows));
  Tables& tables = call.lane.tables().tables();
  if (!append) {
    YT_CO_TRY_VOID(co_await tables.rewrite_static(stored, rows));
  } else if (!rows->empty()) {
    YT_CO_TRY_VOID(co_await tables.write_static(stored, rows));
  }
  if (call.version == 4) call.result = YsonMap();
  co_return YtResult<void>();
}

namespace {

// A table without a choice of its rows or columns.
YtResult<RichPath> whole_table(const YsonNode& given) {
  YT_TRY(RichPath path, parse_rich_path(given));
  if (!path.ranges && !path.columns) return path;
  return refuse(Code::kGeneric, "Tables are concatenated without ranges and columns");
}

}  // namespace

Task<YtResult<void>> concatenate_tables(Call& call) {
  YT_CO_TRY(const bool repeated, co_await begin_mutation(call));
  if (repeated) co_return YtResult<void>();
  const YsonNode* const sources = call.parameters.find("source_paths");
  const YsonNode* const target = call.parameters.find("destination_path");
  const YsonList* const paths = sources != nullptr ? sources->as<YsonList>() : nullptr;
  if (paths == nullptr || target == nullptr) {
    co_return refuse(Code::kGeneric,
                     "Parameters /source_paths, a list, and /destination_path are required");
  }
  if (paths->size() > client::kConcatenatedTablesMax) {
    co_return refuse(Code::kGeneric, fmt::format("{} tables; at most {} are concatenated at once",
                                                 paths->size(), client::kConcatenatedTablesMax));
  }
  YT_CO_TRY(const RichPath into, whole_table(*target));
  YT_CO_TRY(const bool append, Parameters(into.attributes).boolean("append", false));
  YT_CO_TRY(const std::string stored, co_await table_path(call, into.path, true));
  YT_CO_TRY(TablePtr destination, call.lane.open(stored));
  std::vector<TablePtr> tables;
  for (const YsonNode& given : *paths) {
    YT_CO_TRY(const RichPath source, whole_table(given));
    YT_CO_TRY(const std::string found, co_await table_path(call, source.path, false));
    YT_CO_TRY(TablePtr table, call.lane.open(found));
    tables.push_back(std::move(table));
  }
  YT_CO_TRY_VOID(co_await client::concatenate(
      std::move(tables), std::move(destination),
      append ? table::StaticWrite::kAppend : table::StaticWrite::kReplace));
  if (call.version == 4) call.result = YsonMap();
  co_return co_await end_mutation(call);
}

}  // namespace moraine::yt
