// BlobPlaces: the device locations of an open chunk's data blobs, for threads that read them
// directly.
//
// Promise    get() returns the newest location that was found, which may be out of date: a read of
//            it detects that.
// Threading  get() and forget() on any thread; find_all() and refresh() on the tablet's executor.
// Tests      blob_places_test.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "blob/device/direct_reads.h"
#include "table/chunk/chunk_reader.h"

namespace moraine::table {

class BlobPlaces {
 public:
  // `ids` and `blobs` must outlive it.
  BlobPlaces(std::span<const blob::BlobId> ids, BlobReader& blobs);

  std::optional<blob::DirectPlace> get(std::size_t blob) const;
  // The bytes read there are not the blob's: it may have been moved.
  void forget(std::size_t blob);
  // Requests every location that is unknown or out of date.
  void find_all();
  // Requests the location of a blob that was read through the executor. When it has changed, others
  // may have changed too, and are requested again.
  void refresh(std::size_t blob);

 private:
  // Locations may arrive later, on another thread.
  struct State {
    std::mutex mutex;
    std::vector<std::optional<blob::DirectPlace>> places;  // Guarded by mutex.
    std::atomic<bool> changed{false};                      // Of one that refresh() requested.
  };

  bool current(std::size_t blob) const;
  void find(std::size_t blob, bool note_change);

  const std::span<const blob::BlobId> ids_;
  BlobReader& blobs_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace moraine::table
