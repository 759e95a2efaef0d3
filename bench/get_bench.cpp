// Gets: single sectors against the raw disk, repeated ones from the cache, and large blobs of a
// group that has lost two of its disks against those of a complete one.

#include <fmt/format.h>

#include <filesystem>

#include "bench/blob_bench.h"
#include "bench/raw_disk.h"
#include "bench/store.h"

namespace moraine::bench {
namespace {

constexpr std::uint32_t kLarge = 1u << 20;
constexpr std::uint32_t kSmall = 4u << 10;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint32_t kDepth = 32;
constexpr std::uint64_t kHotBlobs = 4'096;  // 16 MiB: a quarter of the cache.

Result<void> from_device(const Setting& setting, const StoreOptions& options) {
  const int rounds = setting.quick ? 5 : 9;
  const std::uint64_t count = setting.quick ? 40'000 : 100'000;
  TRY(const auto store, Store::open(options));
  TRY(RawFiles raw, RawFiles::open({Store::device_path(options, 0)}));
  RawFiles::Plan plan{RawEngine::kUring, kSmall, kDepth, count, store->used_bytes(0)};
  Rounds ours;
  Rounds uring;
  Rounds threads;
  for (int i = 0; i < rounds; ++i) {
    TRY(Round own, store->get({kSmall, kDepth, count}, store->blobs()));
    ours.add(std::move(own));
    plan.engine = RawEngine::kUring;
    TRY(Round by_uring, raw.read_randomly(plan));
    uring.add(std::move(by_uring));
    plan.engine = RawEngine::kThreads;
    TRY(Round by_threads, raw.read_randomly(plan));
    threads.add(std::move(by_threads));
  }
  Line line{"blob",
            "get_4k_depth32",
            ours.operations_per_second(),
            "ops/s",
            "raw O_DIRECT preads",
            std::max(uring.operations_per_second(), threads.operations_per_second())};
  line.goal = Goal{Goal::Of::kRatioAtLeast, 0.8};
  setting.report.add(std::move(line));
  setting.report.note("ours", ours);
  setting.report.note("raw, io_uring", uring);
  setting.report.note("raw, threads", threads);
  return {};
}

Result<void> from_cache(const Setting& setting, StoreOptions options) {
  options.cache_bytes = std::uint64_t{64} * kMiB;
  TRY(const auto store, Store::open(options));
  TRY(const Round warm, store->get({kSmall, kDepth, kHotBlobs * 12}, kHotBlobs));
  (void)warm;
  Rounds hot;
  for (int i = 0; i < 5; ++i) {
    TRY(Round round, store->get({kSmall, 1, setting.quick ? 100'000u : 300'000u}, kHotBlobs));
    hot.add(std::move(round));
  }
  setting.report.add({"blob", "get_4k_cached", hot.operations_per_second(), "ops/s"});
  setting.report.note("ours, one at a time", hot);
  return {};
}

StoreOptions group_options(const Setting& setting, const char* name, std::uint64_t blobs) {
  StoreOptions options;
  options.species = blob::Species::kBlock42;
  options.folder = setting.folder.file(name);
  options.device_bytes = blobs * kLarge / 4 + std::uint64_t{512} * kMiB;
  options.segment_bytes = std::uint64_t{16} * kMiB;
  std::filesystem::create_directories(options.folder);
  return options;
}

}  // namespace

Result<void> bench_get_small(const Setting& setting) {
  const std::uint64_t blobs = setting.quick ? 150'000 : 500'000;
  StoreOptions options;
  options.folder = setting.folder.path();
  options.device_bytes = blobs * kSmall * 5 / 4 + std::uint64_t{896} * kMiB;
  {
    TRY(const auto store, Store::open(options));
    TRY(const Round filled, store->put({kSmall, 256, blobs}));
    (void)filled;
  }
  TRY_VOID(from_device(setting, options));
  TRY_VOID(from_cache(setting, options));
  discard(Store::device_path(options, 0));
  return {};
}

Result<void> bench_degraded(const Setting& setting) {
  const int rounds = setting.quick ? 5 : 9;
  const std::uint64_t blobs = setting.quick ? 256 : 512;
  const Store::Load load{kLarge, 16, blobs};
  const StoreOptions whole = group_options(setting, "whole", blobs);
  const StoreOptions lossy = group_options(setting, "lossy", blobs);
  {
    TRY(const auto healthy, Store::open(whole));
    TRY(const auto degraded, Store::open(lossy));
    TRY(const Round filled, healthy->put(load));
    TRY(const Round also, degraded->put(load));
    (void)filled;
    (void)also;
    degraded->stop_disk(1);
    degraded->stop_disk(4);
    Rounds ours;
    Rounds peer;
    for (int i = 0; i < rounds; ++i) {
      TRY(Round lost, degraded->get(load, blobs));
      ours.add(std::move(lost));
      TRY(Round all, healthy->get(load, blobs));
      peer.add(std::move(all));
    }
    Line line{"blob", "get_block42_two_lost", ours.megabytes_per_second(),
              "MB/s", "the same, healthy",    peer.megabytes_per_second()};
    line.goal = Goal{Goal::Of::kRatioAtLeast, 0.5};
    setting.report.add(std::move(line));
    setting.report.note("two domains lost", ours);
    setting.report.note("healthy", peer);
  }
  discard(whole.folder);
  discard(lossy.folder);
  return {};
}

}  // namespace moraine::bench
