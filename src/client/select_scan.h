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

struct ScanPart {
  std::vector<table::KeyBounds> ranges;
};

// What is read of one table.
struct ScanInput {
  std::shared_ptr<const Table> table;
  std::shared_ptr<const OpenTable> open;
  std::vector<table::ColumnIndex> columns;   // Of the stored schema.
  std::vector<table::ColumnFilter> filters;  // Rows that do not match may be left out.
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

 private:
  void open_range();
  void show(query::Batch& batch);

  SelectContext& context_;
  const ScanInput& input_;
  const ScanPart& part_;
  std::size_t range_ = 0;
  std::unique_ptr<Scan> scan_;
  ScanBatch batch_;
  std::uint64_t bytes_ = 0;
};

}  // namespace moraine::client
