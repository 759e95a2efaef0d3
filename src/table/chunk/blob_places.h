// BlobPlaces: where the data blobs of an open chunk lie, for threads that read them by themselves.
//
// Promise    get() gives the newest place that was found, which may be out of date: a read of it
//            says so.
// Threading  get() and forget() on any thread; find_all() and refresh() on the tablet's executor.
// Tests      blob_places_test.cpp.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "blob/device/direct_reads.h"
#include "table/chunk/chunk_reader.h"

namespace moraine::table {

class BlobPlaces {
 public:
  // `ids` and `blobs` outlive it.
  BlobPlaces(std::span<const blob::BlobId> ids, BlobReader& blobs);

  std::optional<blob::DirectPlace> get(std::size_t blob) const;
  // What was read there is not the blob: it may have been moved.
  void forget(std::size_t blob);
  // Asks for every place that is not known or out of date.
  void find_all();
  // Asks for the place of a blob that was read through the executor. When it has a new one, others
  // may have one too, and are asked for.
  void refresh(std::size_t blob);

 private:
  bool current(std::size_t blob) const;
  // False: it has none.
  bool find(std::size_t blob);

  const std::span<const blob::BlobId> ids_;
  BlobReader& blobs_;
  mutable std::mutex mutex_;
  std::vector<std::optional<blob::DirectPlace>> places_;  // Guarded by mutex_.
};

}  // namespace moraine::table
