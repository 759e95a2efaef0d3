// Commands that write rows of dynamic tables.
#include <fmt/format.h>

#include "gateway/yt/handlers.h"
#include "gateway/yt/row_writes.h"

namespace moraine::yt {

Task<YtResult<void>> insert_rows(Call& call) {
  RowWrite write;
  YT_CO_TRY(write.options.update, call.parameters.boolean("update", false));
  YT_CO_TRY(write.options.aggregate, call.parameters.boolean("aggregate", false));
  YT_CO_TRY(const std::string lock, call.parameters.text_or("lock_type", "exclusive"));
  if (lock != "exclusive" && lock != "shared_write") {
    co_return refuse(Code::kGeneric, fmt::format("Invalid lock type \"{}\" of a write", lock));
  }
  write.options.shared_write = lock == "shared_write";
  co_return co_await write_rows(call, std::move(write));
}

Task<YtResult<void>> delete_rows(Call& call) {
  RowWrite write;
  write.kind = RowWrite::Kind::kRemove;
  YT_CO_TRY_VOID(co_await write_rows(call, std::move(write)));
  if (call.version == 4) call.result = YsonMap();
  co_return YtResult<void>();
}

Task<YtResult<void>> trim_rows(Call& call) {
  YT_CO_TRY(std::string given, path_of(call));
  YT_CO_TRY(const auto tablet, call.parameters.count("tablet_index"));
  YT_CO_TRY(const auto rows, call.parameters.count("trimmed_row_count"));
  if (!tablet) co_return refuse(Code::kGeneric, "Missing required parameter /tablet_index");
  if (!rows) co_return refuse(Code::kGeneric, "Missing required parameter /trimmed_row_count");
  YT_CO_TRY(std::string path, co_await table_path(call, std::move(given), true));
  YT_CO_TRY_VOID(co_await call.lane.tables().tables().trim(std::move(path), *tablet, *rows));
  if (call.version == 4) call.result = YsonMap();
  co_return YtResult<void>();
}

Task<YtResult<void>> lock_rows(Call& call) {
  RowWrite write;
  write.kind = RowWrite::Kind::kLock;
  YT_CO_TRY(const auto transaction, call.parameters.id("transaction_id"));
  if (!transaction) co_return refuse(Code::kGeneric, "Missing required parameter /transaction_id");
  YT_CO_TRY(write.groups, call.parameters.texts("locks"));
  YT_CO_TRY(const std::string lock, call.parameters.text_or("lock_type", "shared_strong"));
  if (lock == "shared_weak")
    write.lock = RowLock::kSharedWeak;
  else if (lock == "exclusive")
    write.lock = RowLock::kExclusive;
  else if (lock == "shared_write")
    write.lock = RowLock::kSharedWrite;
  else if (lock != "shared_strong")
    co_return refuse(Code::kGeneric, fmt::format("Invalid lock type \"{}\"", lock));
  YT_CO_TRY_VOID(co_await write_rows(call, std::move(write)));
  if (call.version == 4) call.result = YsonMap();
  co_return YtResult<void>();
}

}  // namespace moraine::yt
