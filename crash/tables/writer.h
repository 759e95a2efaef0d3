// Writer: random transactions over the served tables, reported before and after.
//
// Threading  One writer for each thread or coroutine; ReportWriter is shared by all.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "crash/tables/served_tables.h"

namespace moraine::crash {

// Standard output, a line at a time.
class ReportWriter {
 public:
  explicit ReportWriter(std::uint64_t first_id) : first_id_(first_id), next_id_(first_id) {}
  void send(std::string line);
  std::uint64_t new_id() { return next_id_.fetch_add(1); }
  std::uint64_t first_id() const { return first_id_; }
  std::atomic<bool> stopping = false;

 private:
  const std::uint64_t first_id_;
  std::atomic<std::uint64_t> next_id_;
  std::mutex mutex_;
};

class Writer {
 public:
  Writer(Database& database, ReportWriter& reports, std::uint64_t seed)
      : database_(database), reports_(reports), random_(seed) {}

  // Opens the tables again. On a thread other than the database's.
  Result<void> refresh();
  // One transaction. False: the handles may be out of date.
  bool write();
  Task<bool> write_async();

 private:
  using Tables = std::array<std::optional<Table>, kTables>;

  TransactionReport draw();
  void draw_rows(TransactionReport& report);
  void draw_transfer(TransactionReport& report);
  bool draw_trim(TransactionReport& report);
  void add_markers(TransactionReport& report);
  bool knows(const TransactionReport& report, const RowName& row) const;
  Result<void> fill(Transaction& transaction, const TransactionReport& report);
  bool answered(const TransactionReport& report, const Result<Timestamp>& committed);
  void check_own(const TransactionReport& report, Timestamp commit);

  Database& database_;
  ReportWriter& reports_;
  SeededRandom random_;
  Tables tables_;
};

}  // namespace moraine::crash
