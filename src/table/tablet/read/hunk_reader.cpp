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

Task<void> read_stretch(HunkJob& job, Stretch stretch, Semaphore& permits) {
  co_await permits.acquire();
  if (job.outcome && stretch.size != 0) {
    Result<Slice> read = co_await job.blobs.read(stretch.blob, stretch.offset, stretch.size);
    if (!read) {
      job.outcome = std::unexpected(std::move(read).error());
    } else if (read->size() != stretch.size) {
      job.outcome = fail(Errc::kCorrupt, fmt::format("blob {}: {} of {} bytes of hunks at {}",
                                                     stretch.blob.to_string(), read->size(),
                                                     stretch.size, stretch.offset));
    } else {
      job.read_bytes += stretch.size;
      for (std::size_t at = stretch.first; at < stretch.last; ++at) {
        const HunkRef& ref = job.refs[job.order[at]];
        Slice part = read->sub(ref.offset - stretch.offset, ref.size);
        if (crc32c(part) != ref.checksum) {
          job.outcome = fail(Errc::kCorrupt, fmt::format("blob {}: checksum of the hunk at {}",
                                                         ref.blob.to_string(), ref.offset));
          break;
        }
        job.bytes[job.order[at]] = std::move(part);
      }
    }
  }
  permits.release();
}

}  // namespace

Task<Result<std::vector<Slice>>> read_hunks(std::span<const HunkRef> refs, BlobReader& blobs,
                                            ChunkReadCounters& counters) {
  HunkJob job{.refs = refs, .blobs = blobs, .order = {}, .bytes = {}, .outcome = {}};
  job.order.resize(refs.size());
  job.bytes.resize(refs.size());
  std::iota(job.order.begin(), job.order.end(), 0);
  std::ranges::sort(job.order, [&refs](std::uint32_t a, std::uint32_t b) {
    return std::pair(refs[a].blob, refs[a].offset) < std::pair(refs[b].blob, refs[b].offset);
  });
  Semaphore permits(kHunkReadsInFlight);
  TaskScope scope;
  for (const Stretch& stretch : plan(job)) scope.spawn(read_stretch(job, stretch, permits));
  co_await scope.join();
  counters.add(ChunkReadCounters::kDiskBytes, job.read_bytes);
  counters.add(ChunkReadCounters::kTransmittedBytes, job.read_bytes);
  if (!job.outcome) co_return std::unexpected(std::move(job.outcome).error());
  co_return std::move(job.bytes);
}

}  // namespace moraine::table
