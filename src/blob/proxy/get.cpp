#include "blob/proxy/get.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/invariant.h"
#include "blob/proxy/data_plan.h"
#include "blob/proxy/read_session.h"
#include "blob/proxy/restore.h"
#include "blob/proxy/scan_plan.h"

namespace moraine::blob {
namespace {

void set_flags(GetItem& item, Ingress ingress) {
  item.keep = item.keep || keep_flag(ingress);
  item.do_not_keep = item.do_not_keep || do_not_keep_flag(ingress);
}

// A small range of a large blob is copied, so that it does not keep the whole blob in memory.
Slice range_of(const Slice& blob, const GetQuery& query) {
  const Slice range = blob.sub(query.shift, asked_bytes(query));
  return range.size() * 2 < blob.size() ? Slice::copy_of(range.span()) : range;
}

// One get of a group with several disks.
class GetRun {
 public:
  GetRun(ProxyContext& context, ViewPtr view, const GetRequest& request)
      : context_(context), view_(std::move(view)), request_(request) {}

  Task<std::optional<GetResult>> run();

 private:
  using Indexes = std::vector<std::uint32_t>;  // Indexes of queries.

  ReadMode mode(bool index_only) const;
  // Each of these sets the status of the items; a returned status other than kOk ends the get.
  Task<Status> read(Indexes indexes);
  Task<Status> scan(std::uint32_t from, std::uint32_t to);
  Task<Status> restore(std::vector<ScanPlan>& scans, std::uint32_t from, Indexes todo);
  Task<void> restore_worker(std::vector<ScanPlan>& scans, std::uint32_t from, const Indexes& todo);
  void finish_item(std::uint32_t index, Status status) { result_.items[index].status = status; }
  void explain(std::string reason) {
    if (result_.reason.empty()) result_.reason = std::move(reason);
  }

  ProxyContext& context_;
  ViewPtr view_;
  const GetRequest& request_;
  GetResult result_;
  std::vector<bool> finished_;
  // Shared by the restore workers.
  std::size_t next_restore_ = 0;
  Status restoring_ = Status::kOk;
};

ReadMode GetRun::mode(bool index_only) const {
  ReadMode mode;
  mode.index_only = index_only;
  mode.force_block = request_.force_block;
  mode.reader = request_.reader;
  mode.deadline = request_.deadline;
  return mode;
}

Task<Status> GetRun::read(Indexes indexes) {
  const ReadPreference preference = read_preference(context_, *view_);
  std::vector<DataPlan> plans;
  plans.reserve(indexes.size());
  for (const std::uint32_t index : indexes) {
    const GetQuery& query = request_.queries[index];
    plans.emplace_back(view_->geometry(), query.id, query.shift, asked_bytes(query), preference);
  }
  std::vector<ReadPlan*> pointers;
  for (DataPlan& plan : plans) pointers.push_back(&plan);
  ReadSession session(context_, view_, mode(false), std::move(pointers));
  const Status status = co_await session.run();
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const DataPlan& plan = plans[i];
    if (plan.broken().slots() != 0) {
      repair_in_background(context_, view_, plan.id(), plan.broken());
    }
    if (!plan.done()) continue;
    GetItem& item = result_.items[indexes[i]];
    const bool absent = plan.status() == Status::kError && has_bug(SeededBug::kNoDataOnError);
    finish_item(indexes[i], absent ? Status::kNoData : plan.status());
    finished_[indexes[i]] = true;
    item.data = plan.data();
    set_flags(item, plan.ingress());
    if (plan.status() != Status::kError) continue;
    item.damaged = plan.damaged();
    explain(session.reason(plan.damaged() ? "too many parts have a wrong checksum"
                                          : "not enough disks answered"));
  }
  if (status != Status::kOk) explain(session.reason("the get ended early"));
  co_return status;
}

// Looks up the queries [from, to) in all indexes, restores unconfirmed blobs, and reads the rest.
Task<Status> GetRun::scan(std::uint32_t from, std::uint32_t to) {
  const auto goal = request_.must_restore ? ScanPlan::Goal::kConfirmed : ScanPlan::Goal::kReadable;
  std::vector<ScanPlan> scans;
  scans.reserve(to - from);
  for (std::uint32_t i = from; i < to; ++i) {
    scans.emplace_back(view_->geometry(), request_.queries[i].id, goal);
  }
  std::vector<ReadPlan*> pointers;
  for (ScanPlan& plan : scans) pointers.push_back(&plan);
  ReadSession session(context_, view_, mode(true), std::move(pointers));
  const Status scanned = co_await session.run();
  if (scanned != Status::kOk) {
    explain(session.reason("the get ended early"));
    co_return scanned;
  }
  Indexes to_read;
  Indexes to_restore;
  for (std::uint32_t i = from; i < to; ++i) {
    const ScanPlan& plan = scans[i - from];
    set_flags(result_.items[i], plan.ingress());
    finished_[i] = true;
    switch (plan.outcome()) {
      case ScanPlan::Outcome::kEnough: to_read.push_back(i); break;
      case ScanPlan::Outcome::kRestorable: to_restore.push_back(i); break;
      case ScanPlan::Outcome::kAbsent: finish_item(i, Status::kNoData); break;
      case ScanPlan::Outcome::kUnknown:
        finish_item(i, Status::kError);
        explain(session.reason("not enough disks answered"));
        break;
    }
  }
  const Status restored = co_await restore(scans, from, std::move(to_restore));
  if (restored != Status::kOk) co_return restored;
  if (request_.index_only) {
    for (const std::uint32_t index : to_read) finish_item(index, Status::kOk);
    co_return Status::kOk;
  }
  for (const std::uint32_t index : to_read) finished_[index] = false;
  co_return co_await read(std::move(to_read));
}

Task<Status> GetRun::restore(std::vector<ScanPlan>& scans, std::uint32_t from, Indexes todo) {
  for (const std::uint32_t index : todo) finished_[index] = false;
  next_restore_ = 0;
  TaskScope workers;
  const std::size_t count = std::min(kRestoresAtOnce, todo.size());
  for (std::size_t i = 0; i < count; ++i) workers.spawn(restore_worker(scans, from, todo));
  co_await workers.join();
  co_return restoring_;
}

Task<void> GetRun::restore_worker(std::vector<ScanPlan>& scans, std::uint32_t from,
                                  const Indexes& todo) {
  while (next_restore_ < todo.size() && restoring_ == Status::kOk) {
    const std::uint32_t index = todo[next_restore_++];
    Restored restored =
        co_await restore_blob(context_, view_, scans[index - from], request_.deadline);
    if (!restored.reason.empty()) explain(std::move(restored.reason));
    switch (restored.status) {
      case Status::kOk:
        if (!request_.index_only) {
          result_.items[index].data = range_of(restored.blob, request_.queries[index]);
        }
        finish_item(index, Status::kOk);
        break;
      case Status::kNoData: finish_item(index, Status::kNoData); break;
      case Status::kRace:
      case Status::kBlocked:
      case Status::kDeadline: restoring_ = restored.status; co_return;
      default: finish_item(index, Status::kError);
    }
    finished_[index] = true;
  }
}

Task<std::optional<GetResult>> GetRun::run() {
  const auto count = static_cast<std::uint32_t>(request_.queries.size());
  finished_.assign(count, false);
  result_.items.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    result_.items[i].id = request_.queries[i].id;
    result_.items[i].shift = request_.queries[i].shift;
  }
  result_.status = Status::kOk;
  for (std::uint32_t from = 0; from < count && result_.status == Status::kOk;) {
    const std::uint32_t to =
        static_cast<std::uint32_t>(std::min<std::size_t>(count, from + kPartQueriesMax));
    if (request_.must_restore || request_.index_only) {
      result_.status = co_await scan(from, to);
    } else {
      Indexes indexes;
      for (std::uint32_t i = from; i < to; ++i) indexes.push_back(i);
      result_.status = co_await read(std::move(indexes));
    }
    from = to;
  }
  if (result_.status == Status::kRace) co_return std::nullopt;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!finished_[i]) finish_item(i, result_.status);
  }
  co_return std::move(result_);
}

Task<std::optional<GetResult>> get_group(ProxyContext& context, ViewPtr view,
                                         const GetRequest& request) {
  GetRun run(context, std::move(view), request);
  co_return co_await run.run();
}

}  // namespace

std::uint32_t asked_bytes(const GetQuery& query) {
  const std::uint32_t rest = query.id.size() - query.shift;
  return query.size == 0 ? rest : std::min(query.size, rest);
}

Task<std::optional<GetResult>> get_once(ProxyContext& context, ViewPtr view,
                                        const GetRequest& request) {
  if (view->geometry().disks() == 1) return get_single(context, std::move(view), request);
  return get_group(context, std::move(view), request);
}

}  // namespace moraine::blob
