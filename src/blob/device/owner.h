// DeviceOwner: what a device requires of each VDisk that keeps its records there.
//
// Promise    After restore() of every chunk of the last checkpoint and replay() of every later
//            record, in log order, the owner's state is as it was when the last record became
//            durable. Replaying a record that the state already has changes nothing.
// Threading  The device's executor.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/device/live_map.h"
#include "blob/device/location.h"
#include "io/task.h"

namespace moraine::blob {

// Receives the checkpoint of an owner; chunks are restored in the order of writing.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  // Requires: chunk.size() <= kCheckpointChunkMax.
  virtual Task<Result<void>> write(Slice chunk) = 0;
};
inline constexpr std::size_t kCheckpointChunkMax = 128u << 10;

// Set of segments to be emptied, by segment number.
using SegmentSet = std::vector<bool>;

class DeviceOwner {
 public:
  virtual ~DeviceOwner() = default;
  virtual Result<void> restore(ByteSpan chunk) = 0;
  virtual Result<void> replay(std::uint8_t kind, ByteSpan inline_bytes, const Location& data) = 0;
  // Recovery has ended. `lost`: acknowledged records could not be read; the owner's index may lack
  // facts that it once confirmed.
  virtual void recovered(bool lost) = 0;
  // The device failed: nothing more will be written until it is opened again.
  virtual void failed(const Error& error) = 0;

  // Writes everything that a replay of later records would not restore.
  virtual Task<Result<void>> checkpoint(CheckpointSink& sink) = 0;
  // Moves every live record out of `segments`.
  virtual Task<Result<void>> evacuate(const SegmentSet& segments) = 0;
  // Adds every location of its index to `map`. Locations that stay live meanwhile are included;
  // those dropped meanwhile may be.
  virtual Task<void> visit_live(LiveMap& map) = 0;
};

}  // namespace moraine::blob
