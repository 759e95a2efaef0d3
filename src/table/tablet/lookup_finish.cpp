// The part of a lookup that waits: for blocks, hunks and undecided rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/sync.h"
#include "table/model/value_check.h"
#include "table/tablet/hunk_reader.h"
#include "table/tablet/lookup_blocks.h"
#include "table/tablet/lookup_pass.h"
#include "table/tablet/tablet_reader.h"

namespace moraine::table {
namespace {

constexpr std::size_t kKeysFinishedAtOnce = 256;
constexpr std::size_t kLookupRoundsMax = 1'000;

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
    if (round != 0 && executor_.now() >= deadline && !keys.waiting.empty()) break;
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
  const Instant deadline = executor_.now() + undecided_timeout();
  for (std::size_t first = 0; first < left.keys.size(); first += kKeysFinishedAtOnce) {
    const std::size_t last = std::min(first + kKeysFinishedAtOnce, left.keys.size());
    std::vector<std::uint32_t> part(left.keys.begin() + static_cast<std::ptrdiff_t>(first),
                                    left.keys.begin() + static_cast<std::ptrdiff_t>(last));
    Result<void> finished = co_await finish_part(request, rows, std::move(part), deadline);
    if (!finished) co_return finished;
  }
  co_return Result<void>();
}

}  // namespace moraine::table
