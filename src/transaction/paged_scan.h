// PagedScan: a scan of a tablet that is reached by TabletReads, page by page.
//
// Promise    As TabletScan; load() reads a page, which may have no rows. Between two pages nothing
//            is held anywhere but the page itself. A page that is refused with kOverloaded is
//            requested again until kPageTimeout.
// Threading  load() on any lane; the rest as TabletScan.
// Tests      tablet_forms_test.cpp.
#pragma once

#include "transaction/tablet_reads.h"

namespace moraine {

inline constexpr Duration kPageTimeout = 30s;  // Of one page.
// Between attempts to read a page where there is no room for it.
inline constexpr Duration kOverloadedPauseMin = 10ms;
inline constexpr Duration kOverloadedPauseMax = 500ms;

class PagedScan final : public table::TabletScan {
 public:
  // `reads` and texts of the request's filters outlive the scan.
  PagedScan(TabletReads& reads, TabletId tablet, SchemaPtr schema, table::ScanRequest request)
      : reads_(reads), tablet_(tablet), schema_(std::move(schema)), request_(std::move(request)) {}

  Result<Step> next(table::ColumnBatch& batch) override;
  Task<Result<void>> load() override;
  std::string position() const override {
    return loaded_.rows > 0 ? std::string() : request_.bounds.from;
  }
  void release() override { over_ = true; }
  table::ScanStatistics statistics() const override { return read_; }

 private:
  Task<Result<ScanPage>> read_page(Executor& lane);

  TabletReads& reads_;
  const TabletId tablet_;
  const SchemaPtr schema_;
  table::ScanRequest request_;  // Of what was not read yet.
  table::ColumnBatch loaded_;   // Not returned yet, if it has rows.
  table::ScanStatistics read_;
  bool over_ = false;  // No more pages.
};

}  // namespace moraine
