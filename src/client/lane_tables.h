// LaneTables: the tables of a node, for callers on any of its lanes.
//
// Promise    As Tables: changes run on the control lane and return to the lane that awaits them.
// Threading  Any lane; holder(), known() and paths() on any thread.
#pragma once

#include "client/tables.h"
#include "io/run_on.h"

namespace moraine {

class LaneTables final : public Tables {
 public:
  // Both outlive every call. holder(), known() and paths() of `tables` may be called on any thread.
  LaneTables(Tables& tables, Executor& control) : tables_(tables), control_(control) {}

  std::shared_ptr<TableHolder> holder(const std::string& path) const override {
    return tables_.holder(path);
  }
  bool known() const override { return tables_.known(); }
  std::vector<std::string> paths() const override { return tables_.paths(); }
  Task<Result<TableDescription>> describe(std::string path) override {
    co_return co_await there([&] { return tables_.describe(std::move(path)); });
  }
  Task<Result<TableDescription>> inspect(std::string path) override {
    co_return co_await there([&] { return tables_.inspect(std::move(path)); });
  }
  Task<Result<void>> create(std::string path, NewTable table) override {
    co_return co_await there([&] { return tables_.create(std::move(path), std::move(table)); });
  }
  Task<Result<void>> remove(std::string path) override {
    co_return co_await there([&] { return tables_.remove(std::move(path)); });
  }
  Task<Result<void>> remove_directory(std::string path) override {
    co_return co_await there([&] { return tables_.remove_directory(std::move(path)); });
  }
  Task<Result<void>> mount(std::string path, MountState state, TabletRange range = {}) override {
    co_return co_await there([&] { return tables_.mount(std::move(path), state, range); });
  }
  Task<Result<void>> unmount(std::string path, TabletRange range = {}) override {
    co_return co_await there([&] { return tables_.unmount(std::move(path), range); });
  }
  Task<Result<void>> freeze(std::string path, TabletRange range = {}) override {
    co_return co_await there([&] { return tables_.freeze(std::move(path), range); });
  }
  Task<Result<void>> unfreeze(std::string path, TabletRange range = {}) override {
    co_return co_await there([&] { return tables_.unfreeze(std::move(path), range); });
  }
  Task<Result<void>> remount(std::string path, TabletRange range = {}) override {
    co_return co_await there([&] { return tables_.remount(std::move(path), range); });
  }
  Task<Result<void>> remount(std::string path, TableMountOptions options) override {
    co_return co_await there([&] { return tables_.remount(std::move(path), std::move(options)); });
  }
  Task<Result<void>> set_options(std::string path, TableOptions options) override {
    co_return co_await there(
        [&] { return tables_.set_options(std::move(path), std::move(options)); });
  }
  Task<Result<void>> set_attributes(std::string path,
                                    std::map<std::string, std::string> named) override {
    co_return co_await there(
        [&] { return tables_.set_attributes(std::move(path), std::move(named)); });
  }
  Task<Result<void>> change_attributes(std::string path, TableAttributeChanges changes) override {
    co_return co_await there(
        [&] { return tables_.change_attributes(std::move(path), std::move(changes)); });
  }
  Task<Result<void>> alter(std::string path, TableSchema schema) override {
    co_return co_await there([&] { return tables_.alter(std::move(path), std::move(schema)); });
  }
  using Tables::reshard;
  Task<Result<void>> reshard(std::string path, TabletRange range, NewTablets tablets) override {
    co_return co_await there(
        [&] { return tables_.reshard(std::move(path), range, std::move(tablets)); });
  }
  Task<Result<void>> write_static(std::string path,
                                  std::shared_ptr<const table::StaticRows> rows) override {
    co_return co_await there(
        [&] { return tables_.write_static(std::move(path), std::move(rows)); });
  }
  Task<Result<void>> rewrite_static(std::string path,
                                    std::shared_ptr<const table::StaticRows> rows) override {
    co_return co_await there(
        [&] { return tables_.rewrite_static(std::move(path), std::move(rows)); });
  }
  Task<Result<void>> write_batches(std::string path, std::shared_ptr<const TableSchema> schema,
                                   table::StaticBatches rows, table::StaticWrite how) override {
    co_return co_await there([&] {
      return tables_.write_batches(std::move(path), std::move(schema), std::move(rows), how);
    });
  }
  Task<Result<void>> make_dynamic(std::string path) override {
    co_return co_await there([&] { return tables_.make_dynamic(std::move(path)); });
  }
  Task<Result<void>> trim(std::string path, std::size_t tablet, std::uint64_t rows) override {
    co_return co_await there([&] { return tables_.trim(std::move(path), tablet, rows); });
  }
  Task<Result<Timestamp>> flushed_before(std::string path) override {
    co_return co_await there([&] { return tables_.flushed_before(std::move(path)); });
  }
  Task<Result<std::shared_ptr<table::TableTablet>>> open_unmounted(std::string path,
                                                                   TabletId tablet) override {
    co_return co_await there([&] { return tables_.open_unmounted(std::move(path), tablet); });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> there(Call call) {
    return run_there(control_, std::move(call));
  }

  Tables& tables_;
  Executor& control_;
};

}  // namespace moraine
