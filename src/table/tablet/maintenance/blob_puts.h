// BlobPuts: the blobs of one build that are being written to the device.
//
// Promise    put() waits until it may start the write, not until the blob is durable. After
//            finish() returned OK all blobs are durable, and id() returns their names.
// Threading  The tablet's executor.
// Limits     kBuildBytesInFlightMax bytes in flight, or one blob.
// Errors     Those of the log; the first one is returned by every later call.
// Tests      maintenance_test.cpp.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "io/sync.h"
#include "table/tablet/maintenance/maintenance.h"

namespace moraine::table {

class BlobPuts {
 public:
  BlobPuts(StoreLog& log, std::uint64_t build) : log_(log), build_(build) {}

  using Place = std::size_t;  // Ordinal of a put.
  Task<Result<Place>> put(Slice blob) {
    const std::size_t bytes = blob.size();
    while (!error_ && in_flight_ > 0 && in_flight_ + bytes > kBuildBytesInFlightMax) {
      room_.emplace();
      co_await *room_;
    }
    if (error_) co_return std::unexpected(*error_);
    const Place place = ids_.size();
    ids_.emplace_back();
    in_flight_ += bytes;
    scope_.spawn(send(place, std::move(blob)));
    co_return place;
  }
  Task<Result<void>> finish() {
    co_await scope_.join();
    if (error_) co_return std::unexpected(*error_);
    co_return Result<void>{};
  }
  // Requires: finish() returned OK.
  BlobId id(Place place) const { return ids_[place]; }

 private:
  Task<void> send(Place place, Slice blob) {
    const std::size_t bytes = blob.size();
    std::vector<Slice> blobs;
    blobs.push_back(std::move(blob));
    auto ids = co_await log_.put_blobs(build_, std::move(blobs));
    if (ids) {
      ids_[place] = ids->front();
    } else if (!error_) {
      error_ = std::move(ids).error();
    }
    in_flight_ -= bytes;
    if (room_) room_->set(true);
  }

  StoreLog& log_;
  const std::uint64_t build_;
  std::vector<BlobId> ids_;
  std::size_t in_flight_ = 0;
  std::optional<Error> error_;
  std::optional<OneShot<bool>> room_;
  TaskScope scope_;
};

}  // namespace moraine::table
