// A store log that keeps blobs in memory and fails on demand, and executors that know which of them
// is running. For tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/sync.h"
#include "table/tablet/maintenance/maintenance.h"
#include "table/tablet/seeded_bug.h"

namespace moraine::table {

// One of several executors on one simulated loop that know which of them is running.
class LabelledExecutor final : public Executor {
 public:
  // What runs outside of labelled executors, as a test does, counts as running on a lane.
  explicit LabelledExecutor(Executor& loop, bool lane = false) : loop_(loop), lane_(lane) {}
  void post(Callback callback) override {
    loop_.post([this, call = std::move(callback)]() mutable { run(call); });
  }
  Instant now() const override { return loop_.now(); }
  TimerId schedule(Instant when, Callback callback) override {
    return loop_.schedule(when, [this, call = std::move(callback)]() mutable { run(call); });
  }
  void cancel(TimerId timer) override { loop_.cancel(timer); }
  bool on_this_thread() const override {
    return running_ == this || (lane_ && running_ == nullptr);
  }

 private:
  void run(Callback& callback) {
    const LabelledExecutor* outer = std::exchange(running_, this);
    callback();
    running_ = outer;
  }

  Executor& loop_;
  const bool lane_;
  static inline const LabelledExecutor* running_ = nullptr;
};

class FakeStoreLog final : public StoreLog, public BlobReader {
 public:
  explicit FakeStoreLog(Executor& lane) : lane_(lane) {}

  Task<Result<std::vector<BlobId>>> put_blobs(std::uint64_t build,
                                              std::vector<Slice> blobs) override {
    EXPECT_TRUE(lane_.on_this_thread());
    for (const Slice& blob : blobs) in_flight += blob.size();
    in_flight_most = std::max(in_flight_most, in_flight);
    co_await sleep_for(lane_, 1ms);
    std::vector<BlobId> ids;
    for (Slice& blob : blobs) {
      in_flight -= blob.size();
      ids.emplace_back(TabletId{7}, 1, ++step_, 2, static_cast<std::uint32_t>(blob.size()), 0);
      if (failures == 0) stored[ids.back()] = std::move(blob);
      builds[build].push_back(ids.back());
    }
    if (failures > 0) {
      --failures;
      co_return fail(Errc::kUnavailable, "the log says no");
    }
    co_return ids;
  }
  Task<Result<void>> drop_build(std::uint64_t build) override {
    ++dropped_builds;
    for (const BlobId& id : builds[build]) stored.erase(id);
    co_return Result<void>{};
  }
  Task<Result<void>> replace(Replace change, std::function<void()> confirmed) override {
    co_await sleep_for(lane_, 1ms);
    replaced.push_back(std::move(change));
    confirmed();
    co_return Result<void>{};
  }
  std::uint64_t next_chunk_id() override { return ++chunk_ids_; }
  void discard(const ChunkRecord& record) override {
    for (const BlobId& id : record.data) stored.erase(id);
    for (const HunkUse& use : record.hunks) stored.erase(use.blob);
    stored.erase(record.meta);
    ++discarded;
  }
  Timestamp needed_since() const override { return needed; }

  Task<Result<Slice>> read(BlobId id, std::uint32_t offset, std::uint32_t size) override {
    EXPECT_TRUE(lane_.on_this_thread());
    co_await sleep_for(lane_, 100us);
    const auto found = stored.find(id);
    if (found == stored.end()) co_return fail(Errc::kNotFound, "blob " + id.to_string());
    const ByteSpan bytes = found->second.span().subspan(offset, size);
    co_return Slice::copy_of(bytes);
  }

  std::size_t failures = 0;  // This many puts fail.
  std::size_t in_flight = 0;
  std::size_t in_flight_most = 0;
  std::size_t dropped_builds = 0;
  std::size_t discarded = 0;
  Timestamp needed = kMaxTimestamp;
  std::map<BlobId, Slice> stored;
  std::map<std::uint64_t, std::vector<BlobId>> builds;
  std::vector<Replace> replaced;

 private:
  Executor& lane_;
  Step step_ = 0;
  std::uint64_t chunk_ids_ = 0;
};

}  // namespace moraine::table
