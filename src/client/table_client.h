// TableClient: the tables of a node for one door: opens them, begins transactions.
//
//   TableClient  ->  Table        ->  lookup(), new_scan()
//                ->  Transaction  ->  commit()
//
// Changes of tables are calls of Tables, and table_changes.h.
//
// Promise    What was obtained from one client cannot be mixed with what another has returned.
// Threading  Any lane; executor(), scans() and try_timestamp() on any thread. tables(): what
//            the given Tables allow.
// Limits     kOpenTransactionsMax and kOpenScansMax of all clients of a node (open_counts.h).
// Errors     kNotFound: no such table. kUnavailable: which tables there are is not known yet, or no
//            timestamps are issued now. kOverloaded: too many transactions are open.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/scan_registry.h"
#include "client/table.h"
#include "client/tables.h"
#include "client/transaction.h"

namespace moraine::client {

class TableClient {
 public:
  // All outlive the client, and the client what is obtained from it. `executor`: the control lane;
  // idle scans are released there.
  TableClient(Executor& executor, Tables& tables, TransactionServices& services)
      : executor_(executor), tables_(tables), services_(services) {}
  TableClient(const TableClient&) = delete;
  TableClient& operator=(const TableClient&) = delete;

  Executor& executor() { return executor_; }
  Tables& tables() { return tables_; }
  TransactionServices& services() { return services_; }
  ScanRegistry& scans() { return *scans_; }

  // `path`: as users write it.
  Result<Table> open(std::string path);
  // Without waiting; nullopt: call timestamp().
  std::optional<Timestamp> try_timestamp() { return services_.try_timestamp(); }
  Task<Result<Timestamp>> timestamp() { return services_.timestamps().next(); }
  // `random` outlives the call.
  Task<Result<Transaction>> begin(TransactionOptions options, Random& random);
  // The same with a timestamp of now. On any thread.
  Result<Transaction> begin_at(Timestamp start, const TransactionOptions& options, Random& random);

 private:
  Executor& executor_;
  Tables& tables_;
  TransactionServices& services_;
  const std::shared_ptr<ScanRegistry> scans_ = std::make_shared<ScanRegistry>(executor_);
};

}  // namespace moraine::client
