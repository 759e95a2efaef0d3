// Readers of a segment that is freed and overwritten all the time.

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "base/coding.h"
#include "blob/device/direct_reads.h"
#include "io/disk.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kWords = kSectorSize / sizeof(std::uint64_t);
constexpr std::uint64_t kLives = 20'000;
constexpr int kReaders = 3;

// One segment of one sector, in memory.
class MemoryDisk final : public DiskReader {
 public:
  Result<Slice> read(std::uint64_t, std::size_t size) const override {
    Buffer buffer(size);
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint64_t word = words_[i].load(std::memory_order_acquire);
      std::memcpy(buffer.data() + i * sizeof(word), &word, sizeof(word));
    }
    return std::move(buffer).freeze();
  }
  void fill(std::uint64_t word) {
    for (auto& one : words_) one.store(word, std::memory_order_release);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kWords> words_{};
};

struct Shared {
  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  std::shared_ptr<SegmentLives> lives = std::make_shared<SegmentLives>(1);
  std::shared_ptr<const DirectReads> reads = std::make_shared<DirectReads>(disk, lives);
  std::mutex mutex;
  DirectPlace place;  // Guarded by mutex, as is the data there.
  std::uint64_t word = 0;
  std::atomic<bool> over = false;
};

// Keeps a place for a few reads, so that it is sometimes out of date.
void read_on(Shared& shared, std::uint64_t& wrong, std::uint64_t& right) {
  while (!shared.over) {
    DirectPlace place;
    std::uint64_t word = 0;
    {
      const std::lock_guard lock(shared.mutex);
      place = shared.place;
      word = shared.word;
    }
    for (int i = 0; i < 10; ++i) {
      const auto bytes = place.read(0, kSectorSize);
      if (!bytes) break;
      ++right;
      for (std::size_t at = 0; at < kWords; ++at) {
        if (load<std::uint64_t>(bytes->data() + at * sizeof(word)) != word) ++wrong;
      }
    }
  }
}

TEST(DirectThreads, NoReaderReturnsTheBytesOfAnotherLife) {
  Shared shared;
  const auto move_in = [&shared](std::uint64_t word) {
    shared.disk->fill(word);
    const std::lock_guard lock(shared.mutex);
    shared.place = {.reads = shared.reads,
                    .offset = 0,
                    .size = kSectorSize,
                    .segment = 0,
                    .life = shared.lives->of(0)};
    shared.word = word;
  };
  move_in(1);
  std::array<std::uint64_t, kReaders> wrong{};
  std::array<std::uint64_t, kReaders> right{};
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] { read_on(shared, wrong[i], right[i]); });
  }
  for (std::uint64_t life = 2; life < kLives; ++life) {
    shared.lives->end(0);
    move_in(life);
    if (life % 16 == 0) std::this_thread::yield();
  }
  shared.over = true;
  for (std::thread& reader : readers) reader.join();
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < kReaders; ++i) {
    EXPECT_EQ(wrong[i], 0u);
    all += right[i];
  }
  EXPECT_GT(all, 0u);
}

}  // namespace
}  // namespace moraine::blob
