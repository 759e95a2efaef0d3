// The part of a lookup that reads blocks on the caller's thread.
#include <algorithm>

#include "table/tablet/lookup_blocks.h"
#include "table/tablet/lookup_pass.h"
#include "table/tablet/tablet_reader.h"

namespace moraine::table {
namespace {

// One round finds the missing blocks, the next one reads them; more are needed when stores change.
constexpr int kRoundsInlineMax = 4;

}  // namespace

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

}  // namespace moraine::table
