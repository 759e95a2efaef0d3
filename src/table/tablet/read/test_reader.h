// A tablet's stores without the tablet: memory stores, chunks in a map of blobs, and their reader.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/sim/sim_executor.h"
#include "io/sync.h"
#include "table/chunk/chunk_writer.h"
#include "table/tablet/read/tablet_reader.h"
#include "table/tablet/store_set.h"

namespace moraine::table {

class FakeBlobs final : public BlobReader {
 public:
  explicit FakeBlobs(Executor& executor) : executor_(executor) {}

  blob::BlobId put(Slice bytes) {
    const blob::BlobId id({1}, 1, ++next_, 0, static_cast<std::uint32_t>(bytes.size()), 0);
    blobs[id] = std::move(bytes);
    return id;
  }
  Task<Result<Slice>> read(blob::BlobId id, std::uint32_t offset, std::uint32_t size) override {
    ++reads;
    co_await yield(executor_);
    const auto found = blobs.find(id);
    if (found == blobs.end()) co_return fail(Errc::kNotFound, "blob " + id.to_string());
    if (offset + size > found->second.size()) co_return fail(Errc::kCorrupt, "short blob");
    co_return found->second.sub(offset, size);
  }

  std::map<blob::BlobId, Slice> blobs;
  std::size_t reads = 0;

 private:
  Executor& executor_;
  std::uint32_t next_ = 0;
};

class FakeUndecided final : public UndecidedRows {
 public:
  explicit FakeUndecided(Executor& executor) : executor_(executor) {}
  Task<Result<void>> wait_decided(std::string key, Timestamp, Instant deadline) override {
    waited.push_back(std::move(key));
    if (!decide) {
      co_await sleep_for(executor_, deadline - executor_.now());
      co_return fail(Errc::kTimeout, "undecided");
    }
    co_await yield(executor_);
    decide();
    co_return Result<void>();
  }

  std::vector<std::string> waited;
  std::function<void()> decide;  // Empty: never.

 private:
  Executor& executor_;
};

inline ColumnSchema test_column(std::string name, ColumnType type, bool key = false) {
  ColumnSchema column;
  column.name = std::move(name);
  column.type = type;
  column.key = key;
  return column;
}
// k int64 key; v string; n int64 summed; w string, whose long values are hunks.
inline TableSchema reader_schema() {
  TableSchema schema;
  schema.columns = {test_column("k", ColumnType::kInt64, true),
                    test_column("v", ColumnType::kString), test_column("n", ColumnType::kInt64),
                    test_column("w", ColumnType::kString)};
  schema.columns[2].aggregate = Aggregate::kSum;
  schema.columns[3].max_inline_hunk_size = 100;
  return schema;
}

struct Cell {
  ColumnIndex column = 0;
  Value value;
  bool delta = false;
};

inline std::string key_of(std::int64_t number) {
  const Value columns[] = {Value(number)};
  return encode_key(columns);
}

struct TestReader {
  explicit TestReader(TableSchema table = reader_schema(), std::size_t cache_bytes = 64 << 20)
      : schema(std::make_shared<TableSchema>(std::move(table))),
        blocks(cache_bytes),
        stores(schema, {}, 1, executor.now()) {}

  MemoryStore& active() { return *stores.active().store; }
  MemoryStore::Row& touch(std::int64_t number) {
    const std::string key = key_of(number);
    return active().touch(as_bytes(key), key_hash(as_bytes(key)));
  }
  void write(std::int64_t number, Timestamp timestamp, const std::vector<Cell>& cells) {
    std::string image;
    begin_image(image);
    for (const Cell& cell : cells) append_cell(image, cell.column, cell.delta, cell.value);
    finish_image(image, static_cast<std::uint16_t>(cells.size()));
    active().add(touch(number), timestamp, ChangeKind::kWrite, as_bytes(image));
  }
  void remove(std::int64_t number, Timestamp timestamp) {
    active().add(touch(number), timestamp, ChangeKind::kDelete, {});
  }

  // Moves all rows of the active store to a chunk.
  std::shared_ptr<ChunkReader> flush(OptimizeFor format = OptimizeFor::kLookup, bool eden = true,
                                     Codec codec = {}) {
    const StoreNumber number = stores.active().number;
    const std::shared_ptr<MemoryStore> store = stores.active().store;
    stores.rotate(executor.now());
    ChunkWriter writer(schema, {.format = format, .codec = codec});
    cache.begin_flush(stores.flush_revision() + 1);
    const auto rows = store->scan({}, ReadSpec{.all_versions = true});
    while (rows->next() == RowCursor::Step::kRow) {
      cache.update(rows->row(), key_hash(rows->row().key));
      EXPECT_TRUE(writer.add(rows->row()));
    }
    const std::shared_ptr<ChunkReader> chunk = finish(writer, format);
    StoreSet::Change change;
    (eden ? change.added_to_eden : change.added).push_back(chunk);
    change.flushed.push_back(number);
    stores.apply(std::move(change));
    return chunk;
  }

  std::shared_ptr<ChunkReader> finish(ChunkWriter& writer, OptimizeFor format) {
    Result<FinishedChunk> finished = writer.finish();
    EXPECT_TRUE(finished);
    ChunkRecord record;
    record.id = ++next_chunk;
    record.format = format;
    record.meta = blobs.put(finished->meta);
    while (const std::optional<Slice> blob = writer.take_blob()) {
      record.data.push_back(blobs.put(*blob));
    }
    for (const Slice& blob : finished->blobs) record.data.push_back(blobs.put(blob));
    record.hunks = finished->hunks;
    for (std::size_t i = 0; i < finished->hunk_blobs.size(); ++i) {
      record.hunks[i].blob = blobs.put(finished->hunk_blobs[i]);
    }
    record.statistics = finished->statistics;
    Result<std::shared_ptr<ChunkReader>> opened = ChunkReader::open(
        record, finished->meta, schema, blobs, {.uncompressed = &blocks}, statistics.chunks);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().context);
    return *opened;
  }

  template <class T>
  T run(Task<T> task) {
    std::optional<T> outcome;
    spawn(keep(std::move(task), outcome));
    executor.run_until_idle();
    return *std::move(outcome);
  }
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& outcome) {
    outcome.emplace(co_await std::move(task));
  }

  SimExecutor executor;
  std::shared_ptr<const TableSchema> schema;
  FakeBlobs blobs{executor};
  FakeUndecided undecided{executor};
  BlockCache blocks;
  SlabMemory slabs{16 << 20};
  RowCache cache{slabs};
  ReadStatistics statistics;
  // Frees retired views before the caches that their chunks use.
  struct Drain {
    ~Drain() {
      while (!run_retired()) {
      }
    }
  } drain;
  StoreSet stores;
  TabletReader reader{executor, stores.views(), undecided, blobs, &cache, statistics, {}};
  std::uint64_t next_chunk = 0;
};

}  // namespace moraine::table
