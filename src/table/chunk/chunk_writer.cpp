#include "table/chunk/chunk_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/invariant.h"
#include "table/chunk/hunk_writer.h"
#include "table/chunk/unit_writer.h"
#include "table/chunk/varint.h"
#include "table/memory/memory_store.h"

namespace moraine::table {
namespace {

// A chunk with this many rows counts as full as one of kChunkBytesMax.
constexpr std::uint64_t kChunkRowsMax = 4'000'000;
constexpr std::uint64_t kChunkRawBytesMax = std::uint64_t{1} << 30;
// The same for the part of its meta that grows with the rows; the rest of kMetaBytesMax is for
// samples, the first and the last key, one more unit, and a wide schema.
constexpr std::uint64_t kGrowingMetaBytes = std::uint64_t{6} << 20;
constexpr std::uint64_t kGrowingMetaBytesMin = std::uint64_t{1} << 20;
// Upper bounds of bytes in the meta: per block, per unit, per column range of a unit, per column.
constexpr std::uint64_t kMetaBlockBytes = 28;
constexpr std::uint64_t kMetaUnitBytes = 24;
constexpr std::uint64_t kMetaRangeBytes = 2 * kRangeTextBytes + 8;
constexpr std::uint64_t kMetaColumnBytes = 64;

std::uint64_t schema_bytes(const TableSchema& schema) {
  std::uint64_t bytes = 0;
  for (const ColumnSchema& column : schema.columns) {
    bytes += kMetaColumnBytes + column.name.size() + column.lock.size() + column.group.size() +
             column.expression.size();
  }
  return bytes;
}

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

void count_row(ChunkStatistics& statistics, const VersionedRow& row) {
  ++statistics.rows;
  statistics.values += row.values.size();
  statistics.deletes += row.delete_timestamps.size();
  for (std::size_t i = 1; i < row.values.size(); ++i) {
    if (row.values[i].column == row.values[i - 1].column) ++statistics.superseded;
  }
}

BlockSink::Times times_of(const VersionedRow& row) {
  BlockSink::Times times{.min = ~Timestamp{0}, .max = 0};
  for (const auto& timestamps : {row.write_timestamps, row.delete_timestamps}) {
    if (timestamps.empty()) continue;
    times.min = std::min(times.min, timestamps.back());
    times.max = std::max(times.max, timestamps.front());
  }
  return times;
}

}  // namespace

class ChunkWriter::Impl {
 public:
  Impl(std::shared_ptr<const TableSchema> schema, const ChunkWriteOptions& options)
      : schema_(std::move(schema)),
        options_(options),
        sink_(options.codec),
        hunks_(*schema_),
        unit_(options.format == OptimizeFor::kScan
                  ? make_row_group_writer(*schema_, options.row_bytes_max)
                  : make_row_block_writer(*schema_, options.block_bytes, options.row_bytes_max)),
        schema_bytes_(schema_bytes(*schema_)) {
    meta_.format = options.format;
    meta_.codec = options.codec;
    meta_.schema = *schema_;
    meta_.key_seed = options.key_seed;
    if (options.format == OptimizeFor::kScan) {
      meta_.blocks_per_unit = static_cast<std::uint32_t>(schema_->columns.size() + 2);
      meta_.column_flags.resize(schema_->columns.size());
    }
  }

  Result<void> add(const VersionedRow& row) {
    const std::string_view key = as_text(row.key);
    INVARIANT(meta_.statistics.rows == 0 || key > last_key_, "keys out of order");
    const VersionedRow converted = hunks_.convert(row);
    auto added = unit_->add(converted);
    if (added && !*added) {
      finish_unit();
      added = unit_->add(converted);
    }
    if (!added) return std::unexpected(std::move(added.error()));
    if (unit_->rows() == 1) begin_unit(key);
    const BlockSink::Times times = times_of(row);
    times_.min = std::min(times_.min, times.min);
    times_.max = std::max(times_.max, times.max);
    if (meta_.statistics.rows == 0) meta_.statistics.first_key = key;
    count_row(meta_.statistics, row);
    last_key_ = key;
    keys_hash_ = key_hash(row.key, keys_hash_);
    if (options_.key_filter) hashes_.push_back(key_hash(row.key));
    return {};
  }

  Result<FinishedChunk> finish() {
    INVARIANT(meta_.statistics.rows > 0, "a chunk without rows");
    finish_unit();
    FinishedChunk chunk;
    chunk.blobs = sink_.blobs().finish();
    chunk.hunk_blobs = hunks_.blobs().finish();
    chunk.hunks = hunks_.uses();
    meta_.blob_ends = sink_.blobs().ends();
    meta_.blocks = std::move(sink_.blocks());
    meta_.fresh_hunk_blobs = static_cast<std::uint32_t>(hunks_.blobs().ends().size());
    if (options_.key_filter) meta_.filter_bytes = build_filter(std::move(hashes_));
    ChunkStatistics& statistics = meta_.statistics;
    statistics.data_bytes = sink_.blobs().bytes();
    statistics.uncompressed_bytes = sink_.raw_bytes();
    statistics.hunk_bytes = hunks_.bytes();
    statistics.last_key = last_key_;
    chunk.meta = encode_meta(meta_);
    if (chunk.meta.size() > kMetaBytesMax) {
      return fail(Errc::kInvalidArgument, fmt::format("chunk meta of {} bytes, more than {}",
                                                      chunk.meta.size(), kMetaBytesMax));
    }
    chunk.statistics = statistics;
    chunk.statistics.meta_bytes = chunk.meta.size();
    return chunk;
  }

  std::uint64_t rows() const { return meta_.statistics.rows; }
  std::uint64_t bytes() const {
    const auto share = [](std::uint64_t used, std::uint64_t max) {
      return kChunkBytesMax / 1'024 * used / (max / 1'024);
    };
    return std::max({sink_.blobs().bytes(), share(rows(), kChunkRowsMax),
                     share(sink_.raw_bytes(), kChunkRawBytesMax),
                     share(growing_meta_bytes(), growing_meta_bytes_max())});
  }
  BlobStream& blobs() { return sink_.blobs(); }
  BlobStream& hunk_blobs() { return hunks_.blobs(); }

 private:
  // A filter takes about ten bits per row.
  std::uint64_t growing_meta_bytes() const {
    return index_bytes_ + (options_.key_filter ? rows() * 5 / 4 : 0);
  }
  std::uint64_t growing_meta_bytes_max() const {
    if (schema_bytes_ + kGrowingMetaBytesMin > kGrowingMetaBytes) return kGrowingMetaBytesMin;
    return kGrowingMetaBytes - schema_bytes_;
  }

  void begin_unit(std::string_view key) {
    keys_hash_ = options_.key_seed;
    if (units_ > 0) {
      const std::string_view last =
          meta_.separators.empty() ? std::string_view() : meta_.separators.back();
      std::string next(separator(last_key_, key));
      index_bytes_ += next.size() - shared_prefix(last, next);
      meta_.separators.push_back(std::move(next));
    }
    index_bytes_ += kMetaUnitBytes + kMetaBlockBytes * meta_.blocks_per_unit +
                    kMetaRangeBytes * meta_.column_flags.size();
    if (units_ % sample_stride_ == 0) add_sample(key);
    ++units_;
  }

  // Drops every second sample when there are too many, or too many bytes of them.
  void add_sample(std::string_view key) {
    while (!meta_.samples.empty() &&
           (meta_.samples.size() == kSamplesMax || sample_bytes_ + key.size() > kSampleBytesMax)) {
      sample_stride_ *= 2;
      std::erase_if(meta_.samples,
                    [this](const KeySample& s) { return s.unit % sample_stride_ != 0; });
      sample_bytes_ = 0;
      for (const KeySample& sample : meta_.samples) sample_bytes_ += sample.key.size();
      if (units_ % sample_stride_ != 0) return;
    }
    meta_.samples.push_back({units_, std::string(key)});
    sample_bytes_ += key.size();
  }

  void finish_unit() {
    ChunkStatistics& statistics = meta_.statistics;
    const bool first = sink_.blocks().empty();
    statistics.min_timestamp = first ? times_.min : std::min(statistics.min_timestamp, times_.min);
    statistics.max_timestamp = std::max(statistics.max_timestamp, times_.max);
    unit_->finish(sink_, times_, meta_);
    meta_.key_hashes.push_back(keys_hash_);
    times_ = {.min = ~Timestamp{0}, .max = 0};
  }

  const std::shared_ptr<const TableSchema> schema_;
  const ChunkWriteOptions options_;
  ChunkMeta meta_;
  BlockSink sink_;
  HunkWriter hunks_;
  std::unique_ptr<UnitWriter> unit_;
  BlockSink::Times times_{.min = ~Timestamp{0}, .max = 0};  // Of the unit.
  std::string last_key_;
  std::vector<std::uint64_t> hashes_;
  std::uint64_t keys_hash_ = 0;  // Of the unit.
  std::uint32_t units_ = 0;
  std::uint32_t sample_stride_ = 1;
  const std::uint64_t schema_bytes_;
  // Approximate size of the meta.
  std::uint64_t index_bytes_ = 0;
  std::uint64_t sample_bytes_ = 0;
};

ChunkWriter::ChunkWriter(std::shared_ptr<const TableSchema> schema, ChunkWriteOptions options)
    : impl_(std::make_unique<Impl>(std::move(schema), options)) {}
ChunkWriter::~ChunkWriter() = default;

Result<void> ChunkWriter::add(const VersionedRow& row) {
  return impl_->add(row);
}
std::optional<Slice> ChunkWriter::take_blob() {
  return impl_->blobs().take();
}
std::optional<Slice> ChunkWriter::take_hunk_blob() {
  return impl_->hunk_blobs().take();
}
std::uint64_t ChunkWriter::rows() const {
  return impl_->rows();
}
std::uint64_t ChunkWriter::bytes() const {
  return impl_->bytes();
}
Result<FinishedChunk> ChunkWriter::finish() {
  return impl_->finish();
}

}  // namespace moraine::table
