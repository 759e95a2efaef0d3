// Writes rows of static tables directly to chunks.

#include <fmt/format.h>

#include <algorithm>

#include "table/tablet/maintenance_impl.h"

namespace moraine::table {

Task<Result<void>> Maintenance::Impl::write_static(std::shared_ptr<const StaticRows> rows,
                                                   Timestamp timestamp) {
  if (rows->empty()) co_return Result<void>{};
  if (!stores_.damaged().empty()) co_return std::unexpected(stores_.damaged().front().error);
  std::uint64_t before = 0;
  std::string last;
  for (const auto& [id, reader] : stores_.chunks()) {
    before += reader->record().statistics.rows;
    last = std::max(last, reader->record().statistics.last_key);
  }
  co_return co_await add_static(std::move(rows), timestamp, before, std::move(last));
}

Task<Result<void>> Maintenance::Impl::add_static(std::shared_ptr<const StaticRows> rows,
                                                 Timestamp timestamp, std::uint64_t rows_before,
                                                 std::string last) {
  if (const std::string first = rows->first_key(rows_before); first <= last) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("Sort order violation: the first key {} is not above {}, the last "
                               "one of the table",
                               printable_key(first), printable_key(last)));
  }
  StoreLog::Replace change;
  BuildSpec spec = new_build();
  change.build = spec.build;
  auto built = co_await build_chunks(places(), std::move(spec),
                                     StaticRows::cursor(rows, rows_before, timestamp));
  if (!built) {
    co_await abandon_build(change.build);
    co_return std::unexpected(std::move(built).error());
  }
  co_return co_await install(std::move(change), std::move(built->chunks));
}

}  // namespace moraine::table
