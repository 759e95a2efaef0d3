// Chunks in memory. For tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/epoch.h"
#include "base/invariant.h"
#include "io/random.h"
#include "table/chunk/chunk_reader.h"
#include "table/chunk/chunk_writer.h"
#include "table/memory/memory_store.h"
#include "table/model/key.h"

namespace moraine::table {

// The value of a task that never suspends.
template <class T>
Task<void> put_value(Task<T> task, std::optional<T>* out) {
  out->emplace(co_await std::move(task));
}
template <class T>
T run_now(Task<T> task) {
  std::optional<T> value;
  spawn(put_value(std::move(task), &value));
  INVARIANT(value, "a task suspends");
  return std::move(*value);
}

class TestBlobs final : public BlobReader {
 public:
  Task<Result<Slice>> read(blob::BlobId id, std::uint32_t offset, std::uint32_t size) override {
    ++reads;
    const auto found = blobs.find(id);
    if (found == blobs.end()) co_return fail(Errc::kNotFound, id.to_string());
    if (offset + std::uint64_t{size} > found->second.size()) {
      co_return fail(Errc::kInvalidArgument, "a read past the end");
    }
    co_return Slice::copy_of(found->second.span().subspan(offset, size));
  }
  blob::BlobId add(const Slice& bytes) {
    const blob::BlobId id(blob::TabletId{7}, 1, ++next_, 2,
                          static_cast<std::uint32_t>(bytes.size()), 0);
    blobs.emplace(id, bytes);
    return id;
  }

  std::map<blob::BlobId, Slice> blobs;
  std::size_t reads = 0;

 private:
  std::uint32_t next_ = 0;
};

// A row that owns its memory.
struct OwnedRow {
  std::string key;
  RowBuilder builder;
  std::vector<std::unique_ptr<std::string>> texts;

  std::string_view keep(std::string text) {
    return *texts.emplace_back(std::make_unique<std::string>(std::move(text)));
  }
  VersionedRow row() const {
    VersionedRow row = builder.row();
    row.key = as_bytes(key);
    return row;
  }
};

class TestChunks {
 public:
  static constexpr std::size_t kCacheBytes = std::size_t{256} << 20;

  // Writes the rows and returns the record; the blobs are in `blobs`.
  ChunkRecord write(std::shared_ptr<const TableSchema> schema, ChunkWriteOptions options,
                    const std::vector<OwnedRow>& rows) {
    ChunkWriter writer(std::move(schema), options);
    for (const OwnedRow& row : rows) {
      const auto added = writer.add(row.row());
      INVARIANT(added, "{}", added.error().message());
    }
    return finish(writer, options.format);
  }
  ChunkRecord finish(ChunkWriter& writer, OptimizeFor format) {
    ChunkRecord record;
    record.id = ++next_id_;
    record.format = format;
    std::vector<blob::BlobId> hunks;
    while (auto blob = writer.take_blob()) record.data.push_back(blobs.add(*blob));
    while (auto blob = writer.take_hunk_blob()) hunks.push_back(blobs.add(*blob));
    auto finished = writer.finish();
    INVARIANT(finished, "{}", finished.error().message());
    for (const Slice& blob : finished->blobs) record.data.push_back(blobs.add(blob));
    for (const Slice& blob : finished->hunk_blobs) hunks.push_back(blobs.add(blob));
    record.hunks = finished->hunks;
    for (std::size_t i = 0; i < hunks.size(); ++i) record.hunks[i].blob = hunks[i];
    record.statistics = finished->statistics;
    record.meta = blobs.add(finished->meta);
    return record;
  }
  Result<std::shared_ptr<ChunkReader>> open(const ChunkRecord& record,
                                            std::shared_ptr<const TableSchema> schema) {
    return ChunkReader::open(record, blobs.blobs.at(record.meta), std::move(schema), blobs,
                             caches(), statistics);
  }
  ChunkCaches caches() {
    return {.uncompressed = &cache,
            .compressed = with_packed ? &packed : nullptr,
            .pins_compressed = pins_compressed};
  }

  TestBlobs blobs;
  BlockCache cache{kCacheBytes};
  BlockCache packed{kCacheBytes};
  bool with_packed = false;
  bool pins_compressed = false;
  ChunkReadStatistics statistics;

 private:
  std::uint64_t next_id_ = 0;
};

// Looks up a key, loading missing blocks.
inline Result<bool> find_row(const ChunkReader& reader, std::string_view key, const ReadSpec& spec,
                             RowBuilder& out, std::vector<std::pair<std::uint32_t, Slice>>& pins) {
  for (;;) {
    std::vector<std::uint32_t> missing;
    {
      const EpochGuard guard;
      const auto found =
          reader.lookup(as_bytes(key), key_hash(as_bytes(key)), spec, out, missing, pins);
      if (found != ChunkReader::Found::kNeedsBlocks) return found == ChunkReader::Found::kYes;
    }
    for (const std::uint32_t block : missing) {
      auto loaded = run_now(reader.load(block));
      if (!loaded) return std::unexpected(loaded.error());
      pins.emplace_back(block, std::move(*loaded));
    }
  }
}

}  // namespace moraine::table
