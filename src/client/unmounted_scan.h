// UnmountedScan: a scan of a tablet that is not mounted.
//
// Promise    As TabletScan. The first load() boots the tablet, or finds it running for another
//            reader.
// Threading  load() on any lane; the rest as TabletScan.
// Errors     Those of Tables::open_unmounted(). kInvalidArgument: the table was altered.
// Tests      node/unmounted_reads_test.cpp.
#pragma once

#include "client/tables.h"

namespace moraine::client {

class UnmountedScan final : public table::TabletScan {
 public:
  // `tables` and texts of the request's filters outlive the scan. `path`: of the scheme.
  UnmountedScan(Tables& tables, std::string path, TabletId id,
                std::shared_ptr<const TableSchema> schema, table::ScanRequest request)
      : tables_(tables),
        path_(std::move(path)),
        id_(id),
        schema_(std::move(schema)),
        request_(std::move(request)) {}

  Result<Step> next(table::ColumnBatch& batch) override {
    return scan_ ? scan_->next(batch) : Step::kNeedsData;
  }
  Task<Result<void>> load() override;
  std::string position() const override { return scan_ ? scan_->position() : request_.bounds.from; }
  void release() override {
    if (scan_) scan_->release();
    tablet_.reset();
  }
  table::ScanStatistics statistics() const override {
    return scan_ ? scan_->statistics() : table::ScanStatistics();
  }

 private:
  Tables& tables_;
  const std::string path_;
  const TabletId id_;
  const std::shared_ptr<const TableSchema> schema_;
  table::ScanRequest request_;
  std::shared_ptr<table::TableTablet> tablet_;
  std::unique_ptr<table::TabletScan> scan_;
};

}  // namespace moraine::client
