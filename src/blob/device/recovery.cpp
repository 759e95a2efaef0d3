#include "blob/device/recovery.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/invariant.h"
#include "blob/device/device.h"
#include "io/sync.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kScanBytes = 256u << 10;  // Read at once while looking for batches.
constexpr std::size_t kProbesInFlight = 32;

// Reads the log step by step.
class Recovery {
 public:
  explicit Recovery(Disk& disk) : disk_(disk) {}

  Task<Result<RecoveredLog>> run() {
    CO_TRY_VOID(co_await disk_.sync());
    CO_TRY(SuperblockPages pages, co_await read_superblock_pages(disk_));
    log_.superblock = pages.superblock;
    log_.damaged_superblocks = std::move(pages.damaged);
    CO_TRY_VOID(co_await read_root());
    CO_TRY_VOID(co_await read_manifest());
    CO_TRY_VOID(co_await read_chunks());
    log_.epoch_max = std::max(log_.epoch_max, log_.root.last_epoch);
    log_.sequence_max = std::max(log_.sequence_max, log_.root.last_sequence);
    log_.run_max = std::max(log_.run_max, log_.root.run);
    if (log_.root.clean) {
      log_.plan.last = log_.root.last_sequence;
      co_return std::move(log_);
    }
    CO_TRY_VOID(co_await probe_segments());
    CO_TRY_VOID(co_await scan_candidates());
    CO_TRY_VOID(co_await order());
    co_return std::move(log_);
  }

 private:
  Task<Result<Slice>> read(std::uint64_t offset, std::size_t size) {
    log_.bytes_read += size;
    return disk_.read(offset, size);
  }

  Task<Result<void>> read_root() {
    CO_TRY(const Slice sectors,
           co_await read(kSuperblockCopies * kSectorSize, kRootSlots * kSectorSize));
    bool found = false;
    std::uint32_t broken = 0;
    for (std::uint64_t i = 0; i < kRootSlots; ++i) {
      const auto root = decode_root(sectors.sub(i * kSectorSize, kSectorSize));
      if (!root || root->device != log_.superblock.device) {
        ++broken;
        continue;
      }
      if (!found || root->sequence > log_.root.sequence) log_.root = *root;
      found = true;
    }
    if (!found) co_return fail(Errc::kCorrupt, "no readable root");
    if (broken > 0) {
      log_.damage.push_back(fmt::format("{} of {} root sectors are damaged", broken, kRootSlots));
    }
    co_return Result<void>();
  }

  Task<Result<void>> read_manifest() {
    if (log_.root.manifest.size == 0) {
      log_.manifest.segments.resize(log_.superblock.segments);
      co_return Result<void>();
    }
    log_.bytes_read += log_.root.manifest.size;
    auto bytes = co_await read_checked(log_.root.manifest);
    if (!bytes) co_return std::unexpected(std::move(bytes).error().within("checkpoint manifest"));
    CO_TRY(log_.manifest, decode_manifest(*bytes));
    if (log_.manifest.segments.size() != log_.superblock.segments) {
      co_return fail(Errc::kCorrupt, "manifest belongs to another device");
    }
    for (const auto& segment : log_.manifest.segments) {
      log_.epoch_max = std::max(log_.epoch_max, segment.epoch);
    }
    co_return Result<void>();
  }

  Task<Result<Slice>> read_checked(Location location) {
    if (location.segment >= log_.superblock.segments ||
        std::uint64_t{location.offset} + location.size > log_.superblock.segment_bytes) {
      co_return fail(Errc::kCorrupt, "location outside the device");
    }
    co_return co_await read_data(disk_, log_.superblock, location, 0, location.size);
  }

  // A corrupted checkpoint chunk loses index facts: reported, not fatal.
  Task<Result<void>> read_chunks() {
    for (const Manifest::Chunk& chunk : log_.manifest.chunks) {
      log_.bytes_read += chunk.location.size;
      auto bytes = co_await read_checked(chunk.location);
      if (!bytes) {
        if (bytes.error().code == Errc::kUnavailable) co_return std::unexpected(bytes.error());
        if (bytes.error().code != Errc::kCorrupt) log_.read_failure = bytes.error();
        log_.damage.push_back("checkpoint chunk: " + bytes.error().context);
        log_.chunks.emplace_back();
        continue;
      }
      log_.chunks.push_back(std::move(*bytes));
    }
    co_return Result<void>();
  }

  // Reads the first sector of every segment to find those opened since the checkpoint.
  Task<Result<void>> probe_segments() {
    TaskScope scope;
    Result<void> outcome;
    for (std::uint32_t first = 0; first < log_.superblock.segments; first += kProbesInFlight) {
      const std::uint32_t last = std::min<std::uint32_t>(
          log_.superblock.segments, first + static_cast<std::uint32_t>(kProbesInFlight));
      for (std::uint32_t i = first; i < last; ++i) scope.spawn(probe(i, outcome));
      co_await scope.join();
      if (!outcome) co_return outcome;
    }
    co_return Result<void>();
  }

  Task<void> probe(std::uint32_t segment, Result<void>& outcome) {
    auto sector = co_await read(log_.superblock.segment_offset(segment), kSectorSize);
    if (!sector) {
      log_.damage.push_back(fmt::format("segment {}: {}", segment, sector.error().message()));
      log_.unreadable = true;
      log_.read_failure = sector.error();
      if (sector.error().code == Errc::kUnavailable) {
        outcome = std::unexpected(std::move(sector).error());
      }
      co_return;
    }
    const auto header = peek_header(*sector);
    bool whole = header && header->meta_size <= kSectorSize && decode_meta(*sector);
    if (header && header->meta_size > kSectorSize &&
        header->meta_size <= log_.superblock.segment_bytes) {
      auto meta = co_await read(log_.superblock.segment_offset(segment),
                                align_up(header->meta_size, kSectorSize));
      whole = meta && decode_meta(*meta);
    }
    const bool blank =
        std::ranges::all_of(sector->span(), [](std::byte b) { return b == std::byte{0}; });
    const bool foreign = whole && header->device != log_.superblock.device;
    if (blank || foreign) {
      // Never written, or before the device was formatted.
    } else if (!whole || header->segment != segment || header->sector != 0) {
      // A batch of any age may have been corrupted or overwritten here: those after it decide.
      candidates_.insert(segment);
    } else {
      log_.epoch_max = std::max(log_.epoch_max, header->epoch);
      if (header->epoch >= log_.manifest.start_epoch) candidates_.insert(segment);
    }
    // The open segment of the checkpoint may have a corrupted first sector.
    const auto& state = log_.manifest.segments[segment];
    if (state.used && state.epoch >= log_.manifest.start_epoch) candidates_.insert(segment);
  }

  Task<Result<void>> scan_candidates() {
    while (!candidates_.empty()) {
      const std::uint32_t segment = *candidates_.begin();
      candidates_.erase(candidates_.begin());
      CO_TRY_VOID(co_await scan(segment));
    }
    co_return Result<void>();
  }

  // Collects the batches of one segment; after a gap it searches for the next one, sector by
  // sector, as far as batches in flight at a crash can reach.
  Task<Result<void>> scan(std::uint32_t segment) {
    const std::uint32_t sectors = log_.superblock.segment_bytes / kSectorSize;
    const auto window_max =
        static_cast<std::uint32_t>(kBytesInFlightToDiskMax + kLargestBatchBytes) / kSectorSize;
    std::optional<std::uint64_t> epoch;
    std::uint32_t gap = 0;
    Slice window;
    std::uint32_t window_at = 0;
    for (std::uint32_t at = 0; at < sectors && gap <= window_max;) {
      const std::uint64_t offset = (std::uint64_t{at} - window_at) * kSectorSize;
      if (window.empty() || at < window_at || offset >= window.size()) {
        const std::size_t size =
            std::min<std::size_t>(kScanBytes, std::size_t{sectors - at} * kSectorSize);
        CO_TRY(window, co_await read(log_.superblock.segment_offset(segment) +
                                         std::uint64_t{at} * kSectorSize,
                                     size));
        window_at = at;
        continue;
      }
      auto batch = co_await decode_at(segment, at, window, offset);
      if (!batch) co_return std::unexpected(std::move(batch).error());
      if (!batch->has_value() || (epoch && (*batch)->header.epoch != *epoch)) {
        ++at;
        ++gap;
        continue;
      }
      gap = 0;
      epoch = (*batch)->header.epoch;
      at += (*batch)->header.sectors;
      remember(std::move(**batch));
    }
    co_return Result<void>();
  }

  void remember(FoundBatch batch) {
    log_.epoch_max = std::max(log_.epoch_max, batch.header.epoch);
    log_.sequence_max = std::max(log_.sequence_max, batch.header.sequence);
    log_.run_max = std::max(log_.run_max, batch.header.run);
    log_.batches.push_back(std::move(batch));
  }

  Task<Result<std::optional<FoundBatch>>> decode_at(std::uint32_t segment, std::uint32_t at,
                                                    const Slice& window, std::uint64_t offset) {
    using Found = std::optional<FoundBatch>;
    const std::size_t left = window.size() - offset;
    const auto header = peek_header(window.span().subspan(offset, kSectorSize));
    const std::uint32_t sectors = log_.superblock.segment_bytes / kSectorSize;
    if (!header || header->device != log_.superblock.device || header->segment != segment ||
        header->sector != at || header->sectors > sectors - at || header->sectors == 0 ||
        header->epoch < log_.manifest.start_epoch) {
      co_return Found();
    }
    Slice meta;
    if (header->meta_size <= left) {
      meta = Slice::copy_of(window.span().subspan(offset, header->meta_size));
    } else {
      CO_TRY(meta, co_await read(
                       log_.superblock.segment_offset(segment) + std::uint64_t{at} * kSectorSize,
                       align_up(header->meta_size, kSectorSize)));
    }
    if (!decode_meta(meta)) co_return Found();
    co_return Found(FoundBatch{*header, std::move(meta)});
  }

  // The data of the newest batches decides where the log ends, so it is checked before ordering.
  // When the disk fails to read it the end is unknown, and the device is not opened.
  Task<Result<void>> order() {
    std::uint64_t durable = 0;
    std::vector<BatchHeader> headers;
    for (const FoundBatch& batch : log_.batches) {
      headers.push_back(batch.header);
      durable = std::max(durable, batch.header.durable);
    }
    std::vector<bool> whole(headers.size(), true);
    for (std::size_t i = 0; i < headers.size(); ++i) {
      if (headers[i].sequence <= durable) continue;
      CO_TRY(const bool intact, co_await data_intact(log_.batches[i]));
      whole[i] = intact;
    }
    log_.plan = order_log(headers, log_.manifest.start_sequence, log_.manifest.start_run,
                          [&whole](std::size_t i) { return whole[i]; });
    for (const std::uint64_t sequence : log_.plan.lost) {
      log_.damage.push_back(fmt::format("log batch {} is lost", sequence));
    }
    log_.sequence_max = std::max(log_.sequence_max, log_.plan.last);
    co_return Result<void>();
  }

  Task<Result<bool>> data_intact(const FoundBatch& batch) {
    CO_TRY(const BatchMeta meta, decode_meta(batch.meta));
    for (const RecordView& record : meta.records) {
      if (record.data_size == 0) continue;
      const Location location = location_of(batch.header, record);
      log_.bytes_read += record.data_size;
      auto data = co_await read_checked(location);
      if (!data) {
        if (data.error().code == Errc::kCorrupt) co_return false;
        co_return std::unexpected(std::move(data).error());
      }
      const std::uint32_t table = table_bytes(record.data_size);
      if (table > 0) {
        // A range of one byte makes read_data check the table.
        auto probed = co_await read_data(disk_, log_.superblock, location, 0, 1);
        if (!probed && probed.error().code != Errc::kCorrupt) {
          co_return std::unexpected(std::move(probed).error());
        }
        if (!probed) co_return false;
      }
    }
    co_return true;
  }

  Disk& disk_;
  RecoveredLog log_;
  std::set<std::uint32_t> candidates_;  // Segments that may hold batches after the checkpoint.
};

}  // namespace

Location location_of(const BatchHeader& header, const RecordView& record) {
  return {
      header.segment,
      static_cast<std::uint32_t>(std::uint64_t{header.sector} * kSectorSize + record.data_offset),
      record.data_size, record.data_crc};
}

Task<Result<SuperblockPages>> read_superblock_pages(Disk& disk) {
  if (disk.size() < kSegmentsOffset) {
    co_return fail(Errc::kCorrupt, fmt::format("not a moraine device: it has fewer than {} bytes",
                                               kSegmentsOffset));
  }
  CO_TRY(const Slice sectors, co_await disk.read(0, kSuperblockCopies * kSectorSize));
  std::vector<Result<Superblock>> copies;
  for (std::uint64_t i = 0; i < kSuperblockCopies; ++i) {
    copies.push_back(decode_superblock(sectors.sub(i * kSectorSize, kSectorSize)));
  }
  const auto whole =
      std::ranges::find_if(copies, [](const Result<Superblock>& copy) { return copy.has_value(); });
  if (whole == copies.end()) co_return std::unexpected(copies.front().error());
  SuperblockPages pages{**whole, {}};
  if (disk.size() < pages.superblock.size) {
    co_return fail(Errc::kCorrupt, fmt::format("the device is truncated: {} bytes of {}",
                                               disk.size(), pages.superblock.size));
  }
  for (std::uint64_t i = 0; i < kSuperblockCopies; ++i) {
    if (!copies[i]) {
      pages.damaged.push_back({i, copies[i].error().message()});
    } else if (copies[i]->device != pages.superblock.device) {
      pages.damaged.push_back({i, "it is of another formatting of the device"});
    }
  }
  co_return pages;
}

Task<Result<Superblock>> read_superblock(Disk& disk) {
  CO_TRY(const SuperblockPages pages, co_await read_superblock_pages(disk));
  co_return pages.superblock;
}

Task<Result<RecoveredLog>> recover_log(Disk& disk) {
  Recovery recovery(disk);
  co_return co_await recovery.run();
}

}  // namespace moraine::blob
