// RocksTable: the same rows in RocksDB: LZ4, a Bloom filter of 10 bits, direct reads (its cache and
// ours are the only memory for blocks), otherwise its defaults.
//
// Threading  As OurTable.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bench/tables/rows.h"

namespace rocksdb {
class DB;
class Slice;
class Statistics;
class Status;
}  // namespace rocksdb

namespace moraine::bench {

struct RocksOptions {
  std::string folder;
  std::size_t cache_bytes = 0;
  bool wide = false;
  bool statistics = false;  // Counts bytes written, at a small cost.
};

Result<void> check(const rocksdb::Status& status);
rocksdb::Slice rocks_slice(std::string_view text);

class RocksTable {
 public:
  static Result<std::unique_ptr<RocksTable>> open(const RocksOptions& options);
  RocksTable(const RocksTable&) = delete;
  RocksTable& operator=(const RocksTable&) = delete;
  ~RocksTable();

  // Batches of kRowsPerBatch rows through its log, not synced.
  Result<void> load(RowRange range, std::uint64_t version);
  // Waits until everything is in files, and nothing is left to compact.
  Result<void> settle();
  Result<double> reopen();
  void close();
  // Takes effect at the next reopen().
  void count_bytes(bool on) { options_.statistics = on; }

  // One durable row of a key and a value.
  Result<void> commit_row(const KeyText& key, const ValueText& value);

  rocksdb::DB& db() { return *db_; }
  // Of all its files.
  std::uint64_t bytes_on_device() const;
  // Log, flushes and compactions. Requires: statistics.
  std::uint64_t bytes_written() const;

 private:
  explicit RocksTable(const RocksOptions& options);
  Result<void> start();
  Result<void> load_batch(RowRange range, std::uint64_t version);
  Result<bool> busy() const;

  RocksOptions options_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
};

// Point reads of one thread.
class RocksReader {
 public:
  explicit RocksReader(rocksdb::DB& db);
  RocksReader(RocksReader&&) noexcept;
  RocksReader& operator=(RocksReader&&) = delete;
  ~RocksReader();
  Result<bool> get(const KeyText& key);
  Result<std::size_t> get_many(std::span<const KeyText> keys);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace moraine::bench
