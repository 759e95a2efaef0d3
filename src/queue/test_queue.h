// One queue tablet on a simulated machine. For tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "queue/queue_tablet.h"
#include "tablet/test_tablet.h"

namespace moraine::queue {

class TestQueue {
 public:
  explicit TestQueue(std::uint64_t seed, PartitionConfig config = {},
                     std::size_t cache_bytes = 64u << 20)
      : world(seed), storage(world), cache(cache_bytes), config_(std::move(config)) {
    boot();
  }
  ~TestQueue() {
    stop();
    world.shutdown();
  }

  void boot() {
    auto booted = world.run(QueueTablet::boot(storage.world(), storage,
                                              TabletInfo::simple(TabletId{77}, kTestGroup, 3),
                                              cache, {{PartitionIndex{0}, config_}}));
    INVARIANT(booted, "{}", booted.error().message());
    tablet = std::move(*booted);
  }
  void stop() {
    if (tablet) world.run(tablet->stop());
    tablet.reset();
  }
  // With nothing left in memory.
  void restart() {
    stop();
    cache = BlobCache(64u << 20);
    boot();
  }
  Partition& partition() { return *tablet->partition(0); }

  WriteAnswer wait(std::shared_ptr<OneShot<WriteAnswer>> answer) {
    return world.run(answer_of(std::move(answer)));
  }
  WriteAnswer write(WriteRequest request) { return wait(partition().write(std::move(request))); }
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
  ReadAnswer read(Offset offset, std::size_t bytes = 100u << 20) {
    auto answer = world.run(partition().read({offset, bytes}));
    INVARIANT(answer, "{}", answer.error().message());
    return std::move(*answer);
  }
  std::vector<std::string> texts(Offset offset = 0) {
    std::vector<std::string> all;
    while (offset < partition().info().end) {
      const ReadAnswer answer = read(offset);
      for (const StoredEntry& entry : answer.entries) {
        all.emplace_back(entry.payload.text());
        offset = entry.offset + entry.count;
      }
    }
    return all;
  }

  SimWorld world;
  TestStorage storage;
  BlobCache cache;
  std::unique_ptr<QueueTablet> tablet;

 private:
  static Task<WriteAnswer> answer_of(std::shared_ptr<OneShot<WriteAnswer>> answer) {
    co_return co_await *answer;
  }

  PartitionConfig config_;
};

}  // namespace moraine::queue
