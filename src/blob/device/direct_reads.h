// DirectReads and DirectPlace: blocking reads of a device's data on any thread.
//
// Promise    read() returns bytes of the data that the place was made for, or nullopt: the segment
//            was freed since (the data was moved or deleted), the device was closed, or the disk
//            failed. It does not check them: data that its owner dropped may be discarded, and data
//            may be corrupted. The caller checks its own checksum; data that does not match is read
//            through the device, which reports what is wrong.
// Threading  Any thread.
// Limits     kDirectReadMax bytes at once.
// Tests      direct_reads_test.cpp, direct_threads_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "blob/device/direct_lives.h"
#include "io/disk_reader.h"

namespace moraine::blob {

inline constexpr std::uint32_t kDirectReadMax = 1u << 20;

struct DirectReads {
  std::shared_ptr<const DiskReader> disk;
  std::shared_ptr<const SegmentLives> lives;
};

// Where data is stored, valid as long as `life` is the current life of its segment.
struct DirectPlace {
  std::shared_ptr<const DirectReads> reads;
  std::uint64_t offset = 0;  // In bytes, on the disk.
  std::uint32_t size = 0;
  std::uint32_t segment = 0;
  std::uint64_t life = 0;

  bool current() const { return reads->lives->of(segment) == life; }
  // Bytes [shift, shift + bytes) of the data.
  std::optional<Slice> read(std::uint32_t shift, std::uint32_t bytes) const;
};

using OnPlace = std::function<void(DirectPlace)>;

}  // namespace moraine::blob
