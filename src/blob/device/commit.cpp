// The write path of a device: appends are gathered into batches, batches are written to the disk,
// and appends complete in log order.

#include <algorithm>

#include "base/invariant.h"
#include "blob/device/device.h"
#include "blob/device/record_kinds.h"

namespace moraine::blob {

void Device::Append::await_suspend(std::coroutine_handle<> self) {
  waiter_ = self;
  device_.enqueue(*this);
}

std::uint32_t Device::data_size_max() const {
  const std::uint64_t front = 2 * kSectorSize;
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(superblock_.segment_bytes - front, kLargestBatchBytes - front));
}

void Device::enqueue(Append& append) {
  INVARIANT(append.data_.size() <= data_size_max(), "{} bytes of data exceed the segment",
            append.data_.size());
  std::optional<Error> refused = failure_;
  if (!refused && options_.read_only) refused = Error{Errc::kReadOnly, path_};
  if (!refused && append.class_ == AppendClass::kOrdinary && pending_bytes_ > kPendingBytesMax) {
    refused = Error{Errc::kOverloaded,
                    fmt::format("{}: {} bytes are waiting to be written", path_, pending_bytes_)};
  }
  if (refused) {
    // A coroutine is not resumed inside its own await_suspend.
    append.result_ = std::unexpected(*refused);
    world_.executor.post([waiter = append.waiter_] { waiter.resume(); });
    return;
  }
  if (append.class_ == AppendClass::kOrdinary) ++ordinary_appends_;
  (append.class_ == AppendClass::kOrdinary ? ordinary_ : maintenance_).push_back(&append);
  pending_bytes_ += append.data_.size() + append.inline_.size();
  if (append.class_ == AppendClass::kOrdinary) ordinary_bytes_ += append.data_.size();
  schedule_pump();
}

// Appends of one turn of the event loop share a batch.
void Device::schedule_pump() {
  if (pump_scheduled_) return;
  pump_scheduled_ = true;
  world_.executor.post([this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    pump_scheduled_ = false;
    pump();
  });
}

Device::Append* Device::front() const {
  if (!maintenance_.empty()) return maintenance_.front();
  return ordinary_.empty() ? nullptr : ordinary_.front();
}

void Device::pump() {
  while (!failure_ && front()) {
    if (!in_flight_.empty()) {
      if (pending_bytes_ < kSplitBytes) return;
      if (in_flight_.size() >= kBatchesInFlightMax) return;
      if (in_flight_bytes_ >= kBytesInFlightToDiskMax) return;
    }
    if (!ensure_room()) return;
    start_batch();
  }
}

std::uint64_t Device::open_room() const {
  if (!open_segment_) return 0;
  return superblock_.segment_bytes - std::uint64_t{open_sector_} * kSectorSize;
}

// True when the record may be appended to the open segment, which has `room` bytes left, or to the
// next one.
bool Device::admits(const Append& append, std::uint64_t room) const {
  const std::uint64_t needed = lone_batch_bytes(append.inline_.size(), append.data_.size());
  const std::uint32_t opened = needed > room ? 1 : 0;
  const std::uint32_t free = segments_.free();
  if (append.kind_ >= kDeviceRecordKinds) return free >= opened;
  const std::uint32_t checkpoint = checkpoint_segments();
  const bool spares_room = needed + checkpoint_room() <= room;
  if (append.class_ == AppendClass::kMaintenance) return spares_room || free >= checkpoint + opened;
  // The open segment is not counted for copies: ordinary records may fill it.
  const std::uint32_t copies = segments_.segments_of_copies(victims_, 0);
  const std::uint32_t begun = checkpoint + copies;
  if (!append.data_.empty()) return free >= begun + kCopySegments + kFactSegments + opened;
  if (opened) return free >= begun + kCopySegments + opened;
  return free >= begun || (spares_room && copies == 0);
}

// The record in front is not admitted. Ordinary ones wait; maintenance would wait for itself
// forever.
void Device::refuse(const Append& append) {
  if (append.class_ == AppendClass::kMaintenance) {
    const bool copy = append.kind_ < kDeviceRecordKinds;
    fail_pending(Error{Errc::kNoSpace, fmt::format("{}: no segment is free", path_)},
                 copy ? Pending::kCopies : Pending::kMaintenance);
    schedule_pump();
  } else if (!stalled_) {
    stalled_ = true;
    work_changed_.notify_all();
    nudge();
  }
}

// True when the open segment has room for the record in front; opens the next one when needed.
bool Device::ensure_room() {
  const Append& append = *front();
  if (!admits(append, open_room())) {
    refuse(append);
    return false;
  }
  const std::uint64_t needed = lone_batch_bytes(append.inline_.size(), append.data_.size());
  if (needed <= open_room()) return true;
  if (allocate_error_) {
    // The file system is full. Pending appends fail; later ones try again.
    fail_pending(*std::exchange(allocate_error_, std::nullopt), Pending::kAll);
    return false;
  }
  // Without a next segment the last free one is being prewritten or discarded; then it is ready.
  if (!next_ready_) prepare_next();
  if (!next_ready_) return false;
  if (open_segment_) segments_.seal(*open_segment_);
  open_segment_ = next_segment_;
  if (prewrite_left_at_.segment == open_segment_) prewrite_left_at_ = {};
  open_sector_ = 0;
  segments_.open(*open_segment_, ++epoch_);
  next_segment_.reset();
  next_ready_ = false;
  prepare_next();
  return true;
}

// Chooses the segment after the open one and reserves its blocks, ahead of need.
void Device::prepare_next() {
  if (next_segment_ || failure_) return;
  next_segment_ = segments_.choose_free(prewriting_);
  if (!next_segment_) return;
  if (segments_[*next_segment_].written) {
    next_ready_ = true;
    segments_.set_no_blocks(false);
    return;
  }
  scope_.spawn(prepare_next_segment(*next_segment_));
}

Task<void> Device::prepare_next_segment(std::uint32_t segment) {
  const auto reserved =
      co_await disk_->allocate(superblock_.segment_offset(segment), superblock_.segment_bytes);
  if (failure_) co_return;
  segments_.set_no_blocks(!reserved && reserved.error().code == Errc::kNoSpace);
  if (reserved) {
    next_ready_ = true;
  } else {
    next_segment_.reset();
    // Later appends try again, and may find free space.
    if (has_pending()) allocate_error_ = reserved.error();
  }
  schedule_pump();
}

void Device::start_batch() {
  auto batch = std::make_shared<Batch>();
  const std::uint64_t room = open_room();
  const Append& first = *front();
  const std::uint64_t limit = std::min(
      room, std::max(kBatchBytesMax, lone_batch_bytes(first.inline_.size(), first.data_.size())));
  BatchBuilder builder;
  for (std::deque<Append*>* queue : {&maintenance_, &ordinary_}) {
    while (!queue->empty() && builder.bytes() < kBatchEnough) {
      Append* append = queue->front();
      if (!admits(*append, builder.empty() ? room : room - builder.bytes())) break;
      RecordInput input{append->owner_, append->kind_, append->inline_.span(), append->data_};
      if (!builder.add(std::move(input), limit)) break;
      pending_bytes_ -= append->data_.size() + append->inline_.size();
      if (queue == &ordinary_) ordinary_bytes_ -= append->data_.size();
      batch->appends.push_back(append);
      queue->pop_front();
    }
  }
  INVARIANT(!builder.empty(), "a batch without records: {} bytes of room", room);
  BatchHeader header;
  header.segment = *open_segment_;
  header.sector = open_sector_;
  header.run = run_;
  header.device = superblock_.device;
  header.epoch = segments_[*open_segment_].epoch;
  header.sequence = next_sequence_++;
  header.durable = durable_;
  header.run_first = run_first_;
  header.previous_last = previous_last_;
  BatchBuilder::Output output = builder.finish(header);

  batch->sequence = header.sequence;
  batch->epoch = header.epoch;
  batch->bytes = std::uint64_t{output.sectors} * kSectorSize;
  batch->locations = std::move(output.locations);
  const std::uint64_t offset =
      superblock_.segment_offset(*open_segment_) + std::uint64_t{open_sector_} * kSectorSize;
  segments_.at(*open_segment_).last_sequence = header.sequence;
  // Counted as live before the write, so that the segment is not freed while the batch is written.
  std::uint64_t new_live = 0;
  for (const Location& location : batch->locations) {
    if (location.size > 0) segments_.add_live(location);
    new_live += location.size;
  }
  open_sector_ += output.sectors;
  segments_.grow(*open_segment_, std::uint64_t{open_sector_} * kSectorSize, new_live);
  in_flight_bytes_ += batch->bytes;
  stats_.bytes_appended += batch->bytes;
  ++stats_.batches;
  log_bytes_ += batch->bytes;
  in_flight_.push_back(batch);
  scope_.spawn(write_batch(std::move(batch), offset, std::move(output.pieces)));
}

Task<void> Device::write_batch(std::shared_ptr<Batch> batch, std::uint64_t offset,
                               std::vector<Slice> pieces) {
  batch->outcome = co_await disk_->write(offset, std::move(pieces), Durability::kDurable);
  complete_in_order();
}

// Acknowledges the durable batches at the front, oldest first. Waiters are resumed here; what they
// append goes into the next batch together.
void Device::complete_in_order() {
  while (!in_flight_.empty() && in_flight_.front()->outcome) {
    const std::shared_ptr<Batch> batch = in_flight_.front();
    in_flight_.pop_front();
    in_flight_bytes_ -= batch->bytes;
    if (!*batch->outcome) fail_device(std::move(batch->outcome->error()).within("log write"));
    if (!failure_) durable_ = batch->sequence;
    // What was waiting is written while the waiters of this batch run.
    if (in_flight_.empty()) pump();
    for (std::size_t i = 0; i < batch->appends.size(); ++i) {
      Append& append = *batch->appends[i];
      if (failure_) {
        append.result_ = std::unexpected(*failure_);
      } else {
        append.result_ = batch->locations[i];
      }
      append.waiter_.resume();
    }
  }
  if (!checkpoint_wanted_ && checkpoint_due()) {
    checkpoint_wanted_ = true;
    nudge();
  }
  work_changed_.notify_all();
  schedule_pump();
}

void Device::fail_device(Error error) {
  if (failure_) return;
  failure_ = std::move(error);
  for (auto& [slot, owner] : owners_) owner->failed(*failure_);
  fail_pending(*failure_, Pending::kAll);
  nudge();
}

void Device::fail_pending(const Error& error, Pending which) {
  std::deque<Append*> failed;
  const auto take = [&](std::deque<Append*>& queue, auto chosen) {
    for (Append* append : std::exchange(queue, {})) {
      (chosen(*append) ? failed : queue).push_back(append);
    }
  };
  switch (which) {
    case Pending::kAll:
      take(ordinary_, [](const Append&) { return true; });
      take(maintenance_, [](const Append&) { return true; });
      break;
    case Pending::kNotAdmitted:
      take(ordinary_, [this](const Append& append) { return !admits(append, open_room()); });
      break;
    case Pending::kCopies:
      take(maintenance_, [](const Append& append) { return append.kind_ < kDeviceRecordKinds; });
      break;
    case Pending::kMaintenance: take(maintenance_, [](const Append&) { return true; }); break;
  }
  for (Append* append : failed) {
    pending_bytes_ -= append->data_.size() + append->inline_.size();
    if (append->class_ == AppendClass::kOrdinary) ordinary_bytes_ -= append->data_.size();
    append->result_ = std::unexpected(error);
  }
  work_changed_.notify_all();
  for (Append* append : failed) append->waiter_.resume();
}

}  // namespace moraine::blob
