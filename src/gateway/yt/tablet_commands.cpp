// Commands that tell about the tablets of a table.
#include <fmt/format.h>

#include <algorithm>

#include "client/table_attributes.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"

namespace moraine::yt {
namespace {

Task<YtResult<TableDescription>> describe(Call& call, bool with_figures) {
  YT_CO_TRY(std::string given, path_of(call));
  YT_CO_TRY(std::string path, co_await table_path(call, std::move(given), false));
  Tables& tables = call.lane.tables().tables();
  if (with_figures) {
    YT_CO_TRY(TableDescription table, co_await tables.describe(std::move(path)));
    co_return table;
  }
  YT_CO_TRY(TableDescription table, co_await tables.inspect(std::move(path)));
  co_return table;
}

// A pivot as a list of values, or as a map by column.
YtResult<YsonNode> pivot_node(const TableSchema& schema, const std::string& pivot, bool as_list) {
  YT_TRY(YsonNode key, client::pivot_to_yson(pivot));
  if (as_list) return key;
  YsonMap map;
  const YsonList& values = *key.as<YsonList>();
  for (std::size_t i = 0; i < values.size() && i < schema.columns.size(); ++i) {
    map.set(schema.columns[i].name, values[i]);
  }
  return map;
}

}  // namespace

Task<YtResult<void>> get_tablet_infos(Call& call) {
  YT_CO_TRY(const TableDescription table, co_await describe(call, true));
  const YsonNode* const given = call.parameters.find("tablet_indexes");
  const YsonList* const indexes = given == nullptr ? nullptr : given->as<YsonList>();
  if (indexes == nullptr) {
    co_return refuse(Code::kGeneric, "Missing required parameter /tablet_indexes");
  }
  if (indexes->size() > kTabletsPerTableMax) co_return refuse(Code::kGeneric, "Too many indexes");
  YsonList infos;
  for (const YsonNode& index : *indexes) {
    YT_CO_TRY(const std::uint64_t at, count_of(index, "tablet_indexes"));
    if (at >= table.figures.size()) {
      co_return refuse(Code::kGeneric, fmt::format("Tablet index {} is out of range [0, {})", at,
                                                   table.figures.size()));
    }
    const table::TabletStatistics& figures = table.figures[at];
    YsonMap info;
    info.set("total_row_count", static_cast<std::int64_t>(figures.total_rows));
    info.set("trimmed_row_count", static_cast<std::int64_t>(figures.trimmed_rows));
    info.set("delayed_lockless_row_count", std::int64_t{0});
    info.set("barrier_timestamp", figures.unflushed);
    info.set("last_write_timestamp", figures.last_commit);
    infos.emplace_back(std::move(info));
  }
  call.answer("tablets", std::move(infos));
  co_return YtResult<void>();
}

Task<YtResult<void>> get_tablet_errors(Call& call) {
  YT_CO_TRY(const TableDescription table, co_await describe(call, true));
  YT_CO_TRY(const std::uint64_t limit, call.parameters.count_or("limit", 200));
  YsonMap errors;
  bool incomplete = false;
  for (std::size_t i = 0; i < table.figures.size() && i < table.record.tablets.size(); ++i) {
    const std::string& text = table.figures[i].error;
    if (text.empty()) continue;
    if (errors.size() >= limit) {
      incomplete = true;
      break;
    }
    const PathId id = client::tablet_object_id(table.record.tablets[i].info.id);
    errors.set(to_text(id), YsonList{to_yson(YtError(Code::kGeneric, text))});
  }
  YsonMap map;
  map.set("tablet_errors", std::move(errors));
  map.set("replication_errors", YsonMap());
  if (incomplete) map.set("incomplete", true);
  call.result = std::move(map);
  co_return YtResult<void>();
}

Task<YtResult<void>> get_table_pivot_keys(Call& call) {
  YT_CO_TRY(const TableDescription table, co_await describe(call, false));
  YT_CO_TRY(const bool as_list, call.parameters.boolean("represent_key_as_list", false));
  YsonList keys;
  for (const TabletOfTable& tablet : table.record.tablets) {
    YT_CO_TRY(YsonNode key, pivot_node(table.record.schema, tablet.pivot, as_list));
    keys.push_back(std::move(key));
  }
  call.result = std::move(keys);
  co_return YtResult<void>();
}

// There are no replicated tables.
Task<YtResult<void>> get_in_sync_replicas(Call& call) {
  YT_CO_TRY(std::string given, path_of(call));
  YT_CO_TRY(const std::string path, co_await table_path(call, given, false));
  co_return refuse(Code::kGeneric, fmt::format("Table {} is not replicated", given));
}

// Tablets move and split by commands only.
Task<YtResult<void>> reshard_table_automatic(Call& call) {
  YT_CO_TRY(std::string given, path_of(call));
  YT_CO_TRY_VOID(co_await table_path(call, std::move(given), true));
  call.answer("tablet_actions", YsonList());
  co_return YtResult<void>();
}

Task<YtResult<void>> balance_tablet_cells(Call& call) {
  call.answer("tablet_actions", YsonList());
  co_return YtResult<void>();
}

}  // namespace moraine::yt
