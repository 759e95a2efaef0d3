// OurTable: a database folder with one table, through the public API.
//
// Threading  load() and settle() from one thread; database() and table() as their classes say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/tables/rows.h"
#include "moraine/database.h"

namespace moraine::bench {

inline constexpr std::uint64_t kRowsPerBatch = 1'000;
inline constexpr std::uint32_t kLoaders = 4;  // Threads, each with a batch in flight.

struct OurOptions {
  std::string folder;
  std::uint64_t device_bytes = 0;
  std::size_t lanes = 0;            // As OpenOptions::lanes.
  std::size_t cache_bytes = 0;      // Of blocks.
  std::size_t row_cache_bytes = 0;  // Of rows.
  bool wide = false;                // Ten columns; else a key and a value.
  TableOptions table;
  std::vector<std::vector<Value>> pivots;
};

class OurTable {
 public:
  // Creates the table when it is missing.
  static Result<std::unique_ptr<OurTable>> open(const OurOptions& options);

  // Durable transactions of kRowsPerBatch rows.
  Result<void> load(RowRange range, std::uint64_t version);
  // Waits until everything is in chunks, and nothing is left to compact.
  Result<void> settle();
  // Closes the database and opens it again; returns how long opening took, in seconds.
  Result<double> reopen();
  void close();

  // Stored bytes of all chunks of the table.
  Result<std::uint64_t> chunk_bytes() const;

  Database& database() { return *database_; }
  const Table& table() const { return *table_; }
  static constexpr const char* kPath = "/bench/rows";

 private:
  explicit OurTable(const OurOptions& options) : options_(options) {}
  Result<void> start();
  Result<void> load_batch(RowRange range, std::uint64_t version);
  Result<void> insert_wide(Transaction& transaction, const WideRow& row);

  OurOptions options_;
  std::optional<Database> database_;
  std::optional<Table> table_;
};

// Commits one row of a key and a value durably.
Result<void> commit_row(Database& database, const Table& table, const KeyText& key,
                        const ValueText& value);

// Point reads of one thread.
class OurReader {
 public:
  static Result<OurReader> make(const Table& table, bool row_cache);
  // Whether the row exists; every requested byte is in memory then.
  Result<bool> get(const KeyText& key);
  // How many rows exist.
  Result<std::size_t> get_many(std::span<const KeyText> keys);

 private:
  explicit OurReader(const Table& table) : table_(table) {}

  Table table_;
  ReadOptions options_;
  Rowset rows_;
  std::vector<Value> values_;
  std::vector<Key> keys_;
};

}  // namespace moraine::bench
