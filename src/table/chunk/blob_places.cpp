#include "table/chunk/blob_places.h"

#include <utility>

namespace moraine::table {

BlobPlaces::BlobPlaces(std::span<const blob::BlobId> ids, BlobReader& blobs)
    : ids_(ids), blobs_(blobs), places_(ids.size()) {}

std::optional<blob::DirectPlace> BlobPlaces::get(std::size_t blob) const {
  const std::lock_guard lock(mutex_);
  return places_[blob];
}

void BlobPlaces::forget(std::size_t blob) {
  const std::lock_guard lock(mutex_);
  places_[blob].reset();
}

bool BlobPlaces::current(std::size_t blob) const {
  const std::lock_guard lock(mutex_);
  return places_[blob] && places_[blob]->current();
}

bool BlobPlaces::find(std::size_t blob) {
  std::optional<blob::DirectPlace> place = blobs_.locate(ids_[blob]);
  const bool found = place.has_value();
  const std::lock_guard lock(mutex_);
  std::swap(places_[blob], place);
  return found;
}

void BlobPlaces::find_all() {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (!current(i)) find(i);
  }
}

void BlobPlaces::refresh(std::size_t blob) {
  if (!current(blob) && find(blob)) find_all();
}

}  // namespace moraine::table
