// The tables that the program under test serves: their schemas and options, and how rows are read.
//
//   k  shard, key int64   v  tx uint64, text string (hunks), sum int64 summed, extra0, extra1, ...
//
// Promise    Stores are small, so that every second of load has flushes and compactions. Table 0
//            keeps all versions for as long as a campaign runs; the others drop them after a
//            second. Table kSums has deltas only, which add up to zero in every transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crash/tables/tables_truth.h"
#include "io/random.h"
#include "moraine/database.h"

namespace moraine::crash {

inline constexpr std::uint32_t kTables = 3;
inline constexpr std::uint32_t kKeeper = 0;  // Its past stays readable.
inline constexpr std::uint32_t kSums = 2;
inline constexpr std::int64_t kShards = 6;
inline constexpr std::int64_t kKeysPerShard = 40;
inline constexpr std::int64_t kExtrasMax = 6;

std::string path_of(std::uint32_t table);
TableSchema schema_of(std::uint32_t table, std::int64_t extras);
std::int64_t extras_of(const TableSchema& schema);
TableOptions options_of(std::uint32_t table);
// Up to four tablets; pivots at or inside shard boundaries.
std::vector<std::vector<Value>> draw_pivots(Random& random);

// Creates missing tables and mounts unmounted ones. Waits for tables in transition.
Result<void> bring_up(Database& database);

// Adds the change to a transaction.
Result<void> add_change(Transaction& transaction, const Table& table, std::uint64_t id,
                        const RowChangeReport& change);
// The texts and sums of a row as lookups and scans over all columns return it. An error describes
// what no transaction can have written.
Result<RowState> state_of(const TableSchema& schema, const RowName& row,
                          std::span<const Value> cells);

}  // namespace moraine::crash
