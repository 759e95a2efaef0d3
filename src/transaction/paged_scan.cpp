#include "transaction/paged_scan.h"

#include "base/invariant.h"

namespace moraine {

Result<table::TabletScan::Step> PagedScan::next(table::ColumnBatch& batch) {
  if (loaded_.rows > 0) {
    batch = std::exchange(loaded_, {});
    return Step::kRows;
  }
  return over_ ? Step::kEnd : Step::kNeedsData;
}

Task<Result<void>> PagedScan::load() {
  Executor* const lane = Executor::current();
  INVARIANT(lane != nullptr, "pages of tablet {} are loaded on a lane", tablet_.value);
  CO_TRY(ScanPage page,
         co_await reads_.scan(tablet_, schema_, request_, lane->now() + kPageTimeout));
  loaded_ = std::move(page.batch);
  request_.row_limit -= std::min<std::uint64_t>(request_.row_limit, loaded_.rows);
  over_ = page.next.empty() || request_.row_limit == 0;
  request_.bounds.from = std::move(page.next);
  co_return Result<void>();
}

}  // namespace moraine
