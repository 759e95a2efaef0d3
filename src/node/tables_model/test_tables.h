// One table with all its services on a simulated machine, driven call by call. For tests.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/table_services.h"
#include "table/model/change_set.h"
#include "table/model/key.h"
#include "tablet/test_tablet.h"

namespace moraine {

class TestTables {
 public:
  static constexpr const char* kPath = "test/table";

  explicit TestTables(std::uint64_t seed) : world_(seed), storage_(world_, 4u << 20) { start(); }
  ~TestTables() {
    stop();
    world_.shutdown();
  }

  SimWorld& world() { return world_; }
  StoredTables& tables() { return services_->tables(); }
  template <class T>
  T run(Task<T> task) {
    return world_.run(std::move(task));
  }
  Instant soon() { return storage_.world().executor.now() + 300s; }

  void restart() {
    stop();
    start();
  }
  void cut_power() {
    storage_.crash();
    start();
  }

  std::shared_ptr<const OpenTable> open(const char* path = kPath) {
    return tables().find(path)->holder()->hold();
  }
  Timestamp now() {
    const auto drawn = run(services_->timestamps().next());
    INVARIANT(drawn, "{}", drawn.error().message());
    return *drawn;
  }
  CommitParts commit_parts() { return services_->commit_parts(); }
  // Sets of one table's changes, committed as one transaction.
  Result<Timestamp> commit(table::ChangeSet& changes, Timestamp start) {
    GatheredTransaction gathered;
    ++transactions_;
    std::memcpy(gathered.id.bytes.data(), &transactions_, sizeof transactions_);
    gathered.start = start;
    gathered.tables.push_back({open(), changes.take()});
    return run(
        commit_transaction(services_->commit_parts(), std::move(gathered), Instant::never()));
  }

  // As a coordinator would, for a transaction that was not prepared.
  Result<void> send_commit(TabletId tablet) {
    return run(services_->tablets().commit_prepared(tablet, {}, now(), Instant::never()));
  }

  // Keys of any tablets; row i is the answer to key i.
  Result<std::vector<std::optional<std::vector<Value>>>> lookup(
      const std::vector<std::string>& keys, const std::vector<std::uint16_t>& columns,
      Timestamp timestamp) {
    rowsets_.clear();
    std::vector<std::optional<std::vector<Value>>> found;
    const auto table = open();
    for (const std::string& key : keys) {
      TRY(const auto tablet, table->readable(table->range_of(as_bytes(key))));
      const std::string_view one[] = {key};
      table::LookupRequest request;
      request.keys = one;
      request.columns = columns;
      request.timestamp = timestamp;
      Rowset& rows = rowsets_.emplace_back();
      TRY_VOID(run(tablet->reader().lookup(request, rows)));
      found.emplace_back();
      if (rows.exists(0)) found.back().emplace(rows.row(0).begin(), rows.row(0).end());
    }
    return found;
  }
  Result<table::OwnedVersionedRow> versions(const std::string& key, Timestamp timestamp) {
    const auto table = open();
    TRY(const auto tablet, table->readable(table->range_of(as_bytes(key))));
    return run(tablet->reader().lookup_versions(key, timestamp, std::nullopt));
  }
  using Visit = std::function<void(const table::ColumnBatch&, std::size_t row)>;
  Result<void> scan(table::ScanRequest request, const Visit& visit, const char* path = kPath) {
    return run(scan_ranges(open(path), std::move(request), visit));
  }

  Result<void> flush(const char* path = kPath) {
    return for_each(path, [](table::TableTablet& tablet) { return tablet.flush(); });
  }
  Result<void> compact(const char* path = kPath) {
    return for_each(path, [](table::TableTablet& tablet) { return tablet.compact_all(); });
  }
  std::vector<table::TabletStatistics> statistics() {
    std::vector<table::TabletStatistics> all;
    const auto table = open();
    for (const OpenRange& range : table->ranges) {
      if (range.running) all.push_back(range.running->statistics());
    }
    return all;
  }

 private:
  void start() {
    SchemeHostOptions scheme;
    scheme.group = kTestGroup;
    scheme_ = std::make_unique<SchemeHost>(storage_.world(), storage_, scheme);
    TableServicesOptions options;
    options.groups = {kTestGroup, kOtherGroup};
    options.block_cache_bytes = std::size_t{1} << 20;
    options.compressed_cache_bytes = std::size_t{256} << 10;
    options.row_cache_bytes = std::size_t{4} << 20;
    services_ = std::make_unique<TableServices>(storage_.world(), storage_, *scheme_,
                                                storage_.world().executor, options);
    storage_.node().on_stop([this] {
      if (scheme_) scheme_->abandon();
      if (services_) services_->abandon();
    });
    storage_.node().on_crash([this] {
      services_.reset();
      scheme_.reset();
    });
    scheme_->start();
    const auto known = run(scheme_->wait_known(soon()));
    INVARIANT(known, "{}", known.error().message());
    const auto started = run(services_->start(soon()));
    INVARIANT(started, "{}", started.error().message());
    INVARIANT(run(tables().wait_running(soon())), "tables do not start");
  }
  void stop() {
    if (!services_) return;
    run(scheme_->stop());
    run(services_->stop());
    services_.reset();
    scheme_.reset();
  }
  using Act = std::function<Task<Result<void>>(table::TableTablet&)>;
  Result<void> for_each(const char* path, const Act& act) {
    const auto table = open(path);
    for (const OpenRange& range : table->ranges) {
      if (!range.running) continue;
      TRY_VOID(run(act(*range.running)));
    }
    return {};
  }
  static Task<Result<void>> scan_ranges(std::shared_ptr<const OpenTable> table,
                                        table::ScanRequest request, const Visit& visit) {
    std::uint64_t left = request.row_limit;
    for (std::size_t i = 0; i < table->ranges.size() && left > 0; ++i) {
      const bool last = i + 1 == table->ranges.size();
      const std::string& from = table->ranges[i].from;
      if (!request.bounds.to.empty() && from >= request.bounds.to) break;
      if (!last && table->ranges[i + 1].from <= request.bounds.from) continue;
      CO_TRY(const auto tablet, table->readable(i));
      request.row_limit = left;
      CO_TRY(const std::unique_ptr<table::TabletScan> scan, tablet->reader().scan(request));
      CO_TRY_VOID(co_await scan_one(*scan, visit, left));
    }
    co_return Result<void>();
  }
  static Task<Result<void>> scan_one(table::TabletScan& scan, const Visit& visit,
                                     std::uint64_t& left) {
    table::ColumnBatch batch;
    for (;;) {
      CO_TRY(const table::TabletScan::Step step, scan.next(batch));
      if (step == table::TabletScan::Step::kEnd) co_return Result<void>();
      if (step == table::TabletScan::Step::kNeedsData) {
        CO_TRY_VOID(co_await scan.load());
        continue;
      }
      for (std::size_t row = 0; row < batch.rows; ++row) visit(batch, row);
      left -= std::min<std::uint64_t>(left, batch.rows);
    }
  }

  SimWorld world_;
  TestStorage storage_;
  std::unique_ptr<SchemeHost> scheme_;
  std::unique_ptr<TableServices> services_;
  std::deque<Rowset> rowsets_;
  std::uint64_t transactions_ = 0;
};

}  // namespace moraine
