// Rows of a table of small_schema() (scheme/test_schema.h), by their keys. For tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/lookup.h"
#include "client/scan.h"
#include "client/table_client.h"
#include "io/random.h"

namespace moraine::client {

using TablePtr = std::shared_ptr<const Table>;

inline Result<TablePtr> open_shared(TableClient& client, const std::string& path) {
  TRY(Table opened, client.open(path));
  return std::make_shared<const Table>(std::move(opened));
}

// The same value for all keys, in one transaction.
inline Task<Result<Timestamp>> write_rows(TableClient& client, TablePtr table, Random& random,
                                          std::vector<std::int64_t> keys, std::string value) {
  CO_TRY(Transaction transaction, co_await client.begin({}, random));
  for (const std::int64_t key : keys) {
    const std::vector<NamedValue> row{{"k", Value(key)}, {"v", Value(value)}};
    CO_TRY_VOID(transaction.insert(*table, row, {}));
  }
  co_return co_await transaction.commit();
}

// "-" for rows that do not exist.
inline Task<Result<std::vector<std::string>>> read_rows(TablePtr table,
                                                        std::vector<std::int64_t> keys,
                                                        ReadOptions options = {}) {
  std::vector<std::vector<Value>> wanted;
  for (const std::int64_t key : keys) wanted.push_back({Value(key)});
  Rowset rows;
  CO_TRY_VOID(co_await lookup(table, std::move(wanted), options, false, rows));
  std::vector<std::string> values;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    values.push_back(rows.exists(i) ? std::string(rows.at(i, 1).text()) : "-");
  }
  co_return values;
}

inline Task<Result<std::vector<std::int64_t>>> scan_keys(TablePtr table, ScanOptions options = {}) {
  CO_TRY(NewScan made, new_scan(*table, std::move(options)));
  Scan scan(std::move(made));
  std::vector<std::int64_t> keys;
  for (ScanBatch batch;;) {
    CO_TRY(const bool more, co_await scan.next(batch));
    if (!more) co_return keys;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      keys.push_back(batch.columns[0].at(i).as_int64());
    }
  }
}

}  // namespace moraine::client
