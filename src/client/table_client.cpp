#include "client/table_client.h"

#include <fmt/format.h>

namespace moraine::client {

Result<Table> TableClient::open(std::string path) {
  const bool known = tables_.known();  // Before the table is looked up.
  std::shared_ptr<TableHolder> holder = tables_.holder(scheme_path(path));
  if (!holder && !known) {
    return fail(Errc::kUnavailable,
                fmt::format("{}: the node does not know all of its tables; retry later", path));
  }
  if (!holder) return fail(Errc::kNotFound, fmt::format("no table {}", path));
  return Table::open(*this, std::move(path), std::move(holder));
}

Task<Result<Transaction>> TableClient::begin(TransactionOptions options, Random& random) {
  CO_TRY_VOID(check_options(options));
  CO_TRY(const Timestamp start, co_await timestamp());
  co_return begin_at(start, options, random);
}

Result<Transaction> TableClient::begin_at(Timestamp start, const TransactionOptions& options,
                                          Random& random) {
  TRY_VOID(check_options(options));
  TRY(OpenCount::Place place, services_.open_counts().transactions.enter());
  return Transaction(*this, std::move(place), new_transaction_id(random), start, options);
}

}  // namespace moraine::client
