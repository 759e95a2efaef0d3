// Scan: reads rows of a table in key order, tablet after tablet.
//
// Promise    Rows of one timestamp, in key order, in batches of columns. A scan that is not used
//            for its timeout is released (scan_registry.h) and expires; a step of a transaction's
//            scan is a use of the transaction.
// Threading  One step at a time: on any lane by next(); on any other thread by begin_step(),
//            try_next() and load(), of which load() is awaited on a lane. What is not in memory is
//            read on the tablet's lane, or in pages from the tablet's node (transaction/
//            paged_scan.h), and the call returns to the awaiting one. A step and the sweep that
//            releases idle scans exclude each other.
// Limits     kOpenScansMax of a node, counted from the first step.
// Errors     kOverloaded: too many scans are open. kAborted: the scan or its transaction has
//            expired or is over. kInvalidArgument: another step is running. kReadOnly: a tablet is
//            not mounted. Those of TabletReader and TabletReads.
// Tests      embed/: idle_scan_test.cpp, transaction_scan_test.cpp, database_test.cpp.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "client/open_counts.h"
#include "client/table.h"
#include "client/transaction_life.h"

namespace moraine::client {

// The checked arguments of a scan.
struct NewScan {
  TableClient* client = nullptr;  // Outlives the scan.
  std::shared_ptr<const OpenTable> table;
  table::ScanRequest request;
  std::vector<std::unique_ptr<std::string>> texts;  // Texts of filters.
  std::uint64_t rows_max = ~std::uint64_t{0};
  std::chrono::milliseconds timeout{0};
  std::shared_ptr<TransactionLife> life;  // Of its transaction. May be null.
  // Tablets that are not mounted are read too (unmounted_scan.h). Requires: the steps are those of
  // next(), or load() follows kNeedsData.
  bool reads_unmounted = false;
};

// Does not read. On any thread.
Result<NewScan> new_scan(const Table& table, ScanOptions options);

// Lets the scan of a whole static table begin at the row of this number, from 0, or before it.
// Returns the number of the row that it begins at.
std::uint64_t begin_at_row(NewScan& scan, std::uint64_t row);

class Scan {
 public:
  using Found = table::TabletScan::Step;

  explicit Scan(NewScan scan);
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;
  ~Scan();

  // False: no more rows. Texts of the batch live until the next step.
  Task<Result<bool>> next(ScanBatch& batch);

  // The parts of next(). A step lasts from begin_step(), if that succeeds, to the end of a Step.
  class Step {
   public:
    explicit Step(Scan& scan) : scan_(scan) {}
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { scan_.end_step(); }

   private:
    Scan& scan_;
  };
  Result<void> begin_step();
  // Does not wait. kNeedsData: call load(), then this again.
  Result<Found> try_next(ScanBatch& batch);
  Task<Result<void>> load();

  // What was read so far. Between steps.
  table::ScanStatistics statistics() const;
  // Of the last step.
  const table::ColumnBatch& batch() const { return batch_; }

  // Releases what it holds if it was not used for too long. True: it holds nothing any more.
  bool release_if_idle(Instant now);

 private:
  // Of the size of a futex, since a step waits for a sweep to end.
  enum class State : std::uint32_t { kIdle, kStepping, kSwept, kExpired };

  void end_step();
  void end();
  void close_tablet();
  // False: no range is left.
  Result<bool> open_next();
  void show(ScanBatch& out);
  void release();
  Instant now() const;
  std::unexpected<Error> expired() const;

  NewScan given_;          // Its table is null once it was released.
  std::size_t range_ = 0;  // The range being read.
  std::uint64_t rows_left_;
  std::shared_ptr<table::TableTablet> tablet_;  // That is read. Null: it is on another node.
  std::unique_ptr<table::TabletScan> scan_;
  table::ColumnBatch batch_;
  table::ScanStatistics read_;  // Of tablets that were read to their end.
  std::uint64_t number_ = 0;    // In the registry; 0: no step has begun.
  OpenCount::Place place_;
  bool ended_ = false;  // All rows were returned; the scan holds nothing.
  std::atomic<State> state_{State::kIdle};
  Instant used_;  // When a step last ended.
};

}  // namespace moraine::client
