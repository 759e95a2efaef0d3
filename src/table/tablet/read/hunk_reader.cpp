#include "table/tablet/read/hunk_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/checksum.h"
#include "io/sync.h"

namespace moraine::table {
namespace {

// A range of one blob, and the hunks in it: positions [first, last) of the order.
struct Stretch {
  blob::BlobId blob;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

struct HunkJob {
  std::span<const HunkRef> refs;
  BlobReader& blobs;
  std::vector<std::uint32_t> order;  // Of refs, by blob and offset.
  std::vector<Slice> bytes;
  std::vector<Stretch> stretches;
  std::size_t next = 0;  // Of `stretches`.
  Result<void> outcome;
  std::uint64_t read_bytes = 0;
};

std::vector<Stretch> plan(const HunkJob& job) {
  std::vector<Stretch> stretches;
  for (std::size_t at = 0; at < job.order.size(); ++at) {
    const HunkRef& ref = job.refs[job.order[at]];
    if (!stretches.empty() && stretches.back().blob == ref.blob) {
      Stretch& open = stretches.back();
      const std::uint64_t end = std::uint64_t{open.offset} + open.size;
      const std::uint64_t ref_end = std::uint64_t{ref.offset} + ref.size;
      const std::uint64_t joined = std::max(end, ref_end) - open.offset;
      if (ref.offset <= end + kHunkGapMax && joined <= kHunkReadBytesMax) {
        open.size = static_cast<std::uint32_t>(joined);
        open.last = at + 1;
        continue;
      }
    }
    stretches.push_back({ref.blob, ref.offset, ref.size, at, at + 1});
  }
  return stretches;
}

Task<Result<void>> read_stretch(HunkJob& job, const Stretch& stretch) {
  if (stretch.size == 0) co_return Result<void>();
  CO_TRY(const Slice read, co_await job.blobs.read(stretch.blob, stretch.offset, stretch.size));
  if (read.size() != stretch.size) {
    co_return fail(Errc::kCorrupt,
                   fmt::format("blob {}: {} of {} bytes of hunks at {}", stretch.blob.to_string(),
                               read.size(), stretch.size, stretch.offset));
  }
  job.read_bytes += stretch.size;
  for (std::size_t at = stretch.first; at < stretch.last; ++at) {
    const HunkRef& ref = job.refs[job.order[at]];
    Slice part = read.sub(ref.offset - stretch.offset, ref.size);
    if (crc32c(part) != ref.checksum) {
      co_return fail(Errc::kCorrupt, fmt::format("blob {}: checksum of the hunk at {}",
                                                 ref.blob.to_string(), ref.offset));
    }
    job.bytes[job.order[at]] = std::move(part);
  }
  co_return Result<void>();
}

// One of several that read what is left.
Task<void> read_next(HunkJob& job) {
  while (job.next < job.stretches.size() && job.outcome) {
    Result<void> read = co_await read_stretch(job, job.stretches[job.next++]);
    if (!read) job.outcome = std::move(read);
  }
}

}  // namespace

Task<Result<std::vector<Slice>>> read_hunks(std::span<const HunkRef> refs, BlobReader& blobs,
                                            ChunkReadCounters& counters) {
  HunkJob job{
      .refs = refs, .blobs = blobs, .order = {}, .bytes = {}, .stretches = {}, .outcome = {}};
  job.order.resize(refs.size());
  job.bytes.resize(refs.size());
  std::iota(job.order.begin(), job.order.end(), 0);
  std::ranges::sort(job.order, [&refs](std::uint32_t a, std::uint32_t b) {
    return std::pair(refs[a].blob, refs[a].offset) < std::pair(refs[b].blob, refs[b].offset);
  });
  job.stretches = plan(job);
  TaskScope scope;
  for (std::size_t i = 0; i < std::min(job.stretches.size(), kHunkReadsInFlight); ++i) {
    scope.spawn(read_next(job));
  }
  co_await scope.join();
  counters.add(ChunkReadCounters::kDiskBytes, job.read_bytes);
  counters.add(ChunkReadCounters::kTransmittedBytes, job.read_bytes);
  if (!job.outcome) co_return std::unexpected(std::move(job.outcome).error());
  co_return std::move(job.bytes);
}

}  // namespace moraine::table
