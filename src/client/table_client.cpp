#include "client/table_client.h"

#include <fmt/format.h>

namespace moraine::client {

Result<Table> TableClient::open(std::string path) {
  std::shared_ptr<TableHolder> holder = tables_.holder(scheme_path(path));
  if (!holder) return fail(Errc::kNotFound, fmt::format("no table {}", path));
  return Table::open(*this, std::move(path), std::move(holder));
}

Task<Result<Transaction>> TableClient::begin(TransactionOptions options, Random& random) {
  CO_TRY_VOID(check_options(options));
  CO_TRY(const Timestamp start, co_await timestamp());
  co_return Transaction(*this, new_transaction_id(random), start, options);
}

}  // namespace moraine::client
