// Columns of a chunk of the lookup format. Rows of a single write, the common case, go from their
// block to the batch without a VersionedRow in between; others are read through one.
#include <algorithm>
#include <cstring>

#include "table/chunk/block_feed.h"
#include "table/chunk/column_cursor.h"
#include "table/chunk/column_segment.h"
#include "table/chunk/row_block.h"
#include "table/chunk/scan_bounds.h"
#include "table/model/merge.h"

namespace moraine::table {
namespace {

// Per batch, since most rows may be deleted or filtered out.
constexpr std::size_t kRowsVisitedMax = 4 * kBatchRowsMax;

// Memory for the keys of one batch.
class KeyMemory {
 public:
  void clear() {
    block_ = 0;
    used_ = 0;
  }
  std::byte* take(std::size_t size) {
    if (block_ == blocks_.size() || blocks_[block_].size - used_ < size) [[unlikely]]
      begin_block(size);
    std::byte* at = blocks_[block_].bytes.get() + used_;
    used_ += size;
    return at;
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
  };
  void begin_block(std::size_t size) {
    if (block_ < blocks_.size()) ++block_;
    while (block_ < blocks_.size() && blocks_[block_].size < size) ++block_;
    used_ = 0;
    if (block_ < blocks_.size()) return;
    const std::size_t bytes = std::max(size, kBlockBytes);
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(bytes), bytes});
  }

  std::vector<Block> blocks_;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
};

class RowColumnCursor final : public ChunkReader::ColumnCursor {
 public:
  RowColumnCursor(std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk,
                  KeyBounds bounds, const ColumnScan& scan)
      : reader_(std::move(reader)),
        chunk_(&chunk),
        bounds_(chunk, std::move(bounds)),
        timestamp_(scan.timestamp),
        statistics_(scan.statistics != nullptr ? scan.statistics : &own_statistics_),
        feed_(chunk, true),
        unit_(bounds_.first_unit()),
        cells_(chunk.plan().columns.size()) {}

  // False: a column cannot be read as a column.
  bool prepare(const ColumnScan& scan) {
    const auto add_condition = [this](ColumnIndex column, ValueSet values) {
      conditions_.push_back(std::move(values));
      return add_source(column, condition_sources_);
    };
    return std::ranges::all_of(
               scan.columns, [this](ColumnIndex column) { return add_source(column, sources_); }) &&
           std::ranges::all_of(scan.filters,
                               [&](const ColumnFilter& filter) {
                                 return add_condition(filter.column,
                                                      ValueSet::matching(filter.op, filter.value));
                               }) &&
           std::ranges::all_of(scan.conditions, [&](const ColumnCondition& condition) {
             return add_condition(condition.column, condition.values);
           });
  }

  RowCursor::Step next(ColumnBatch& batch) override {
    begin(batch);
    while (batch.rows < rows_max_ && visited_ < kRowsVisitedMax && skip_to_unit()) {
      if (block_.empty() && !enter_block()) {
        if (batch.rows == 0) return RowCursor::Step::kNeedsData;
        break;
      }
      read_block(batch);
    }
    end(batch);
    const bool over = batch.rows == 0 && unit_ == bounds_.end_unit();
    return over ? RowCursor::Step::kEnd : RowCursor::Step::kRow;
  }

  void limit_rows(std::uint64_t rows) override { limit_ = rows; }

  Task<Result<void>> load() override {
    std::vector<std::uint32_t> blocks;
    std::size_t bytes = 0;
    for (std::uint32_t unit = unit_; unit < bounds_.end_unit(); ++unit) {
      bytes += chunk_->meta().blocks[unit].size;
      if (unit > unit_ && bytes > feed_.window()) break;
      blocks.push_back(unit);
    }
    return feed_.load(std::move(blocks));
  }

  std::string position() const override { return bounds_.begin_of(*chunk_, unit_); }

  void release() override { reader_.reset(); }

 private:
  struct Source {
    enum class From : std::uint8_t { kNowhere, kKey, kCell };
    From from = From::kNowhere;
    std::size_t at = 0;  // Among the key columns, or among the chunk's values.
    ValueType type = ValueType::kNull;
  };

  bool add_source(ColumnIndex column, std::vector<Source>& sources);
  void begin(ColumnBatch& batch);
  void end(ColumnBatch& batch) const;
  bool skip_to_unit();
  bool enter_block();
  void read_block(ColumnBatch& batch);
  bool read_key(const RowBlock& block, ByteSpan middle);
  void read_single(const std::byte* at, std::uint8_t kind);
  bool read_general(const RowBlock& block, std::uint32_t row);
  const Value& value_of(const Source& source) const {
    switch (source.from) {
      case Source::From::kKey: return key_[source.at];
      case Source::From::kCell: return cells_[source.at];
      case Source::From::kNowhere: break;
    }
    return null_;
  }
  bool passes() const {
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      if (!conditions_[i].contains(value_of(condition_sources_[i]))) return false;
    }
    return true;
  }
  void put(ColumnVector& column, std::size_t row, const Value& value) const;

  std::shared_ptr<const ChunkReader> reader_;
  const OpenChunk* const chunk_;
  const ScanBounds bounds_;
  const Timestamp timestamp_;
  ScanStatistics own_statistics_;
  ScanStatistics* const statistics_;
  BlockFeed feed_;
  std::uint32_t unit_;
  Slice block_;
  std::uint32_t row_ = 0;  // The next row of the block.
  bool checks_bounds_ = false;
  bool checks_times_ = false;
  std::vector<Source> sources_;
  std::vector<ValueSet> conditions_;
  std::vector<Source> condition_sources_;
  bool keys_wanted_ = false;
  std::size_t cells_wanted_ = 0;  // How many of the chunk's values are read.
  std::uint64_t limit_ = kBatchRowsMax;
  std::size_t rows_max_ = kBatchRowsMax;
  std::size_t visited_ = 0;  // Rows visited in this call.
  const Value null_;
  KeyMemory room_;
  std::vector<Value> key_;
  std::string key_memory_;
  std::vector<Value> cells_;  // Of the current row, by column of the chunk.
  // For rows with several versions.
  RowBuilder versions_;
  TextMemory folded_;
};

bool RowColumnCursor::add_source(ColumnIndex column, std::vector<Source>& sources) {
  const TableSchema& schema = chunk_->schema();
  Source source{.type = physical_type(schema.columns[column].type)};
  if (source.type == ValueType::kAny) return false;
  if (schema.columns[column].key) {
    source.from = Source::From::kKey;
    source.at = column;
    keys_wanted_ = true;
  }
  const std::vector<ReadPlan::Column>& planned = chunk_->plan().columns;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (!planned[i].known || planned[i].target != column) continue;
    if (planned[i].type != source.type) return false;
    source.from = Source::From::kCell;
    source.at = i;
    cells_wanted_ = std::max(cells_wanted_, i + 1);
  }
  sources.push_back(source);
  return true;
}

void RowColumnCursor::begin(ColumnBatch& batch) {
  rows_max_ = static_cast<std::size_t>(std::min<std::uint64_t>(limit_, kBatchRowsMax));
  visited_ = 0;
  batch.rows = 0;
  batch.memory.clear();
  batch.columns.resize(sources_.size());
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    ColumnVector& column = batch.columns[i];
    column.clear();
    column.type = sources_[i].type;
    column.texts.resize(is_text_type(column.type) ? rows_max_ : 0);
    column.words.resize(is_text_type(column.type) ? 0 : rows_max_);
  }
  room_.clear();
  folded_.clear();
}

void RowColumnCursor::end(ColumnBatch& batch) const {
  for (ColumnVector& column : batch.columns) {
    if (!column.texts.empty()) column.texts.resize(batch.rows);
    if (!column.words.empty()) column.words.resize(batch.rows);
    if (!column.nulls.empty()) column.nulls.resize(batch.rows);
  }
}

// Skips blocks whose rows are all too new. False: none is left.
bool RowColumnCursor::skip_to_unit() {
  while (unit_ != bounds_.end_unit() && block_.empty() &&
         chunk_->meta().blocks[unit_].min_timestamp > timestamp_) {
    ++unit_;
    ++statistics_->blocks_skipped;
  }
  return unit_ != bounds_.end_unit();
}

bool RowColumnCursor::enter_block() {
  block_ = feed_.get(unit_);
  if (block_.empty()) return false;
  count_blocks(*statistics_, {&block_, 1});
  statistics_->rows_read += RowBlock(block_).rows();
  checks_bounds_ = bounds_.is_edge(unit_);
  checks_times_ = chunk_->meta().blocks[unit_].max_timestamp > timestamp_;
  row_ = unit_ == bounds_.first_unit() ? RowBlock(block_).lower_bound(bounds_.seek_key()) : 0;
  return true;
}

// Reads as many rows as the batch takes.
void RowColumnCursor::read_block(ColumnBatch& batch) {
  const RowBlock block(block_);
  const std::uint32_t rows = block.rows();
  if (batch.memory.empty() || batch.memory.back().data() != block_.data()) {
    batch.memory.push_back(block_);
  }
  visited_ += rows - row_;
  for (; row_ < rows && batch.rows < rows_max_; ++row_) {
    const RowBlock::Stored stored = block.stored(row_);
    if (keys_wanted_ || checks_bounds_) {
      if (!read_key(block, stored.middle)) continue;
      if (unit_ == bounds_.end_unit()) break;
    }
    if (stored.kind == kRowGeneral) {
      if (!read_general(block, row_)) continue;
    } else {
      if (checks_times_ && block.newest(row_) > timestamp_) continue;
      read_single(stored.body, stored.kind);
    }
    if (!conditions_.empty() && !passes()) continue;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      put(batch.columns[i], batch.rows, value_of(sources_[i]));
    }
    ++batch.rows;
  }
  if (row_ < rows && unit_ != bounds_.end_unit()) return;
  block_ = {};
  if (unit_ != bounds_.end_unit()) ++unit_;
}

// False: the row is below the bounds. A row beyond them ends the scan.
bool RowColumnCursor::read_key(const RowBlock& block, ByteSpan middle) {
  const ByteSpan prefix = block.prefix();
  const ByteSpan suffix = block.suffix();
  const std::size_t stored = prefix.size() + middle.size() + suffix.size();
  const std::size_t size = stored + chunk_->added_keys();
  std::byte* const at = room_.take(size);
  std::memcpy(at, prefix.data(), prefix.size());
  std::memcpy(at + prefix.size(), middle.data(), middle.size());
  std::memcpy(at + prefix.size() + middle.size(), suffix.data(), suffix.size());
  std::memset(at + stored, 0, size - stored);
  const ByteSpan key(at, size);
  if (checks_bounds_) {
    if (bounds_.below(key)) return false;
    if (bounds_.beyond(key)) {
      unit_ = bounds_.end_unit();
      return true;
    }
  }
  if (!keys_wanted_) return true;
  const bool decoded = decode_key(key, key_, key_memory_).has_value();
  key_.resize(chunk_->schema().key_count());
  if (!decoded || key_memory_.empty()) [[likely]]
    return true;
  for (Value& value : key_) {
    if (!value.has_text()) continue;
    std::byte* const kept = room_.take(value.text().size());
    std::memcpy(kept, value.text().data(), value.text().size());
    value = Value(as_text(ByteSpan(kept, value.text().size())));
  }
  return true;
}

void RowColumnCursor::read_single(const std::byte* at, std::uint8_t kind) {
  const std::vector<ReadPlan::Column>& planned = chunk_->plan().columns;
  if (kind == 0) [[likely]] {
    for (std::size_t i = 0; i < cells_wanted_; ++i) at = read_cell(at, planned[i].type, cells_[i]);
    return;
  }
  const SingleMarks marks(at, kind, planned.size());
  for (std::size_t i = 0; i < cells_wanted_; ++i) {
    cells_[i] = Value();
    if (marks.is_absent(i) || marks.is_null(i)) continue;
    at = read_cell(at, planned[i].type, cells_[i]);
  }
}

// False: the row does not exist at the timestamp.
bool RowColumnCursor::read_general(const RowBlock& block, std::uint32_t row) {
  const ReadSpec spec{.timestamp = timestamp_, .all_versions = false, .columns = nullptr};
  versions_.clear();
  if (!block.read(row, chunk_->plan(), spec, versions_)) return false;
  const std::vector<ReadPlan::Column>& planned = chunk_->plan().columns;
  for (std::size_t i = 0; i < cells_wanted_; ++i) {
    const std::span<const ColumnIndex> column(&planned[i].target, planned[i].known ? 1 : 0);
    if (!read_visible(versions_.row(), timestamp_, kNullTimestamp, chunk_->schema(), column,
                      &cells_[i], folded_)) {
      return false;
    }
  }
  return cells_wanted_ != 0 || read_visible(versions_.row(), timestamp_, kNullTimestamp,
                                            chunk_->schema(), {}, cells_.data(), folded_);
}

void RowColumnCursor::put(ColumnVector& column, std::size_t row, const Value& value) const {
  if (value.is_null()) [[unlikely]] {
    if (column.nulls.empty()) column.nulls.resize(rows_max_);
    column.nulls[row] = 1;
  }
  if (is_text_type(column.type)) {
    column.texts[row] = value.is_null() ? std::string_view() : value.text();
  } else {
    column.words[row] = word_of(value);
  }
}

}  // namespace

std::unique_ptr<ChunkReader::ColumnCursor> make_row_column_cursor(
    std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, const KeyBounds& bounds,
    const ColumnScan& scan) {
  if (!chunk.record().hunks.empty()) return nullptr;
  auto cursor = std::make_unique<RowColumnCursor>(std::move(reader), chunk, bounds, scan);
  if (!cursor->prepare(scan)) return nullptr;
  return cursor;
}

}  // namespace moraine::table
