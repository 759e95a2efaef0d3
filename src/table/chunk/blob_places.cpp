#include "table/chunk/blob_places.h"

#include <utility>

namespace moraine::table {

BlobPlaces::BlobPlaces(std::span<const blob::BlobId> ids, BlobReader& blobs)
    : ids_(ids), blobs_(blobs) {
  state_->places.resize(ids.size());
}

std::optional<blob::DirectPlace> BlobPlaces::get(std::size_t blob) const {
  const std::lock_guard lock(state_->mutex);
  return state_->places[blob];
}

void BlobPlaces::forget(std::size_t blob) {
  const std::lock_guard lock(state_->mutex);
  state_->places[blob].reset();
}

bool BlobPlaces::current(std::size_t blob) const {
  const std::lock_guard lock(state_->mutex);
  return state_->places[blob] && state_->places[blob]->current();
}

void BlobPlaces::find(std::size_t blob, bool note_change) {
  forget(blob);
  blobs_.locate(ids_[blob], [state = state_, blob, note_change](blob::DirectPlace place) {
    const std::lock_guard lock(state->mutex);
    state->places[blob] = std::move(place);
    if (note_change) state->changed.store(true, std::memory_order_relaxed);
  });
}

void BlobPlaces::find_all() {
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (!current(i)) find(i, false);
  }
}

void BlobPlaces::refresh(std::size_t blob) {
  if (!current(blob)) find(blob, true);
  if (state_->changed.exchange(false, std::memory_order_relaxed)) find_all();
}

}  // namespace moraine::table
