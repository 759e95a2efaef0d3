#include "client/table_changes.h"

#include <fmt/format.h>

#include <functional>
#include <span>

#include "io/run_on.h"
#include "table/model/key.h"
#include "table/model/ordered.h"
#include "table/model/value_check.h"

namespace moraine::client {
namespace {

Result<std::vector<std::string>> encode_pivots(const TableSchema& given,
                                               std::span<const std::vector<Value>> pivots) {
  const bool ordered = given.key_count() == 0 && !pivots.empty();
  const TableSchema schema = ordered ? table::ordered_schema(given) : given;
  std::vector<std::string> encoded;
  for (const std::vector<Value>& pivot : pivots) {
    if (pivot.empty() || pivot.size() > schema.key_count()) {
      return fail(Errc::kInvalidArgument, fmt::format("a pivot key of {} columns; the key has {}",
                                                      pivot.size(), schema.key_count()));
    }
    std::string& key = encoded.emplace_back();
    for (std::size_t i = 0; i < pivot.size(); ++i) {
      table::TextMemory memory;
      Value value = pivot[i];
      if (!value.is_null()) {
        auto cell = table::to_cell(schema.columns[i], value, {}, memory);
        if (!cell) return std::unexpected(std::move(cell).error().within("pivot key"));
        value = *cell;
      }
      table::append_key_column(key, value);
    }
  }
  return encoded;
}

std::unexpected<Error> no_table(std::string_view path) {
  return fail(Errc::kNotFound, fmt::format("no table /{}", path));
}

// Calls `act` on every tablet of the table. Tablets may start and end meanwhile.
using TabletAct = std::function<Task<Result<void>>(table::TableTablet&)>;

Task<Result<void>> for_each_tablet(Tables& tables, std::string path, TabletAct act) {
  const std::shared_ptr<TableHolder> holder = tables.holder(path);
  if (!holder) co_return no_table(path);
  for (std::size_t i = 0; i < holder->hold()->ranges.size(); ++i) {
    const std::shared_ptr<table::TableTablet> tablet = holder->hold()->ranges[i].running;
    if (!tablet) co_return fail(Errc::kReadOnly, fmt::format("/{} is not mounted", path));
    CO_TRY_VOID(co_await run_there(tablet->executor(), [&] { return act(*tablet); }));
  }
  co_return Result<void>();
}

Task<Result<void>> flush_one(table::TableTablet& tablet) {
  return tablet.flush();
}
Task<Result<void>> compact_one(table::TableTablet& tablet) {
  return tablet.compact_all();
}

}  // namespace

Task<Result<void>> create_table(Tables& tables, std::string path, NewTable table,
                                std::vector<std::vector<Value>> pivots) {
  CO_TRY(table.pivots, encode_pivots(table.schema, pivots));
  co_return co_await tables.create(std::move(path), std::move(table));
}

// Encodes pivots by the schema that the table has.
Task<Result<void>> reshard_table(Tables& tables, std::string path,
                                 std::vector<std::vector<Value>> pivots) {
  const std::shared_ptr<TableHolder> holder = tables.holder(path);
  if (!holder) co_return no_table(path);
  CO_TRY(std::vector<std::string> encoded, encode_pivots(*holder->hold()->shown, pivots));
  co_return co_await tables.reshard(std::move(path), std::move(encoded));
}

// Nothing runs between the change and the look-up of its result.
Task<Result<std::size_t>> reshard_table(Tables& tables, std::string path, std::size_t tablets) {
  CO_TRY_VOID(co_await tables.reshard(path, tablets));
  const std::shared_ptr<TableHolder> holder = tables.holder(path);
  if (!holder) co_return fail(Errc::kNotFound, "the table was removed meanwhile");
  co_return holder->hold()->ranges.size();
}

Task<Result<void>> flush_table(Tables& tables, std::string path) {
  return for_each_tablet(tables, std::move(path), flush_one);
}

Task<Result<void>> compact_table(Tables& tables, std::string path) {
  return for_each_tablet(tables, std::move(path), compact_one);
}

// A tablet that is not running has no work.
Task<Result<void>> settle_table(Tables& tables, std::string path) {
  const std::shared_ptr<TableHolder> holder = tables.holder(path);
  if (!holder) co_return no_table(path);
  for (std::size_t i = 0; i < holder->hold()->ranges.size(); ++i) {
    const std::shared_ptr<table::TableTablet> tablet = holder->hold()->ranges[i].running;
    if (tablet) co_await run_there(tablet->executor(), [&] { return tablet->settle(); });
  }
  co_return Result<void>();
}

}  // namespace moraine::client
