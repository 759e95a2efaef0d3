#include "client/concatenate.h"

#include <fmt/format.h>

#include "client/scan.h"
#include "client/table_client.h"

namespace moraine::client {
namespace {

// A client that is slow has nothing to do with it.
constexpr std::chrono::milliseconds kScanTimeout = std::chrono::minutes(5);

class RowsOfTables {
 public:
  RowsOfTables(std::vector<SharedTable> sources, std::shared_ptr<const table::RowLayout> layout)
      : sources_(std::move(sources)), layout_(std::move(layout)) {}

  // Null: there are no more.
  Task<Result<std::shared_ptr<const table::StaticRows>>> next() {
    const auto rows = std::make_shared<table::StaticRows>(layout_);
    while (at_ < sources_.size() && rows->bytes() < kBatchBytes) {
      if (!scan_) {
        CO_TRY_VOID(open());
      }
      CO_TRY(const bool more, co_await scan_->next(batch_));
      if (more) {
        CO_TRY_VOID(add(*rows));
      } else {
        scan_.reset();
        ++at_;
      }
    }
    if (rows->empty()) co_return nullptr;
    co_return rows;
  }

 private:
  Result<void> open() {
    ScanOptions options;
    options.timeout = kScanTimeout;
    TRY(NewScan made, new_scan(*sources_[at_], std::move(options)));
    scan_ = std::make_unique<Scan>(std::move(made));
    return {};
  }
  Result<void> add(table::StaticRows& rows) {
    const Table& source = *sources_[at_];
    row_.clear();
    for (const std::uint16_t column : source.all_columns) {
      row_.emplace_back(source.schema->columns[column].name, Value());
    }
    for (std::size_t i = 0; i < batch_.rows; ++i) {
      for (std::size_t c = 0; c < row_.size(); ++c) row_[c].value = batch_.columns[c].at(i);
      if (auto added = rows.add(row_); !added) {
        return std::unexpected(std::move(added).error().within(source.path));
      }
    }
    return {};
  }

  const std::vector<SharedTable> sources_;
  const std::shared_ptr<const table::RowLayout> layout_;
  std::size_t at_ = 0;
  std::unique_ptr<Scan> scan_;
  ScanBatch batch_;
  std::vector<NamedValue> row_;
};

Result<void> check_static(const Table& table) {
  if (table.others) {
    return fail(Errc::kUnsupported,
                fmt::format("{} has no strict schema: concatenating such tables is not supported",
                            table.path));
  }
  if (!table.dynamic) return {};
  return fail(Errc::kInvalidArgument,
              fmt::format("{} is a dynamic table: only static ones are concatenated", table.path));
}

}  // namespace

Task<Result<void>> concatenate(std::vector<SharedTable> sources, SharedTable destination,
                               table::StaticWrite how) {
  CO_TRY_VOID(check_static(*destination));
  for (const SharedTable& source : sources) {
    CO_TRY_VOID(check_static(*source));
  }
  CO_TRY(std::shared_ptr<const table::RowLayout> layout,
         table::RowLayout::make(destination->shown));
  const auto rows = std::make_shared<RowsOfTables>(std::move(sources), std::move(layout));
  const std::string path = scheme_path(destination->holder->hold()->path);
  co_return co_await destination->client->tables().write_batches(
      path, destination->shown, [rows] { return rows->next(); }, how);
}

}  // namespace moraine::client
