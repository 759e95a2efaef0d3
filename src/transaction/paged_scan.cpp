#include "transaction/paged_scan.h"

#include <algorithm>

#include "base/invariant.h"
#include "io/sync.h"

namespace moraine {

Result<table::TabletScan::Step> PagedScan::next(table::ColumnBatch& batch) {
  if (loaded_.rows > 0) {
    batch = std::exchange(loaded_, {});
    read_.rows_returned += batch.rows;
    return Step::kRows;
  }
  return over_ ? Step::kEnd : Step::kNeedsData;
}

Task<Result<void>> PagedScan::load() {
  Executor* const lane = Executor::current();
  INVARIANT(lane != nullptr, "pages of tablet {} are loaded on a lane", tablet_.value);
  CO_TRY(ScanPage page, co_await read_page(*lane));
  loaded_ = std::move(page.batch);
  request_.row_limit -= std::min<std::uint64_t>(request_.row_limit, loaded_.rows);
  over_ = page.next.empty() || request_.row_limit == 0;
  request_.bounds.from = std::move(page.next);
  co_return Result<void>();
}

// A node that has no room for a page now is asked again.
Task<Result<ScanPage>> PagedScan::read_page(Executor& lane) {
  const Instant deadline = lane.now() + kPageTimeout;
  for (Duration pause = kOverloadedPauseMin;; pause = std::min(2 * pause, kOverloadedPauseMax)) {
    Result<ScanPage> page = co_await reads_.scan(tablet_, schema_, request_, deadline);
    const bool again = !page && page.error().code == Errc::kOverloaded;
    if (!again || lane.now() + pause >= deadline) co_return page;
    co_await sleep_for(lane, pause);
  }
}

}  // namespace moraine
