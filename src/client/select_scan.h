// Parts of a table that a query reads independently, and the batches of one part. Internal to
// select.h.
//
// Promise    Parts are in key order, disjoint, and have every row of the scan's ranges. Rows of a
//            part come in key order.
// Threading  A PartReader on one lane at a time.
// Limits     kRangesPerPart ranges in one part.
// Tests      node/select_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "client/scan.h"
#include "client/select_context.h"
#include "query/execute/vector.h"

namespace moraine::client {

inline constexpr std::size_t kRangesPerPart = 64;
// Ranges are cut into so many parts for each lane, since parts take different times.
inline constexpr std::size_t kPartsPerLane = 8;

struct ScanPart {
  std::vector<table::KeyBounds> ranges;
};

// What is read of one table.
struct ScanInput {
  std::shared_ptr<const Table> table;
  std::shared_ptr<const OpenTable> open;
  std::vector<table::ColumnIndex> columns;         // Of the stored schema.
  std::vector<table::ColumnIndex> timestamps_of;   // As in table::ScanRequest.
  std::vector<std::size_t> places;                 // Of the plan's columns in a batch.
  std::vector<table::ColumnCondition> conditions;  // The reader leaves out all other rows.
  // What is left of the predicate. Null with `tested`: nothing.
  std::unique_ptr<query::Expression> residual;
  bool tested = false;  // A part of the predicate is tested by the reader.
  std::vector<ScanPart> parts;
};

// `predicate`: of the filter above the scan; may be null.
Result<ScanInput> scan_input(SelectContext& context, const query::Scan& scan,
                             const query::Expression* predicate);

class PartReader {
 public:
  // Both outlive the reader.
  PartReader(SelectContext& context, const ScanInput& input, const ScanPart& part)
      : context_(context), input_(input), part_(part) {}

  // False: no more rows. The batch lives until the next call.
  Task<Result<bool>> next(query::Batch& batch);
  std::uint64_t batch_bytes() const { return bytes_; }
  // Rows visited for the last batch, also those that do not match conditions.
  std::uint64_t rows_visited() const { return visited_; }
  const table::ScanStatistics& statistics() const { return statistics_; }

 private:
  struct HeldTable {
    std::shared_ptr<const table::TextTable> table;
    std::uint64_t id = 0;
  };
  void open_range();
  void count();
  void show(query::Batch& batch);
  query::Column show_column(std::size_t number, const table::ColumnVector& from);

  SelectContext& context_;
  const ScanInput& input_;
  const ScanPart& part_;
  std::size_t range_ = 0;
  std::unique_ptr<Scan> scan_;
  ScanBatch batch_;
  std::vector<HeldTable> tables_;  // By column: that of the last batch.
  std::uint64_t bytes_ = 0;
  std::uint64_t visited_ = 0;
  table::ScanStatistics before_;      // Of the open range, up to the batch before.
  table::ScanStatistics statistics_;  // Of all ranges.
};

}  // namespace moraine::client
