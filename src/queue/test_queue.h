// One queue tablet on a simulated machine. For tests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "queue/queue_tablet.h"
#include "tablet/test_tablet.h"

namespace moraine::queue {

class TestQueue {
 public:
  static constexpr std::size_t kCacheBytes = 64u << 20;
  using Answer = std::shared_ptr<OneShot<WriteAnswer>>;

  explicit TestQueue(std::uint64_t seed, PartitionConfig config = {},
                     std::size_t cache_bytes = kCacheBytes, std::uint32_t segment_bytes = 1u << 20)
      : world(seed), storage(world, segment_bytes), cache(cache_bytes), config_(std::move(config)) {
    begin_life();
    boot();
  }
  ~TestQueue() {
    stop();
    world.shutdown();
  }

  static TabletInfo info() { return TabletInfo::simple(TabletId{77}, kTestGroup, 3); }
  // Boots another incarnation of the same tablet, which fences the earlier ones.
  std::unique_ptr<QueueTablet> boot_another() {
    PartitionSetup setup{PartitionIndex{0}, config_};
    setup.waiting_writes_max = waiting_writes_max;
    setup.refusals = refusals;
    setup.facts = facts;
    auto booted =
        world.run(QueueTablet::boot(storage.world(), storage, info(), *cache, {std::move(setup)}));
    INVARIANT(booted, "{}", booted.error().message());
    return std::move(*booted);
  }
  void boot() { tablet = boot_another(); }
  void stop() {
    if (tablet) world.run(tablet->stop());
    tablet.reset();
  }
  // With an empty cache.
  void restart() {
    stop();
    cache.emplace(kCacheBytes);
    boot();
  }
  // A power cut, and a restart from the device.
  void crash() {
    storage.crash();
    cache.emplace(kCacheBytes);
    begin_life();
    boot();
  }
  // The same on the device of another machine.
  void install(DiskImage image) {
    storage.node().crash();
    storage.node().disks().install("device", std::move(image));
    storage.node().restart();
    storage.start();
    cache.emplace(kCacheBytes);
    begin_life();
    boot();
  }
  Partition& partition() { return *tablet->partition(0); }
  void configure(PartitionConfig config) {
    config_ = config;
    partition().configure(std::move(config));
  }

  WriteAnswer wait(Answer answer) { return world.run(answer_of(std::move(answer))); }
  Answer send(WriteRequest request) { return partition().write(std::move(request)); }
  WriteAnswer write(WriteRequest request) { return wait(send(std::move(request))); }
  WriteAnswer say(std::string_view text, std::string source = {}, std::uint64_t number = 0) {
    return write(message(text, std::move(source), number));
  }
  static WriteRequest message(std::string_view text, std::string source = {},
                              std::uint64_t number = 0) {
    WriteRequest request;
    request.payload = Slice::copy_of(text);
    if (!source.empty()) request.producer = {std::move(source), Numbering::kSeqNo, number, 0};
    return request;
  }
  static WriteRequest part(std::string_view text, std::string source, std::uint64_t number,
                           std::uint32_t part, std::uint32_t parts) {
    WriteRequest request = message(text, std::move(source), number);
    request.part = part;
    request.parts = parts;
    return request;
  }
  static WriteRequest timed(std::string_view text, std::int64_t time_ms) {
    WriteRequest request = message(text);
    request.max_timestamp_ms = time_ms;
    return request;
  }
  ReadAnswer read(Offset offset, std::size_t bytes = 100u << 20) {
    auto answer = world.run(partition().read({offset, bytes}));
    INVARIANT(answer, "{}", answer.error().message());
    return std::move(*answer);
  }
  std::vector<StoredEntry> entries(Offset offset = 0) {
    std::vector<StoredEntry> all;
    while (offset < partition().info().end) {
      for (StoredEntry& entry : read(offset).entries) {
        offset = entry.offset + entry.count;
        all.push_back(std::move(entry));
      }
    }
    return all;
  }
  std::vector<std::string> texts(Offset offset = 0) {
    std::vector<std::string> all;
    for (const StoredEntry& entry : entries(offset)) all.emplace_back(entry.payload.text());
    return all;
  }
  Result<Offset> trim(Offset offset) { return world.run(partition().trim(offset)); }
  Result<void> commit(std::string consumer, Offset offset) {
    return world.run(partition().commit({std::move(consumer), offset, "", -1, 0}));
  }
  // How many keys of the kind ('d', 'x', 's', 'c') the tablet has.
  std::size_t keys(char kind) const {
    return tablet->store().list(KeyRange::prefix(key_prefix(kind, 0)), 100'000).size();
  }
  // An error in the names of the data keys; empty: they tile the offsets, and the head is within
  // its bounds.
  std::string untidy() {
    std::uint64_t head_bytes = 0;
    std::size_t head_blobs = 0;
    std::optional<Offset> next;
    for (const KeyInfo& key :
         tablet->store().list(KeyRange::prefix(key_prefix('d', 0)), 1'000'000)) {
      const auto name = parse_data_key(key.key);
      if (!name) return "not a data key: " + key.key;
      if (next && name->offset != *next) return "a gap before " + key.key;
      if (head_blobs > 0 && !name->head) return "body behind the head: " + key.key;
      next = name->offset + name->count;
      if (!name->head) continue;
      ++head_blobs;
      head_bytes += key.size;
    }
    if (next && *next != partition().info().end) return "the end is elsewhere";
    if (head_blobs > kHeadBlobsMax) return fmt::format("{} head blobs", head_blobs);
    if (head_bytes >= config_.low_watermark + kKeptBytes) return "the head is too long";
    return {};
  }

  SimWorld world;
  TestStorage storage;
  std::optional<BlobCache> cache;
  std::unique_ptr<QueueTablet> tablet;
  // From the next boot on.
  std::size_t waiting_writes_max = kInFlightWritesMax;
  RefusalRules refusals = {};
  std::shared_ptr<FactCounts> facts;

 private:
  static Task<WriteAnswer> answer_of(Answer answer) { co_return co_await *answer; }
  void begin_life() {
    storage.node().on_stop([this] {
      if (tablet) tablet->abandon();
    });
    storage.node().on_crash([this] { tablet.reset(); });
  }

  PartitionConfig config_;
};

}  // namespace moraine::queue
