// Durable puts: against the raw disk (large blobs, block-4-2) and against RocksDB (small blobs).

#include <fmt/format.h>

#include <filesystem>

#include "bench/blob_bench.h"
#include "bench/raw_disk.h"
#include "bench/rocks.h"
#include "bench/store.h"

namespace moraine::bench {
namespace {

constexpr std::uint32_t kLarge = 1u << 20;
constexpr std::uint32_t kSmall = 4u << 10;
constexpr std::uint64_t kMiB = 1u << 20;

struct Contest {
  Rounds ours;
  Rounds uring;
  Rounds threads;
};

// The store and the raw disk in turns; both overwrite blocks that were written before.
Result<Contest> against_raw(Store& store, RawFiles& raw, const Store::Load& load, int rounds,
                            double write_factor) {
  RawFiles::Plan plan;
  plan.size = load.size;
  plan.depth = load.depth;
  plan.count = static_cast<std::uint64_t>(static_cast<double>(load.count) * write_factor);
  Contest contest;
  for (int i = 0; i < rounds; ++i) {
    TRY(Round ours, store.put(load));
    contest.ours.add(std::move(ours));
    plan.engine = RawEngine::kUring;
    TRY(Round uring, raw.write_durably(plan));
    contest.uring.add(std::move(uring));
    plan.engine = RawEngine::kThreads;
    TRY(Round threads, raw.write_durably(plan));
    contest.threads.add(std::move(threads));
  }
  return contest;
}

double better(const Contest& contest) {
  return std::max(contest.uring.megabytes_per_second(), contest.threads.megabytes_per_second());
}

void note(Report& report, const Contest& contest) {
  report.note("ours", contest.ours);
  report.note("raw, io_uring", contest.uring);
  report.note("raw, threads", contest.threads);
}

}  // namespace

Result<void> bench_put_large(const Setting& setting) {
  const int rounds = setting.quick ? 5 : 9;
  const Store::Load load{kLarge, 16, setting.quick ? 192u : 384u};
  StoreOptions options;
  options.folder = setting.folder.path();
  options.device_bytes = static_cast<std::uint64_t>(rounds + 1) * load.count * load.size * 5 / 4 +
                         std::uint64_t{768} * kMiB;
  options.prefill = true;
  const std::string raw_path = setting.folder.file("raw");
  {
    TRY(const auto store, Store::open(options));
    TRY(RawFiles raw, RawFiles::create({raw_path}, load.count * load.size));
    TRY(const Round warm, store->put({kLarge, 16, load.count / 4}));
    (void)warm;
    TRY(const Contest contest, against_raw(*store, raw, load, rounds, 1));
    Line line{"blob", "put_1m_depth16",     contest.ours.megabytes_per_second(),
              "MB/s", "raw durable writes", better(contest)};
    line.goal = Goal{Goal::Of::kRatioAtLeast, 0.85};
    setting.report.add(std::move(line));
    note(setting.report, contest);
  }
  discard(raw_path);
  discard(Store::device_path(options, 0));
  return {};
}

Result<void> bench_put_small(const Setting& setting) {
  const int rounds = setting.quick ? 5 : 9;
  const Store::Load load{kSmall, 64, setting.quick ? 30'000u : 100'000u};
  const std::uint64_t peer_count = load.count / 4;
  StoreOptions options;
  options.folder = setting.folder.path();
  options.device_bytes = static_cast<std::uint64_t>(rounds + 1) * load.count * load.size * 5 / 4 +
                         std::uint64_t{768} * kMiB;
  options.prefill = true;
  const std::string rocks_path = setting.folder.file("rocks");
  {
    TRY(const auto store, Store::open(options));
    TRY(const auto rocks, Rocks::open(rocks_path));
    TRY(const Round warm, store->put({kSmall, 64, load.count / 8}));
    TRY(const Round peer_warm, rocks->put(kSmall, 64, peer_count / 8));
    (void)warm;
    (void)peer_warm;
    Rounds ours;
    Rounds peer;
    for (int i = 0; i < rounds; ++i) {
      TRY(Round own, store->put(load));
      ours.add(std::move(own));
      TRY(Round other, rocks->put(kSmall, 64, peer_count));
      peer.add(std::move(other));
    }
    Line line{"blob",
              "put_4k_depth64",
              ours.operations_per_second(),
              "ops/s",
              "RocksDB, sync, 64 threads",
              peer.operations_per_second()};
    line.goal = Goal{Goal::Of::kRatioAtLeast, 3};
    setting.report.add(std::move(line));
    setting.report.note("ours", ours);
    setting.report.note("RocksDB", peer);
  }
  discard(rocks_path);
  discard(Store::device_path(options, 0));
  return {};
}

Result<void> bench_block42(const Setting& setting) {
  const int rounds = setting.quick ? 5 : 9;
  const Store::Load load{kLarge, 16, setting.quick ? 128u : 256u};
  constexpr double kCopies = 1.5;  // Bytes on the disks for each byte of a blob.
  StoreOptions options;
  options.species = blob::Species::kBlock42;
  options.folder = setting.folder.file("group");
  options.device_bytes = static_cast<std::uint64_t>(rounds + 1) * load.count * load.size / 4 +
                         std::uint64_t{896} * kMiB;
  options.prefill = true;
  const std::string raw_folder = setting.folder.file("raws");
  std::filesystem::create_directories(options.folder);
  std::filesystem::create_directories(raw_folder);
  {
    TRY(const auto store, Store::open(options));
    std::vector<std::string> paths;
    for (int i = 0; i < 8; ++i) paths.push_back(fmt::format("{}/{}", raw_folder, i));
    TRY(RawFiles raw, RawFiles::create(paths, std::uint64_t{64} * kMiB));
    TRY(const Round warm, store->put({kLarge, 16, load.count / 4}));
    (void)warm;
    TRY(const Contest contest, against_raw(*store, raw, load, rounds, kCopies));
    Line line{"blob", "put_block42_1m_depth16", contest.ours.megabytes_per_second(),
              "MB/s", "raw over 8 files / 1.5", better(contest)};
    line.scale = 1 / kCopies;
    line.goal = Goal{Goal::Of::kRatioAtLeast, 0.7};
    setting.report.add(std::move(line));
    note(setting.report, contest);
    std::uint64_t written = 0;
    for (std::uint32_t order = 0; order < 8; ++order) {
      written += store->device(order).stats().bytes_appended;
    }
    const auto put = static_cast<double>(store->blobs() * load.size);
    setting.report.note(fmt::format("ours wrote {:.2f} bytes for each byte of a blob",
                                    static_cast<double>(written) / put));
  }
  discard(options.folder);
  discard(raw_folder);
  return {};
}

}  // namespace moraine::bench
