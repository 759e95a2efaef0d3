#include "io/sim/sim_drive.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checksum.h"
#include "base/invariant.h"

namespace moraine {
namespace {

constexpr std::size_t kRubbishBytes = 64u << 10;
constexpr int kRubbish = 0xd5;

Slice rubbish_slice(int value) {
  Buffer buffer(kRubbishBytes);
  std::memset(buffer.data(), value, kRubbishBytes);
  return std::move(buffer).freeze();
}

}  // namespace

SimDrive::SimDrive(DriveShared& shared, std::string path, std::uint64_t seed)
    : shared_(shared),
      path_(std::move(path)),
      seed_(seed),
      latency_random_(stream_seed(seed, "latency")),
      fault_random_(stream_seed(seed, "fault")),
      crash_random_(stream_seed(seed, "crash")),
      discard_random_(stream_seed(seed, "discard")) {}

void SimDrive::submit(SimDiskRequest& request) {
  if (!request.executor->alive()) {
    request.executor->note_refused_disk();
    request.executor->post([&request] { request.waiter.resume(); });
    return;
  }
  const std::uint64_t id = next_id_++;
  request.sync_mark = medium_.mark();
  in_flight_.emplace(id, &request);
  trace(request);
  if (started_ < kSimDiskQueueDepth) {
    start(id);
  } else {
    waiting_.push_back(id);
  }
}

SimExtent SimDrive::discarded(std::uint64_t offset, std::uint64_t size) {
  static const Slice kZeros = rubbish_slice(0);
  static const Slice kFilled = rubbish_slice(kRubbish);
  const Slice& content = discard_random_.one_in(2) ? kZeros : kFilled;
  std::vector<Slice> pieces;
  for (std::uint64_t at = 0; at < size; at += kRubbishBytes) {
    pieces.push_back(content.sub(0, std::min<std::uint64_t>(kRubbishBytes, size - at)));
  }
  SimExtent extent(offset, std::move(pieces));
  extent.discard = true;
  return extent;
}

Result<Slice> SimDrive::read_now(std::uint64_t offset, std::uint64_t size) {
  SimDiskRequest request{.kind = SimDiskRequest::Kind::kRead, .executor = nullptr};
  request.offset = offset;
  request.size = size;
  trace(request);
  if (stuck_) {
    shared_.faults.add(FaultKind::kDiskStuck);
    return std::unexpected(error(Errc::kUnavailable, "stuck", request));
  }
  return read(request);
}

void SimDrive::unlock(std::uint64_t life) {
  if (life == life_) locked_ = false;
}

void SimDrive::start(std::uint64_t id) {
  ++started_;
  shared_.loop.schedule(shared_.loop.now() + time_of(*in_flight_.at(id)),
                        [this, id] { finish(id); });
}

void SimDrive::finish(std::uint64_t id) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;
  if (stuck_) {
    shared_.faults.add(FaultKind::kDiskStuck);
    held_.push_back(id);
    return;
  }
  if (!call_hook(id, false)) return;
  found->second->outcome = execute(*found->second);
  found->second->took_effect = true;
  if (!call_hook(id, true)) return;
  complete(id);
}

void SimDrive::complete(std::uint64_t id) {
  const auto found = in_flight_.find(id);
  SimDiskRequest& request = *found->second;
  in_flight_.erase(found);
  --started_;
  shared_.loop.trace(
      request.outcome ? 0 : 1 + static_cast<std::uint64_t>(request.outcome.error().code));
  request.executor->post([&request] { request.waiter.resume(); });
  if (waiting_.empty()) return;
  const std::uint64_t next = waiting_.front();
  waiting_.pop_front();
  start(next);
}

Duration SimDrive::time_of(const SimDiskRequest& request) {
  const DiskTiming& timing = shared_.timing;
  const bool is_sync = request.kind == SimDiskRequest::Kind::kSync;
  const Duration low = is_sync ? timing.sync_min : timing.request_min;
  const Duration high = std::max(low, is_sync ? timing.sync_max : timing.request_max);
  const Duration latency =
      low + Duration{latency_random_.below(static_cast<std::uint64_t>((high - low).count()) + 1)};
  const bool moves_bytes =
      request.kind == SimDiskRequest::Kind::kRead || request.kind == SimDiskRequest::Kind::kWrite;
  const std::uint64_t bytes = moves_bytes ? request.size : 0;
  const std::uint64_t factor = std::max<std::uint64_t>(1, faults_.slow_factor);
  if (factor > 1) shared_.faults.add(FaultKind::kDiskSlow);
  const Duration transfer{bytes * 1000 / timing.bytes_per_us * factor};
  transfer_free_ = std::max(transfer_free_, shared_.loop.now()) + transfer;
  return (transfer_free_ - shared_.loop.now()) + latency * static_cast<std::int64_t>(factor);
}

bool SimDrive::call_hook(std::uint64_t id, bool done) {
  const SimDiskRequest& request = *in_flight_.at(id);
  IoEvent::Kind kind{};
  switch (request.kind) {
    case SimDiskRequest::Kind::kWrite: kind = IoEvent::Kind::kWrite; break;
    case SimDiskRequest::Kind::kSync: kind = IoEvent::Kind::kSync; break;
    case SimDiskRequest::Kind::kDiscard: kind = IoEvent::Kind::kDiscard; break;
    default: return true;
  }
  const std::uint64_t number = shared_.events++;
  if (!shared_.hook) return true;
  const auto hook = shared_.hook;  // It may replace itself.
  hook(IoEvent{.kind = kind,
               .done = done,
               .path = path_,
               .offset = request.offset,
               .size = request.size,
               .number = number});
  return in_flight_.contains(id);
}

void SimDrive::trace(const SimDiskRequest& request) {
  shared_.loop.trace(static_cast<std::uint64_t>(request.kind) << 56 | request.size);
  shared_.loop.trace(request.offset);
  if (!shared_.trace_contents) return;
  std::uint32_t crc = 0;
  for (const Slice& piece : request.extent.pieces) crc = crc32c(piece, crc);
  shared_.loop.trace(crc);
}

SimDrive::Outcome SimDrive::execute(SimDiskRequest& request) {
  switch (request.kind) {
    case SimDiskRequest::Kind::kOpen: return open(request);
    case SimDiskRequest::Kind::kRead: return read(request);
    case SimDiskRequest::Kind::kWrite: return write(request);
    case SimDiskRequest::Kind::kSync: return sync(request);
    case SimDiskRequest::Kind::kAllocate: return allocate(request);
    case SimDiskRequest::Kind::kDiscard: return discard(request);
  }
  return Slice();
}

SimDrive::Outcome SimDrive::open(const SimDiskRequest& request) {
  const DiskOptions& options = request.options;
  const bool odd_size = options.create_size == 0 || options.create_size % kSectorSize != 0;
  if (options.create && (odd_size || options.read_only)) {
    return std::unexpected(error(Errc::kInvalidArgument, "create: wrong options", request));
  }
  if (options.create && exists_) {
    return std::unexpected(error(Errc::kAlreadyExists, "create", request));
  }
  if (!options.create && !exists_) {
    return std::unexpected(error(Errc::kNotFound, "open", request));
  }
  if (locked_) return std::unexpected(error(Errc::kConflict, "already open", request));
  if (faults_.read_only && !options.read_only) {
    shared_.faults.add(FaultKind::kReadOnly);
    return std::unexpected(error(Errc::kReadOnly, "open for writing", request));
  }
  if (options.create) install(DiskImage(options.create_size));
  locked_ = true;
  return Slice();
}

SimDrive::Outcome SimDrive::read(const SimDiskRequest& request) {
  if (!in_range(request)) {
    return std::unexpected(error(Errc::kInvalidArgument, "read past the end", request));
  }
  const auto bad = bad_sectors_.lower_bound(request.offset);
  const bool bad_sector = bad != bad_sectors_.end() && *bad < request.offset + request.size;
  if (bad_sector || faults_.read_error.strikes(fault_random_)) {
    shared_.faults.add(FaultKind::kReadError);
    return std::unexpected(error(Errc::kIo, "read", request));
  }
  return medium_.visible().read(request.offset, request.size);
}

SimDrive::Outcome SimDrive::write(SimDiskRequest& request) {
  if (faults_.read_only || request.options.read_only) {
    shared_.faults.add(FaultKind::kReadOnly);
    return std::unexpected(error(Errc::kReadOnly, "write", request));
  }
  if (!in_range(request)) {
    return std::unexpected(error(Errc::kInvalidArgument, "write past the end", request));
  }
  if (faults_.write_error.strikes(fault_random_)) {
    shared_.faults.add(FaultKind::kWriteError);
    medium_.write_part(request.extent, fault_random_);
    return std::unexpected(error(Errc::kIo, "write", request));
  }
  const Outcome reserved = allocate(request);
  if (!reserved) return reserved;
  bad_sectors_.erase(bad_sectors_.lower_bound(request.offset),
                     bad_sectors_.lower_bound(request.offset + request.size));
  bool durable = request.durability == Durability::kDurable;
  if (durable && faults_.lie.strikes(fault_random_)) {
    shared_.faults.add(FaultKind::kLie);
    durable = false;
  }
  medium_.write(request.extent, durable);
  if (faults_.bit_rot.strikes(fault_random_)) rot_somewhere();
  return Slice();
}

SimDrive::Outcome SimDrive::sync(const SimDiskRequest& request) {
  if (faults_.sync_error.strikes(fault_random_)) {
    shared_.faults.add(FaultKind::kSyncError);
    medium_.fail_sync(request.sync_mark, fault_random_, shared_.faults);
    return std::unexpected(error(Errc::kIo, "sync", request));
  }
  if (faults_.lie.strikes(fault_random_)) {
    shared_.faults.add(FaultKind::kLie);
    return Slice();
  }
  medium_.sync(request.sync_mark);
  return Slice();
}

SimDrive::Outcome SimDrive::allocate(const SimDiskRequest& request) {
  if (faults_.read_only || request.options.read_only) {
    shared_.faults.add(FaultKind::kReadOnly);
    return std::unexpected(error(Errc::kReadOnly, "allocate", request));
  }
  if (!in_range(request)) {
    return std::unexpected(error(Errc::kInvalidArgument, "allocate past the end", request));
  }
  const bool refused = faults_.no_space.strikes(fault_random_);
  if (refused || !has_room(request.offset, request.size)) {
    shared_.faults.add(FaultKind::kNoSpace);
    return std::unexpected(error(Errc::kNoSpace, "no space", request));
  }
  allocated_.insert(request.offset, request.offset + request.size);
  return Slice();
}

SimDrive::Outcome SimDrive::discard(const SimDiskRequest& request) {
  if (faults_.read_only || request.options.read_only) {
    shared_.faults.add(FaultKind::kReadOnly);
    return std::unexpected(error(Errc::kReadOnly, "discard", request));
  }
  if (!in_range(request)) {
    return std::unexpected(error(Errc::kInvalidArgument, "discard past the end", request));
  }
  if (faults_.no_discard) return std::unexpected(error(Errc::kUnsupported, "discard", request));
  medium_.write(request.extent, false);
  allocated_.erase(request.offset, request.offset + request.size);
  return Slice();
}

bool SimDrive::in_range(const SimDiskRequest& request) const {
  return request.offset <= size() && request.size <= size() - request.offset;
}

bool SimDrive::has_room(std::uint64_t offset, std::uint64_t size) const {
  const std::uint64_t used = allocated_.total();
  const std::uint64_t free = faults_.capacity > used ? faults_.capacity - used : 0;
  return allocated_.missing(offset, offset + size) <= free;
}

void SimDrive::rot_somewhere() {
  const DiskImage& image = medium_.visible();
  if (image.size() == 0) return;
  const std::uint64_t from = align_down(fault_random_.below(image.size()), kSectorSize);
  auto sector = image.written_sector_from(from);
  if (!sector) sector = image.written_sector_from(0);
  if (!sector) return;
  corrupt(*sector + fault_random_.below(kSectorSize),
          static_cast<unsigned>(fault_random_.below(8)));
}

void SimDrive::set_stuck(bool stuck) {
  stuck_ = stuck;
  if (stuck_) return;
  for (const std::uint64_t id : std::exchange(held_, {})) {
    shared_.loop.post([this, id] { finish(id); });
  }
}

void SimDrive::corrupt(std::uint64_t offset, unsigned bit) {
  shared_.faults.add(FaultKind::kBitRot);
  medium_.flip_bit(offset, bit);
}

void SimDrive::fail_reads_at(std::uint64_t offset, std::uint64_t size) {
  for (std::uint64_t at = align_down(offset, kSectorSize); at < offset + size; at += kSectorSize) {
    bad_sectors_.insert(at);
  }
}

void SimDrive::truncate(std::uint64_t size) {
  INVARIANT(!locked_, "disk {} is open", path_);
  DiskImage image = medium_.visible();
  image.resize(size);
  install(std::move(image));
}

void SimDrive::wipe() {
  shared_.faults.add(FaultKind::kWipe);
  install(DiskImage(size()));
}

void SimDrive::remove() {
  INVARIANT(!locked_, "disk {} is open", path_);
  shared_.faults.add(FaultKind::kWipe);
  install(DiskImage());
  exists_ = false;
}

void SimDrive::install(DiskImage image) {
  INVARIANT(image.size() % kSectorSize == 0, "an image of {} bytes is not whole sectors",
            image.size());
  allocated_.clear();
  for (auto at = image.written_sector_from(0); at;
       at = image.written_sector_from(*at + kSectorSize)) {
    allocated_.insert(*at, *at + kSectorSize);
  }
  medium_.replace(std::move(image));
  bad_sectors_.clear();
  exists_ = true;
}

DiskImage SimDrive::crash_image(CrashPolicy policy, std::uint64_t variant) const {
  SeededRandom random(stream_seed(stream_seed(seed_, "image", shared_.events), "variant", variant));
  FaultCounters uncounted;
  FaultChance misdirect = faults_.misdirect;
  return medium_.crash_image(policy, writes_in_flight(), misdirect, random, uncounted);
}

void SimDrive::crash(CrashPolicy policy) {
  medium_.replace(medium_.crash_image(policy, writes_in_flight(), faults_.misdirect, crash_random_,
                                      shared_.faults));
  locked_ = false;
  ++life_;
  started_ = 0;
  waiting_.clear();
  held_.clear();
  transfer_free_ = shared_.loop.now();
  for (const auto& [id, request] : std::exchange(in_flight_, {})) {
    INVARIANT(!request->executor->alive(), "disk {} crashes under a living node", path_);
    request->executor->post([request] { request->waiter.resume(); });
  }
}

std::vector<const SimExtent*> SimDrive::writes_in_flight() const {
  std::vector<const SimExtent*> writes;
  for (const auto& [id, request] : in_flight_) {
    const bool discards = request->kind == SimDiskRequest::Kind::kDiscard;
    if (request->kind != SimDiskRequest::Kind::kWrite && !discards) continue;
    if (request->took_effect || faults_.read_only || request->options.read_only) continue;
    if (!in_range(*request) || (discards && faults_.no_discard)) continue;
    if (discards || has_room(request->offset, request->size)) writes.push_back(&request->extent);
  }
  return writes;
}

Error SimDrive::error(Errc code, std::string_view what, const SimDiskRequest& request) const {
  return Error{code,
               fmt::format("{}: {} ({} bytes at {})", path_, what, request.size, request.offset)};
}

}  // namespace moraine
