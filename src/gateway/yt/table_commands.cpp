// Commands that change tables and their tablets.
#include <fmt/format.h>

#include "client/table_attributes.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/mutation.h"
#include "gateway/yt/uniform_pivots.h"

namespace moraine::yt {
namespace {

using Change = Task<YtResult<void>> (*)(Call& call, Tables& tables, std::string path);

// Changes a table once, also when the client repeats its request.
Task<YtResult<void>> change_table(Call& call, Change change) {
  YT_CO_TRY(const bool repeated, co_await begin_mutation(call));
  if (repeated) co_return YtResult<void>();
  YT_CO_TRY(std::string given, path_of(call));
  YT_CO_TRY(std::string path, co_await table_path(call, std::move(given), true));
  YT_CO_TRY_VOID(co_await change(call, call.lane.tables().tables(), std::move(path)));
  if (call.version == 4) call.result = YsonMap();
  co_return co_await end_mutation(call);
}

YtResult<void> whole_table_only(const Call& call) {
  for (const char* name : {"first_tablet_index", "last_tablet_index"}) {
    if (call.parameters.find(name) != nullptr) {
      return not_supported(fmt::format("The parameter \"{}\"", name));
    }
  }
  return {};
}

Task<YtResult<void>> mount(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY_VOID(whole_table_only(call));
  YT_CO_TRY(const bool freeze, call.parameters.boolean("freeze", false));
  YT_CO_TRY_VOID(
      co_await tables.mount(std::move(path), freeze ? MountState::kFrozen : MountState::kMounted));
  co_return YtResult<void>();
}

Task<YtResult<void>> unmount(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY_VOID(whole_table_only(call));
  YT_CO_TRY_VOID(call.parameters.boolean("force", false));
  YT_CO_TRY_VOID(co_await tables.unmount(std::move(path)));
  co_return YtResult<void>();
}

Task<YtResult<void>> remount(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY_VOID(whole_table_only(call));
  YT_CO_TRY_VOID(co_await tables.remount(std::move(path)));
  co_return YtResult<void>();
}

Task<YtResult<void>> freeze(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY_VOID(whole_table_only(call));
  YT_CO_TRY_VOID(co_await tables.freeze(std::move(path)));
  co_return YtResult<void>();
}

Task<YtResult<void>> unfreeze(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY_VOID(whole_table_only(call));
  YT_CO_TRY_VOID(co_await tables.unfreeze(std::move(path)));
  co_return YtResult<void>();
}

Task<YtResult<void>> reshard_by_pivots(Tables& tables, std::string path, const YsonNode& pivots) {
  YT_CO_TRY(const TableDescription table, co_await tables.inspect(path));
  YT_CO_TRY(std::vector<std::string> encoded, client::pivots_of_yson(table.record.schema, pivots));
  YT_CO_TRY_VOID(co_await tables.reshard(std::move(path), std::move(encoded)));
  co_return YtResult<void>();
}

Task<YtResult<void>> reshard(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY_VOID(whole_table_only(call));
  const YsonNode* const pivots = call.parameters.find("pivot_keys");
  YT_CO_TRY(const auto count, call.parameters.integer("tablet_count"));
  YT_CO_TRY(const bool uniform, call.parameters.boolean("uniform", false));
  if ((pivots != nullptr) == count.has_value()) {
    co_return refuse(Code::kGeneric,
                     "Exactly one of \"pivot_keys\" and \"tablet_count\" must be specified");
  }
  if (pivots != nullptr) co_return co_await reshard_by_pivots(tables, std::move(path), *pivots);
  if (*count <= 0) co_return refuse(Code::kGeneric, "Tablet count must be positive");
  if (static_cast<std::uint64_t>(*count) > kTabletsPerTableMax) {
    co_return refuse(Code::kGeneric,
                     fmt::format("A table has at most {} tablets", kTabletsPerTableMax));
  }
  if (uniform) {
    YT_CO_TRY(const TableDescription table, co_await tables.inspect(path));
    YT_CO_TRY(const YsonNode made, uniform_pivots(table.record.schema, *count));
    co_return co_await reshard_by_pivots(tables, std::move(path), made);
  }
  YT_CO_TRY_VOID(co_await tables.reshard(std::move(path), static_cast<std::size_t>(*count)));
  co_return YtResult<void>();
}

Task<YtResult<void>> alter(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY(const TableDescription table, co_await tables.inspect(path));
  const bool was_dynamic = table.record.dynamic;
  YT_CO_TRY(const bool dynamic, call.parameters.boolean("dynamic", was_dynamic));
  if (was_dynamic && !dynamic) {
    co_return refuse(Code::kGeneric, "Cannot switch mode from dynamic to static");
  }
  if (const YsonNode* given = call.parameters.find("schema")) {
    YT_CO_TRY(TableSchema schema, client::altered_schema_of_yson(*given, was_dynamic));
    YT_CO_TRY_VOID(co_await tables.alter(path, std::move(schema)));
  }
  if (dynamic == was_dynamic) co_return YtResult<void>();
  YT_CO_TRY_VOID(co_await tables.make_dynamic(path));
  // As YTsaurus leaves it.
  YT_CO_TRY_VOID(co_await tables.unmount(std::move(path)));
  co_return YtResult<void>();
}

}  // namespace

Task<YtResult<void>> mount_table(Call& call) {
  return change_table(call, mount);
}
Task<YtResult<void>> unmount_table(Call& call) {
  return change_table(call, unmount);
}
Task<YtResult<void>> remount_table(Call& call) {
  return change_table(call, remount);
}
Task<YtResult<void>> freeze_table(Call& call) {
  return change_table(call, freeze);
}
Task<YtResult<void>> unfreeze_table(Call& call) {
  return change_table(call, unfreeze);
}
Task<YtResult<void>> reshard_table(Call& call) {
  return change_table(call, reshard);
}
Task<YtResult<void>> alter_table(Call& call) {
  return change_table(call, alter);
}

}  // namespace moraine::yt
