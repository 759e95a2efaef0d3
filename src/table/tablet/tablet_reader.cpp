#include "table/tablet/tablet_reader.h"

#include <algorithm>
#include <array>

#include "io/sync.h"
#include "table/tablet/lookup_pass.h"
#include "table/tablet/scan.h"

namespace moraine::table {
namespace {

constexpr std::size_t kKeysPrefetched = 16;
constexpr int kViewRetriesMax = 3;

// Reads keys in groups: first all prefetches of a group, then its reads, so that cache misses
// overlap.
void read_group(LookupPass& pass, std::span<const std::string_view> keys, std::size_t first,
                UnfinishedLookup& left) {
  std::array<std::uint64_t, kKeysPrefetched> hashes;
  const std::size_t count = std::min(keys.size() - first, kKeysPrefetched);
  for (const std::string_view next :
       keys.subspan(first + count).first(std::min(keys.size() - first - count, kKeysPrefetched))) {
    __builtin_prefetch(next.data());
  }
  for (std::size_t i = 0; i < count; ++i) {
    hashes[i] = key_hash(as_bytes(keys[first + i]));
  }
  if (count > 1) pass.prefetch(first, std::span(hashes).first(count));
  for (std::size_t i = 0; i < count; ++i) {
    if (pass.read(first + i, hashes[i]) != LookupPass::State::kDone) {
      left.keys.push_back(static_cast<std::uint32_t>(first + i));
    }
  }
}

}  // namespace

void leave_all(std::size_t keys, UnfinishedLookup& left) {
  left.keys.clear();
  for (std::size_t i = 0; i < keys; ++i) left.keys.push_back(static_cast<std::uint32_t>(i));
}

TabletReader::TabletReader(Executor& executor, const ViewHolder& views, UndecidedRows& undecided,
                           BlobReader& blobs, RowCache* cache, ReadStatistics& statistics,
                           ReaderOptions options)
    : executor_(executor),
      views_(views),
      undecided_(undecided),
      blobs_(blobs),
      cache_(cache),
      statistics_(statistics) {
  set_options(std::move(options));
}

void TabletReader::set_options(ReaderOptions options) {
  cache_by_default_.store(options.cache_by_default, std::memory_order_relaxed);
  use_key_filter_.store(options.use_key_filter, std::memory_order_relaxed);
  undecided_timeout_.store(options.undecided_timeout.count(), std::memory_order_relaxed);
  options_ = std::move(options);
}

LookupPaths TabletReader::paths_for(const LookupRequest& request) const {
  LookupPaths paths;
  paths.use_key_filter = use_key_filter_.load(std::memory_order_relaxed);
  const bool cached = cache_ != nullptr && request.use_lookup_cache.value_or(
                                               cache_by_default_.load(std::memory_order_relaxed));
  if (cached && cache_->rows_max() != 0) paths.cache = cache_;
  return paths;
}

void TabletReader::observe(Instant begun) const {
  const Duration taken = executor_.now() - begun;
  statistics_.lookup_duration.observe(static_cast<std::uint64_t>(taken.count()));
}

// A lookup of one key in memory takes little more than reading the clock: a few of them are timed
// and represent the others. One that turns out to need more is timed from then on.
Result<void> TabletReader::try_lookup(const LookupRequest& request, Rowset& rows,
                                      UnfinishedLookup& left) const {
  const bool timed = request.keys.size() != 1 || statistics_.lookup_duration.wants_sample();
  if (timed) left.begun = executor_.now();
  TRY_VOID(read_in_memory(request, rows, left));
  if (!left.keys.empty()) {
    if (!timed) left.begun = executor_.now();
  } else if (!timed) {
    statistics_.lookup_duration.observe_untimed();
  } else if (request.keys.size() != 1) {
    observe(left.begun);
  } else {
    const Duration taken = executor_.now() - left.begun;
    statistics_.lookup_duration.observe_sample(static_cast<std::uint64_t>(taken.count()));
  }
  return {};
}

Result<void> TabletReader::read_in_memory(const LookupRequest& request, Rowset& rows,
                                          UnfinishedLookup& left) const {
  const EpochGuard guard;
  const LookupPaths paths = paths_for(request);
  for (int attempt = 0; attempt < kViewRetriesMax; ++attempt) {
    const TabletView& view = views_.get();
    rows.reset(request.keys.size(), request.columns.size());
    left.keys.clear();
    Result<LookupPass> pass = LookupPass::begin(view, request, paths, rows, nullptr);
    if (!pass) return std::unexpected(std::move(pass).error());
    for (std::size_t at = 0; at < request.keys.size(); at += kKeysPrefetched) {
      read_group(*pass, request.keys, at, left);
    }
    // A store that was added meanwhile may have the versions of a mark that was resolved meanwhile.
    if (&view == &views_.get() || request.timestamp == kAsyncLastCommitted) {
      auto counters = statistics_.lookup.here();
      pass->count(counters);
      counters.add(LookupStatistics::kRequests, 1);
      return {};
    }
  }
  rows.reset(request.keys.size(), request.columns.size());
  leave_all(request.keys.size(), left);
  statistics_.lookup.add(LookupStatistics::kRequests, 1);
  return {};
}

Task<Result<void>> TabletReader::lookup(const LookupRequest& request, Rowset& rows) const {
  UnfinishedLookup left;
  Result<void> tried = try_lookup(request, rows, left);
  if (!tried || left.keys.empty()) co_return tried;
  co_return co_await finish_lookup(request, rows, std::move(left));
}

Result<std::unique_ptr<TabletScan>> TabletReader::scan(ScanRequest request) const {
  const ScanSources sources{.executor = executor_,
                            .views = views_,
                            .undecided = undecided_,
                            .blobs = blobs_,
                            .statistics = statistics_,
                            .undecided_timeout = undecided_timeout(),
                            .deleted_range = deleted_range_};
  return open_scan(std::move(request), sources);
}

}  // namespace moraine::table
