// Commands that change tables and their tablets.
#include <fmt/format.h>

#include "client/table_attributes.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/mutation.h"

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

YtResult<TabletRange> range_of(const Call& call) {
  TabletRange range;
  YT_TRY(range.first, call.parameters.count_or("first_tablet_index", 0));
  YT_TRY(const auto last, call.parameters.count("last_tablet_index"));
  if (last) range.last = *last;
  return range;
}

Task<YtResult<void>> mount(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY(const TabletRange range, range_of(call));
  YT_CO_TRY(const bool freeze, call.parameters.boolean("freeze", false));
  const MountState state = freeze ? MountState::kFrozen : MountState::kMounted;
  YT_CO_TRY_VOID(co_await tables.mount(std::move(path), state, range));
  co_return YtResult<void>();
}

Task<YtResult<void>> unmount(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY(const TabletRange range, range_of(call));
  YT_CO_TRY_VOID(call.parameters.boolean("force", false));
  YT_CO_TRY_VOID(co_await tables.unmount(std::move(path), range));
  co_return YtResult<void>();
}

Task<YtResult<void>> remount(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY(const TabletRange range, range_of(call));
  YT_CO_TRY_VOID(co_await tables.remount(std::move(path), range));
  co_return YtResult<void>();
}

Task<YtResult<void>> freeze(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY(const TabletRange range, range_of(call));
  YT_CO_TRY_VOID(co_await tables.freeze(std::move(path), range));
  co_return YtResult<void>();
}

Task<YtResult<void>> unfreeze(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY(const TabletRange range, range_of(call));
  YT_CO_TRY_VOID(co_await tables.unfreeze(std::move(path), range));
  co_return YtResult<void>();
}

// The first pivot is that of the first tablet of the range, and empty for the whole table.
Task<YtResult<void>> read_pivots(Tables& tables, std::string path, const YsonNode& given,
                                 const TabletRange& range, NewTablets& made) {
  YT_CO_TRY(const TableDescription table, co_await tables.inspect(std::move(path)));
  if (!given.as<YsonList>()) co_return refuse(Code::kGeneric, "pivot_keys must be a list");
  if (range.first >= table.record.tablets.size()) {
    made.count = 1;  // The range is the error.
    co_return YtResult<void>();
  }
  YsonList pivots = *given.as<YsonList>();
  const bool from_the_first = range.first == 0;
  if (!from_the_first) pivots.insert(pivots.begin(), YsonNode(YsonList()));
  YT_CO_TRY(made.pivots, client::pivots_of_yson(table.record.schema, std::move(pivots)));
  if (from_the_first) made.pivots.insert(made.pivots.begin(), std::string());
  co_return YtResult<void>();
}

Task<YtResult<void>> reshard(Call& call, Tables& tables, std::string path) {
  YT_CO_TRY(const TabletRange range, range_of(call));
  const YsonNode* const pivots = call.parameters.find("pivot_keys");
  YT_CO_TRY(const auto count, call.parameters.integer("tablet_count"));
  NewTablets made;
  YT_CO_TRY(made.uniform, call.parameters.boolean("uniform", false));
  if ((pivots != nullptr) == count.has_value()) {
    co_return refuse(Code::kGeneric,
                     "Exactly one of \"pivot_keys\" and \"tablet_count\" must be specified");
  }
  if (pivots != nullptr) {
    if (made.uniform) co_return refuse(Code::kGeneric, "\"uniform\" needs \"tablet_count\"");
    YT_CO_TRY_VOID(co_await read_pivots(tables, path, *pivots, range, made));
  } else if (*count <= 0) {
    co_return refuse(Code::kGeneric, "Tablet count must be positive");
  } else if (static_cast<std::uint64_t>(*count) > kTabletsPerTableMax) {
    co_return refuse(Code::kGeneric,
                     fmt::format("A table has at most {} tablets", kTabletsPerTableMax));
  } else {
    made.count = static_cast<std::size_t>(*count);
  }
  YT_CO_TRY_VOID(co_await tables.reshard(std::move(path), range, std::move(made)));
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
