#include "table/tablet/read/tablet_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/sync.h"
#include "table/model/value_check.h"
#include "table/tablet/read/hunk_reader.h"
#include "table/tablet/read/lookup_pass.h"
#include "table/tablet/read/scan.h"
#include "table/tablet/read/scan_split.h"

namespace moraine::table {
namespace {

constexpr std::size_t kKeysPrefetched = 16;
constexpr int kViewRetriesMax = 3;
// One round finds the missing blocks, the next one reads them; more are needed when stores change.
constexpr int kRoundsInlineMax = 4;
constexpr std::size_t kKeysFinishedAtOnce = 256;
constexpr std::size_t kLookupRoundsMax = 1'000;

// Leaves every key of a request to the executor.
void leave_all(std::size_t keys, UnfinishedLookup& left) {
  left.keys.clear();
  for (std::size_t i = 0; i < keys; ++i) left.keys.push_back(static_cast<std::uint32_t>(i));
}

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

struct LeftKeys {
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> waiting;  // Those of them whose row is undecided.
};

// Reads what can be read now. The rest stays in `keys`.
Result<void> read_unfinished(const ViewHolder& views, const LookupRequest& request,
                             LookupPaths paths, Rowset& rows, LookupHelp& help, LeftKeys& keys,
                             LookupStatistics& statistics) {
  const EpochGuard guard;
  Result<LookupPass> pass = LookupPass::begin(views.get(), request, paths, rows, &help);
  if (!pass) return std::unexpected(std::move(pass).error());
  keys.waiting.clear();
  std::erase_if(keys.all, [&](std::uint32_t at) {
    const LookupPass::State state = pass->read(at, key_hash(as_bytes(request.keys[at])));
    if (state == LookupPass::State::kWaits) keys.waiting.push_back(at);
    return state == LookupPass::State::kDone;
  });
  auto counters = statistics.here();
  pass->count(counters);
  return {};
}

// Stores the bytes of a hunk in the cached row.
void cache_hunk(RowCache& cache, std::string_view key, const HunkRef& ref, std::string_view bytes) {
  std::array<std::byte, kHunkRefBytes> reference;
  encode_hunk(ref, reference.data());
  cache.keep_hunk(as_bytes(key), key_hash(as_bytes(key)), reference, bytes);
}

Task<Result<void>> fill_hunks(std::vector<HunkCell> cells, BlobReader& blobs,
                              ChunkReadCounters& counters, const LookupRequest& request,
                              RowCache* cache, Rowset& rows) {
  std::vector<HunkRef> refs;
  refs.reserve(cells.size());
  for (const HunkCell& cell : cells) refs.push_back(cell.ref);
  Result<std::vector<Slice>> bytes = co_await read_hunks(refs, blobs, counters);
  if (!bytes) co_return std::unexpected(std::move(bytes).error());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view text = rows.keep((*bytes)[i].text());
    if (cache != nullptr) cache_hunk(*cache, request.keys[cells[i].row], cells[i].ref, text);
    Value value = cells[i].any ? Value::any(text) : Value(text);
    TextMemory memory;
    if (cells[i].wrap) value = rows.keep(as_any(value, memory));
    rows.cells(cells[i].row)[cells[i].column] = value;
  }
  co_return Result<void>();
}

}  // namespace

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

Result<void> TabletReader::read_missing_blocks_inline(const LookupRequest& request, Rowset& rows,
                                                      UnfinishedLookup& left) const {
  Result<void> read = read_blocks_here(request, rows, left);
  if (!read || left.keys.empty()) observe(left.begun);
  return read;
}

Result<void> TabletReader::read_blocks_here(const LookupRequest& request, Rowset& rows,
                                            UnfinishedLookup& left) const {
  if (left.keys.size() > kBlocksInlineMax) return {};
  const LookupPaths paths = paths_for(request);
  LookupHelp help;
  help.takes_hunks = false;
  for (int round = 0; round < kRoundsInlineMax && !left.keys.empty(); ++round) {
    {
      const EpochGuard guard;
      const TabletView& view = views_.get();
      Result<LookupPass> pass = LookupPass::begin(view, request, paths, rows, &help);
      if (!pass) return std::unexpected(std::move(pass).error());
      std::erase_if(left.keys, [&](std::uint32_t at) {
        const std::uint64_t hash = key_hash(as_bytes(request.keys[at]));
        return pass->read(at, hash) == LookupPass::State::kDone;
      });
      // A store that was added meanwhile may have the versions of a mark that was resolved
      // meanwhile.
      if (&view != &views_.get() && request.timestamp != kAsyncLastCommitted) {
        rows.reset(request.keys.size(), request.columns.size());
        leave_all(request.keys.size(), left);
        return {};
      }
      auto counters = statistics_.lookup.here();
      pass->count(counters);
    }
    if (help.missing.empty()) return {};
    if (!load_blocks_inline(std::exchange(help.missing, {}), help.pins)) return {};
  }
  return {};
}

Task<Result<void>> TabletReader::finish_part(const LookupRequest& request, Rowset& rows,
                                             std::vector<std::uint32_t> part,
                                             Instant deadline) const {
  LookupHelp help;
  LeftKeys keys{.all = std::move(part), .waiting = {}};
  const LookupPaths paths = paths_for(request);
  for (std::size_t round = 0; round < kLookupRoundsMax; ++round) {
    Result<void> read =
        read_unfinished(views_, request, paths, rows, help, keys, statistics_.lookup);
    if (!read) co_return read;
    if (keys.all.empty()) {
      if (help.hunks.empty()) co_return read;
      co_return co_await fill_hunks(std::move(help.hunks), blobs_,
                                    statistics_.hunks.of(ReadKind::kLookup), request, paths.cache,
                                    rows);
    }
    const Instant now = executor_.now();
    if (now >= request.deadline) break;
    if (round != 0 && now >= deadline && !keys.waiting.empty()) break;
    Result<void> loaded = co_await load_blocks(std::exchange(help.missing, {}), help.pins);
    if (!loaded) co_return loaded;
    auto counters = statistics_.lookup.here();
    counters.add(LookupStatistics::kWaits, keys.waiting.size());
    counters.add(LookupStatistics::kRetries, keys.all.size());
    for (const std::uint32_t at : keys.waiting) {
      Result<void> decided = co_await undecided_.wait_decided(std::string(request.keys[at]),
                                                              request.timestamp, deadline);
      if (!decided) co_return decided;
    }
  }
  co_return fail(Errc::kTimeout,
                 fmt::format("{} rows are still undecided or unread", keys.all.size()));
}

Task<Result<void>> TabletReader::finish_lookup(const LookupRequest& request, Rowset& rows,
                                               UnfinishedLookup left) const {
  const Instant begun = left.begun;
  Result<void> finished = co_await finish_parts(request, rows, std::move(left));
  observe(begun);
  co_return finished;
}

Task<Result<void>> TabletReader::finish_parts(const LookupRequest& request, Rowset& rows,
                                              UnfinishedLookup left) const {
  co_await hop(executor_);
  const Instant deadline = std::min(request.deadline, executor_.now() + undecided_timeout());
  for (std::size_t first = 0; first < left.keys.size(); first += kKeysFinishedAtOnce) {
    const std::size_t last = std::min(first + kKeysFinishedAtOnce, left.keys.size());
    std::vector<std::uint32_t> part(left.keys.begin() + static_cast<std::ptrdiff_t>(first),
                                    left.keys.begin() + static_cast<std::ptrdiff_t>(last));
    Result<void> finished = co_await finish_part(request, rows, std::move(part), deadline);
    if (!finished) co_return finished;
  }
  co_return Result<void>();
}

Task<Result<void>> TabletReader::lookup(const LookupRequest& request, Rowset& rows) const {
  UnfinishedLookup left;
  Result<void> tried = try_lookup(request, rows, left);
  if (!tried || left.keys.empty()) co_return tried;
  co_return co_await finish_lookup(request, rows, std::move(left));
}

std::vector<std::string> TabletReader::split_keys(const KeyBounds& bounds,
                                                  std::size_t parts) const {
  return split_range(*views_.hold(), bounds, parts);
}

RowStart TabletReader::place_of_row(std::uint64_t row) const {
  return table::place_of_row(*views_.hold(), row);
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
