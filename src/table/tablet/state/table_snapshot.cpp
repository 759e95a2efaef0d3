// Snapshots of a TableState.

#include <algorithm>
#include <utility>

#include "table/tablet/state/snapshot_pages.h"
#include "table/tablet/state/table_state.h"

namespace moraine::table {
namespace {

constexpr std::size_t kItemBytes = std::size_t{256} << 10;  // Approximate size of an item of rows.
constexpr std::size_t kFinishedPerItem = 4'096;
constexpr std::size_t kFinishedBytes = 32;
constexpr std::size_t kVersionBytesMin = 9;

enum class Item : std::uint8_t {
  kHead = 1,
  kChunk = 2,
  kPrepared = 3,
  kFinished = 4,
  kRows = 5,
  kEnd = 6,
  kStaged = 7,
  kTrimmed = 8,
};

Encoder begin_item(Item item) {
  Encoder encoder;
  encoder.u8(static_cast<std::uint8_t>(item));
  return encoder;
}

// The image of the write with this timestamp.
void append_image(Encoder& encoder, const VersionedRow& row, Timestamp timestamp,
                  std::string& image) {
  begin_image(image);
  std::uint16_t cells = 0;
  for (const VersionedValue& value : row.values) {
    if (value.timestamp != timestamp) continue;
    append_cell(image, value.column, value.aggregate, value.value);
    ++cells;
  }
  finish_image(image, cells);
  encoder.sized(image);
}

void append_row(Encoder& encoder, const VersionedRow& row, std::string& image) {
  encoder.sized(row.key);
  encoder.u32(
      static_cast<std::uint32_t>(row.write_timestamps.size() + row.delete_timestamps.size()));
  for (const Timestamp timestamp : row.write_timestamps) {
    encoder.u64(timestamp).u8(static_cast<std::uint8_t>(ChangeKind::kWrite));
    append_image(encoder, row, timestamp, image);
  }
  for (const Timestamp timestamp : row.delete_timestamps) {
    encoder.u64(timestamp).u8(static_cast<std::uint8_t>(ChangeKind::kDelete));
  }
}

class RowItems {
 public:
  RowItems(PageWriter& pages, StoreNumber store) : pages_(pages), store_(store) {}
  void add(const VersionedRow& row) {
    append_row(rows_, row, image_);
    ++count_;
    if (rows_.size() >= kItemBytes) flush();
  }
  void flush() {
    Encoder item = begin_item(Item::kRows);
    item.u64(store_).u32(count_).raw(std::as_const(rows_).span());
    pages_.add(std::as_const(item).span());
    rows_ = Encoder();
    count_ = 0;
  }

 private:
  PageWriter& pages_;
  const StoreNumber store_;
  Encoder rows_;
  std::uint32_t count_ = 0;
  std::string image_;
};

void append_store(PageWriter& pages, StoreNumber number, const MemoryStore& store) {
  RowItems items(pages, number);
  ReadSpec spec;
  spec.all_versions = true;
  const std::unique_ptr<RowCursor> cursor = store.scan({}, spec);
  while (cursor->next() == RowCursor::Step::kRow) {
    const VersionedRow& row = cursor->row();
    if (!row.write_timestamps.empty() || !row.delete_timestamps.empty()) items.add(row);
  }
  items.flush();
}

}  // namespace

Slice TableState::head_item() const {
  Encoder head = begin_item(Item::kHead);
  head.u64(next_chunk_).u64(last_store_).u64(last_commit_);
  // Row locks are not in snapshots: transactions that began before the newest commit cannot be
  // checked.
  head.u64(last_commit_).u64(finished_.horizon()).u64(retained_).flag(adopted_);
  append_pivots(head, pivots_);
  return head.slice();
}

std::vector<Slice> TableState::snapshot() const {
  PageWriter pages(kSnapshotPageMax);
  pages.add(head_item());
  if (trimmed_.rows > 0) {
    Encoder item = begin_item(Item::kTrimmed);
    item.u64(trimmed_.rows).u64(trimmed_.weight);
    pages.add(std::as_const(item).span());
  }
  for (const auto& [id, chunk] : chunks_) {
    Encoder item = begin_item(Item::kChunk);
    item.flag(eden_.contains(id));
    append_chunk(item, chunk);
    pages.add(std::as_const(item).span());
  }
  for (const auto& [build, chunks] : staged_) {
    for (const ChunkRecord& chunk : chunks) {
      Encoder item = begin_item(Item::kStaged);
      item.u64(build);
      append_chunk(item, chunk);
      pages.add(std::as_const(item).span());
    }
  }
  for (const auto& [id, record] : prepared_) {
    if (forgets_prepared_) break;
    Encoder item = begin_item(Item::kPrepared);
    append_prepare(item, *record);
    pages.add(std::as_const(item).span());
  }
  const auto& ended = finished_.all();
  for (std::size_t at = 0; at < ended.size(); at += kFinishedPerItem) {
    const std::size_t count = std::min(kFinishedPerItem, ended.size() - at);
    Encoder item = begin_item(Item::kFinished);
    item.u32(static_cast<std::uint32_t>(count));
    for (std::size_t i = at; i < at + count; ++i) {
      append_transaction(item, ended[i].id);
      item.u64(ended[i].start).u64(ended[i].commit);
    }
    pages.add(std::as_const(item).span());
  }
  const auto add_store = [&](StoreNumber number, const MemoryStore& store) {
    if (repeated_.contains(number)) {
      append_store(pages, number, store);
    } else {
      RowItems(pages, number).flush();  // Written without rows too, for its number.
    }
  };
  if (stores_ != nullptr) {
    for (const OpenMemoryStore& open : stores_->memory_stores()) {
      add_store(open.number, *open.store);
    }
  }
  for (const auto& [number, store] : replayed_) add_store(number, *store);
  pages.add(begin_item(Item::kEnd).slice());
  return std::move(pages).finish();
}

Result<void> TableState::restore(const std::vector<Slice>& pages) {
  TRY(PageReader reader, PageReader::open(pages));
  bool ended = false;
  while (!reader.at_end() && !ended) {
    TRY(const ByteSpan item, reader.next());
    Decoder decoder(item);
    TRY_VOID(restore_item(decoder, ended));
    if (!decoder.finished()) return fail(Errc::kCorrupt, "table snapshot: length of an item");
  }
  if (!ended || !reader.at_end()) return fail(Errc::kCorrupt, "the end of a table snapshot");
  return {};
}

Result<void> TableState::restore_item(Decoder& decoder, bool& ended) {
  switch (static_cast<Item>(decoder.u8())) {
    case Item::kHead: return restore_head(decoder);
    case Item::kChunk: return restore_chunk(decoder);
    case Item::kPrepared: return restore_prepared(decoder);
    case Item::kFinished: return restore_finished(decoder);
    case Item::kRows: return restore_rows(decoder);
    case Item::kEnd: ended = true; return {};
    case Item::kStaged: return restore_staged(decoder);
    case Item::kTrimmed: return restore_trimmed(decoder);
  }
  return fail(Errc::kCorrupt, "table snapshot: kind of an item");
}

Result<void> TableState::restore_chunk(Decoder& decoder) {
  const bool eden = decoder.flag();
  TRY(const ChunkRecord chunk, take_chunk(decoder));
  add_chunk(chunk, eden);
  return {};
}

Result<void> TableState::restore_staged(Decoder& decoder) {
  const std::uint64_t build = decoder.u64();
  TRY(ChunkRecord chunk, take_chunk(decoder));
  staged_[build].push_back(std::move(chunk));
  return {};
}

Result<void> TableState::restore_trimmed(Decoder& decoder) {
  RowEnd trimmed;
  trimmed.rows = decoder.u64();
  trimmed.weight = decoder.u64();
  if (trimmed.rows > kTabletRowsMax) return fail(Errc::kCorrupt, "table snapshot: trimmed rows");
  trim(trimmed);
  return {};
}

Result<void> TableState::restore_prepared(Decoder& decoder) {
  TRY(PrepareRecord record, take_prepare(decoder, *schema_));
  // Its record in the log may be gone; once it is committed, only snapshots have its rows.
  repeated_.insert(record.store);
  prepared(std::make_shared<PrepareRecord>(std::move(record)));
  return {};
}

Result<void> TableState::restore_head(Decoder& decoder) {
  next_chunk_ = decoder.u64();
  last_store_ = decoder.u64();
  last_commit_ = decoder.u64();
  locks_.forget(decoder.u64());
  finished_.set_horizon(decoder.u64());
  retained_ = decoder.u64();
  adopted_ = decoder.flag();
  TRY(pivots_, take_pivots(decoder));
  return {};
}

Result<void> TableState::restore_finished(Decoder& decoder) {
  const std::uint32_t count = decoder.count(kFinishedBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    FinishedTransaction one;
    one.id = take_transaction(decoder);
    one.start = decoder.u64();
    one.commit = decoder.u64();
    finished_.add(one);
  }
  return {};
}

Result<void> TableState::restore_rows(Decoder& decoder) {
  const StoreNumber number = decoder.u64();
  MemoryStore& store = replayed_store(number);
  const std::uint32_t rows = decoder.count(2 * sizeof(std::uint32_t));
  if (rows > 0) repeated_.insert(number);
  for (std::uint32_t i = 0; i < rows; ++i) {
    const ByteSpan key = decoder.sized();
    const std::uint32_t versions = decoder.count(kVersionBytesMin);
    if (decoder.failed()) break;
    TRY_VOID(check_key(key, *schema_));
    MemoryStore::Row& row = store.touch(key, key_hash(key));
    for (std::uint32_t v = 0; v < versions; ++v) {
      const Timestamp timestamp = decoder.u64();
      const auto kind = static_cast<ChangeKind>(decoder.u8());
      const ByteSpan image = kind == ChangeKind::kWrite ? decoder.sized() : ByteSpan();
      const bool known = kind == ChangeKind::kWrite || kind == ChangeKind::kDelete;
      if (decoder.failed() || !known || timestamp == 0) {
        return fail(Errc::kCorrupt, "table snapshot: version of a row");
      }
      if (kind == ChangeKind::kWrite) {
        TRY_VOID(check_image(image, *schema_));
      }
      store.add(row, timestamp, kind, image);
      note_row(key);
    }
  }
  return {};
}

}  // namespace moraine::table
