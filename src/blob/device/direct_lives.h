// SegmentLives: how often each segment of a device was freed, for readers on other threads.
//
// Promise    A reader that sees the same number before and after a read of a segment has read the
//            data of that life: a segment's number grows before it is freed, and before anything is
//            written to it or discarded after that.
// Threading  of() on any thread; end() and end_all() on the device's executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace moraine::blob {

class SegmentLives {
 public:
  explicit SegmentLives(std::uint32_t count)
      : count_(count), lives_(std::make_unique<std::atomic<std::uint64_t>[]>(count)) {}

  std::uint64_t of(std::uint32_t segment) const {
    return lives_[segment].load(std::memory_order_seq_cst);
  }
  void end(std::uint32_t segment) { lives_[segment].fetch_add(1, std::memory_order_seq_cst); }
  void end_all() {
    for (std::uint32_t i = 0; i < count_; ++i) end(i);
  }

 private:
  const std::uint32_t count_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> lives_;
};

}  // namespace moraine::blob
