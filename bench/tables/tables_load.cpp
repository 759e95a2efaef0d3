#include "bench/tables/tables_load.h"

#include <fmt/format.h>

namespace moraine::bench {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;
// Size of a device per byte of rows: log, chunks before and after a compaction.
constexpr std::uint64_t kDeviceFactor = 6;

}  // namespace

Pair::~Pair() {
  ours.reset();
  peer.reset();
  if (!our_folder.empty()) discard(our_folder);
  if (!peer_folder.empty()) discard(peer_folder);
}

Result<void> Pair::load(RowRange range, std::uint64_t version, Report& report) const {
  const Stopwatch own;
  TRY_VOID(ours->load(range, version));
  TRY_VOID(ours->settle());
  const double our_seconds = own.seconds();
  const Stopwatch other;
  TRY_VOID(peer->load(range, version));
  TRY_VOID(peer->settle());
  report.note(fmt::format("{} rows written and settled: ours {:.1f} s, durably; peer {:.1f} s",
                          range.count, our_seconds, other.seconds()));
  return {};
}

Result<void> Pair::settle() const {
  TRY_VOID(ours->settle());
  return peer->settle();
}

Result<Pair> open_pair(const Setting& setting, const PairOptions& options) {
  Pair pair;
  pair.our_folder = setting.folder.file(options.name + "-moraine");
  pair.peer_folder = setting.folder.file(options.name + "-rocksdb");
  OurOptions own;
  own.folder = pair.our_folder;
  own.device_bytes = options.rows * kRowBytes * kDeviceFactor + 1'024 * kMiB;
  own.cache_bytes = options.cache_bytes;
  own.row_cache_bytes = options.row_cache_bytes;
  own.wide = options.wide;
  own.table = options.table;
  TRY(pair.ours, OurTable::open(own));
  RocksOptions other;
  other.folder = pair.peer_folder;
  other.cache_bytes = options.cache_bytes + options.row_cache_bytes;
  other.wide = options.wide;
  other.statistics = options.statistics;
  TRY(pair.peer, RocksTable::open(other));
  return pair;
}

Result<Pair> load_pair(const Setting& setting, const PairOptions& options) {
  TRY(Pair pair, open_pair(setting, options));
  TRY_VOID(pair.load({0, options.rows}, 0, setting.report));
  return pair;
}

}  // namespace moraine::bench
