// Formatting, opening and closing a device.

#include <algorithm>
#include <set>

#include "base/invariant.h"
#include "blob/device/device.h"
#include "blob/device/record_kinds.h"
#include "blob/device/recovery.h"

namespace moraine::blob {
namespace {

constexpr std::string_view kUnreadableOnlyCopy =
    "a part of it cannot be read and has no other copy; nothing was written, start again when the "
    "disk reads";

constexpr std::size_t kPrefillBytes = 1u << 20;

Task<Result<void>> refuse_to_overwrite(Disk& disk, const std::string& path) {
  if (disk.size() < kSegmentsOffset) co_return Result<void>();
  CO_TRY(const Slice sectors, co_await disk.read(0, kSuperblockCopies * kSectorSize));
  // Also a device of another version, or a damaged one: it may hold data.
  for (std::uint64_t i = 0; i < kSuperblockCopies; ++i) {
    if (!has_superblock_magic(sectors.sub(i * kSectorSize, kSectorSize))) continue;
    co_return fail(Errc::kAlreadyExists, fmt::format("{} is a moraine device already", path));
  }
  co_return Result<void>();
}

// Commits to blocks that were written before are faster than to fresh ones.
Task<Result<void>> prefill(Disk& disk, const Superblock& superblock, const FormatOptions& options) {
  const Slice zeros = Buffer::zeroed(kPrefillBytes).freeze();
  const std::uint32_t segments = std::min(options.prefill_segments, superblock.segments);
  const std::uint64_t first = align_down(
      std::min<std::uint64_t>(options.prefill_bytes, superblock.segment_bytes), kSectorSize);
  const std::uint64_t end = std::max(superblock.segment_offset(segments), kSegmentsOffset + first);
  for (std::uint64_t at = kSegmentsOffset; at < end;) {
    const std::uint64_t size = std::min<std::uint64_t>(kPrefillBytes, end - at);
    std::vector<Slice> pieces;
    pieces.push_back(zeros.sub(0, size));
    CO_TRY_VOID(co_await disk.write(at, std::move(pieces), Durability::kCached));
    at += size;
  }
  co_return co_await disk.sync();
}

Task<Result<void>> write_twice(Disk& disk, std::uint64_t offset, Slice sector) {
  std::vector<Slice> pieces{sector, sector};
  co_return co_await disk.write(offset, std::move(pieces), Durability::kDurable);
}

// Writes a damaged copy of the superblock again; the whole one is not touched, so a crash leaves at
// least that. Returns what became of it.
Task<std::string> rewrite_superblock(Disk& disk, Superblock superblock, std::uint64_t copy) {
  std::vector<Slice> pieces{encode_superblock(superblock)};
  const auto written =
      co_await disk.write(copy * kSectorSize, std::move(pieces), Durability::kDurable);
  if (written) co_return "it was written again from the other copy";
  co_return fmt::format("it cannot be written again: {}", written.error().message());
}

}  // namespace

Device::Device(World world, std::string path, DeviceOptions options, OwnerFactory factory,
               std::unique_ptr<Disk> disk, Superblock superblock)
    : world_(world),
      path_(std::move(path)),
      options_(options),
      factory_(std::move(factory)),
      disk_(std::move(disk)),
      superblock_(superblock),
      segments_(superblock.segments, superblock.segment_bytes) {
  if (auto reader = disk_->reader()) {
    direct_ = std::make_shared<DirectReads>(std::move(reader), segments_.lives());
  }
}

Device::~Device() {
  INVARIANT(in_flight_.empty() && !has_pending(), "device {} destroyed with work in flight", path_);
  // The file may be opened again from now on.
  segments_.lives()->end_all();
}

Task<Result<Superblock>> Device::format(World world, std::string path, FormatOptions options) {
  if (options.size != 0) {
    auto planned = plan_superblock(options.size, options.segment_bytes);
    if (!planned) co_return std::unexpected(std::move(planned).error());
  }
  DiskOptions disk_options;
  disk_options.create = options.create;
  disk_options.create_size = options.size;
  CO_TRY(auto disk, co_await world.disks.open(path, disk_options));
  if (!options.force) {
    CO_TRY_VOID(co_await refuse_to_overwrite(*disk, path));
  }
  const std::uint64_t size = options.size != 0 ? options.size : disk->size();
  if (size > disk->size()) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("{} has {} bytes, {} were requested", path, disk->size(), size));
  }
  CO_TRY(Superblock superblock, plan_superblock(size, options.segment_bytes));
  superblock.device = world.random.next() | 1;
  CO_TRY_VOID(co_await disk->allocate(0, kSegmentsOffset));
  if (options.prefill_segments > 0 || options.prefill_bytes > 0) {
    CO_TRY_VOID(co_await prefill(*disk, superblock, options));
  }
  // Roots first: a device counts as formatted when it has a superblock.
  for (std::uint64_t sequence = 0; sequence < 2; ++sequence) {
    Root root;
    root.device = superblock.device;
    root.sequence = sequence;
    CO_TRY_VOID(co_await write_twice(*disk, root_pair_offset(sequence), encode_root(root)));
  }
  CO_TRY_VOID(co_await write_twice(*disk, 0, encode_superblock(superblock)));
  co_return superblock;
}

Task<Result<std::unique_ptr<Device>>> Device::open(World world, std::string path,
                                                   DeviceOptions options, OwnerFactory factory) {
  DiskOptions disk_options;
  disk_options.read_only = options.read_only;
  CO_TRY(auto disk, co_await world.disks.open(path, disk_options));
  auto superblock = co_await read_superblock(*disk);
  if (!superblock) co_return std::unexpected(std::move(superblock).error().within(path));
  std::unique_ptr<Device> device(
      new Device(world, path, options, std::move(factory), std::move(disk), *superblock));
  auto recovered = co_await device->recover();
  if (!recovered) co_return std::unexpected(std::move(recovered).error().within(path));
  if (!options.read_only) device->scope_.spawn(device->maintain());
  co_return std::move(device);
}

std::shared_ptr<DeviceOwner> Device::attach(OwnerSlot slot) {
  std::shared_ptr<DeviceOwner>& owner = owners_[slot];
  if (owner) return owner;
  owner = factory_(*this, slot);
  // All its records may have been lost.
  if (log_lost_) owner->recovered(true);
  return owner;
}

Task<Result<void>> Device::recover() {
  CO_TRY(RecoveredLog log, co_await recover_log(*disk_));
  if (options_.only_copy && log.read_failure) {
    co_return std::unexpected(std::move(*log.read_failure).within(kUnreadableOnlyCopy));
  }
  adopt_segments(log);
  // Owners that lost a chunk: the rest of their state is restored as far as it is consistent.
  std::set<OwnerSlot> torn;
  for (std::size_t i = 0; i < log.chunks.size(); ++i) {
    const OwnerSlot slot = log.manifest.chunks[i].owner;
    const std::shared_ptr<DeviceOwner> owner = attach(slot);
    if (log.chunks[i].empty()) torn.insert(slot);
    auto restored = log.chunks[i].empty() ? Result<void>() : owner->restore(log.chunks[i]);
    if (!restored && !torn.contains(slot)) co_return restored;
    checkpoint_bytes_ += log.manifest.chunks[i].location.size;
  }
  segments_.set_spared(2 * checkpoint_bytes_);
  for (const std::size_t i : log.plan.replay) {
    CO_TRY_VOID(replay_batch(log.batches[i], torn));
    log_bytes_ += std::uint64_t{log.batches[i].header.sectors} * kSectorSize;
  }

  run_ = log.run_max + 1;
  run_first_ = log.sequence_max + 1;
  next_sequence_ = run_first_;
  previous_last_ = log.plan.last;
  durable_ = log.plan.last;
  epoch_ = log.epoch_max;
  measure_segments(log);
  if (!options_.read_only) resume_tail(log);
  root_ = log.root;
  manifest_location_ = log.root.manifest;
  manifest_ = std::move(log.manifest);
  damage_ = log.damage;
  for (const SuperblockPages::Damaged& damaged : log.damaged_superblocks) {
    std::string what = fmt::format("superblock copy {}: {}", damaged.copy, damaged.why);
    if (!options_.read_only) {
      const std::string outcome = co_await rewrite_superblock(*disk_, superblock_, damaged.copy);
      what += "; " + outcome;
    }
    damage_.push_back(std::move(what));
  }
  stats_.recovery_bytes_read = log.bytes_read;
  const bool lost = !log.plan.lost.empty() || log.unreadable;
  for (auto& [slot, owner] : owners_) owner->recovered(lost || torn.contains(slot));
  log_lost_ = lost;
  // From here on the log grows: the root must not be marked clean.
  if (root_.clean && !options_.read_only) {
    CO_TRY_VOID(co_await write_root(root_.manifest, false));
  }
  co_return Result<void>();
}

// The space that each segment occupies, by the manifest and the batches after it. Space discarded
// since the checkpoint is unknown: it counts as occupied until it is discarded again. The basis is
// the most that the bytes can hold, so that trimming checks each segment once.
void Device::measure_segments(const RecoveredLog& log) {
  std::vector<std::uint64_t> ends(superblock_.segments, 0);
  for (const std::size_t i : log.plan.replay) {
    const BatchHeader& header = log.batches[i].header;
    const std::uint64_t end = std::uint64_t{header.sector + header.sectors} * kSectorSize;
    ends[header.segment] = std::max(ends[header.segment], end);
  }
  if (log.root.clean && log.root.tail_segment < superblock_.segments) {
    ends[log.root.tail_segment] = std::uint64_t{log.root.tail_sector} * kSectorSize;
  }
  for (std::uint32_t i = 0; i < superblock_.segments; ++i) {
    const Manifest::SegmentState& state = log.manifest.segments[i];
    // After a crash any part may have been discarded since the checkpoint.
    segments_.at(i).holes = state.holes || !log.root.clean;
    if (!log.root.clean) segments_.at(i).written = false;
    if (segments_[i].use == SegmentUse::kFree) continue;
    std::uint64_t known = superblock_.segment_bytes;
    if (!state.used) known = 0;
    if (state.used && state.sectors) known = std::uint64_t{*state.sectors} * kSectorSize;
    const std::uint64_t bytes =
        std::min<std::uint64_t>(std::max(known, ends[i]), superblock_.segment_bytes);
    segments_.measure(i, bytes, std::max(bytes, segments_[i].live));
  }
}

// Appending continues where the log ends. Batches that a crash left there have an older run, so
// they are never mistaken for new ones.
void Device::resume_tail(const RecoveredLog& log) {
  std::uint32_t segment = log.root.tail_segment;
  std::uint32_t sector = log.root.tail_sector;
  if (!log.root.clean) {
    if (log.plan.replay.empty()) return;
    const BatchHeader& last = log.batches[log.plan.replay.back()].header;
    segment = last.segment;
    sector = last.sector + last.sectors;
  }
  const std::uint32_t sectors = superblock_.segment_bytes / kSectorSize;
  if (segment >= superblock_.segments || sector >= sectors) return;
  if (segments_[segment].use != SegmentUse::kSealed) return;
  segments_.reopen(segment);
  open_segment_ = segment;
  open_sector_ = sector;
}

void Device::adopt_segments(const RecoveredLog& log) {
  std::vector<std::uint64_t> epochs(superblock_.segments, 0);
  std::vector<bool> used(superblock_.segments, false);
  for (std::uint32_t i = 0; i < superblock_.segments; ++i) {
    segments_.at(i).written = log.manifest.segments[i].written;
    segments_.at(i).epoch = log.manifest.segments[i].epoch;
    used[i] = log.manifest.segments[i].used;
    epochs[i] = log.manifest.segments[i].epoch;
  }
  // A segment with only the torn end of a run is free: its batches are never part of the log again.
  for (const std::size_t i : log.plan.replay) {
    const BatchHeader& header = log.batches[i].header;
    used[header.segment] = true;
    epochs[header.segment] = header.epoch;
  }
  if (log.root.manifest.size > 0) used[log.root.manifest.segment] = true;
  for (std::uint32_t i = 0; i < superblock_.segments; ++i) {
    if (!used[i]) continue;
    segments_.open(i, epochs[i]);
    segments_.seal(i);
  }
  for (const std::size_t i : log.plan.replay) {
    const BatchHeader& header = log.batches[i].header;
    Segment& segment = segments_.at(header.segment);
    segment.last_sequence = std::max(segment.last_sequence, header.sequence);
  }
  for (const Manifest::Chunk& chunk : log.manifest.chunks) segments_.add_live(chunk.location);
  if (log.root.manifest.size > 0) segments_.add_live(log.root.manifest);
}

Result<void> Device::replay_batch(const FoundBatch& batch, const std::set<OwnerSlot>& torn) {
  TRY(const BatchMeta meta, decode_meta(batch.meta));
  for (const RecordView& record : meta.records) {
    if (record.kind >= kDeviceRecordKinds) continue;
    if (record.owner == kDeviceSlot || record.owner > kOwnersMax) {
      return fail(Errc::kCorrupt, fmt::format("record of owner {}", record.owner));
    }
    auto replayed =
        attach(record.owner)
            ->replay(record.kind, record.inline_bytes, location_of(batch.header, record));
    if (!replayed && !torn.contains(record.owner)) return replayed;
  }
  return {};
}

Task<Result<void>> Device::write_root(Location manifest, bool clean) {
  Root root;
  root.device = superblock_.device;
  root.sequence = root_.sequence + 1;
  root.clean = clean;
  root.last_sequence = next_sequence_ - 1;
  root.last_epoch = epoch_;
  root.run = run_;
  if (open_segment_) {
    root.tail_segment = *open_segment_;
    root.tail_sector = open_sector_;
  }
  root.manifest = manifest;
  auto written = co_await write_twice(*disk_, root_pair_offset(root.sequence), encode_root(root));
  if (!written) {
    fail_device(std::move(written.error()).within("root write"));
    co_return std::unexpected(*failure_);
  }
  root_ = root;
  co_return Result<void>();
}

void Device::abandon() {
  scope_.close();
}

Task<void> Device::stop() {
  stopping_ = true;
  scope_.close();
  while (!failure_ &&
         (has_pending() || !in_flight_.empty() || checkpointing_ || cleaning_ || trimming_)) {
    // Otherwise the maintenance loop is freeing segments: relieve_stall() has one caller at a time.
    if (stalled_ && !cleaning_ && !checkpointing_) {
      co_await relieve_stall();
    } else {
      co_await work_changed_.wait();
    }
  }
  if (!failure_ && !options_.read_only) {
    const auto last = co_await checkpoint();
    if (last) (void)co_await write_root(root_.manifest, true);
  }
  co_await scope_.join();
}

Task<Result<Slice>> Device::read(Location location, std::uint32_t shift, std::uint32_t size) {
  Segment& segment = segments_.at(location.segment);
  ++segment.readers;
  auto data = co_await read_data(*disk_, superblock_, location, shift, size);
  --segment.readers;
  co_return data;
}

std::optional<DirectPlace> Device::place(const Location& location) const {
  if (!direct_ || location.size == 0) return std::nullopt;
  const std::uint64_t at = superblock_.segment_offset(location.segment) + location.offset;
  return DirectPlace{.reads = direct_,
                     .offset = at,
                     .size = location.size,
                     .segment = location.segment,
                     .life = direct_->lives->of(location.segment)};
}

}  // namespace moraine::blob
