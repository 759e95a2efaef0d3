#include "table/chunk/column_cursor.h"

#include <algorithm>
#include <numeric>

#include "table/chunk/block_feed.h"
#include "table/chunk/column_filter.h"
#include "table/chunk/row_group.h"
#include "table/chunk/scan_bounds.h"
#include "table/model/merge.h"

namespace moraine::table {
namespace {

constexpr std::size_t kAbsentColumn = ~std::size_t{0};
// If a smaller share of a group passes, other columns are read row by row.
constexpr std::size_t kSparseShare = 10;

struct Source {
  std::size_t column = kAbsentColumn;  // Of the chunk's schema.
  ValueType type = ValueType::kNull;   // Of the chunk's column; else of the table's.
  ColumnIndex target = 0;
};

struct Condition {
  std::size_t source = 0;  // Position among the sources.
  ValueSet values;
  ColumnTest test;
};

class Cursor final : public ChunkReader::ColumnCursor {
 public:
  Cursor(std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, KeyBounds bounds,
         const ColumnScan& scan)
      : reader_(std::move(reader)),
        chunk_(&chunk),
        statistics_(scan.statistics != nullptr ? scan.statistics : &own_statistics_),
        text_tables_(scan.text_tables),
        bounded_(!bounds.from.empty() || !bounds.to.empty() || !chunk.record().from.empty() ||
                 !chunk.record().to.empty()),
        bounds_(chunk, std::move(bounds)),
        timestamp_(scan.timestamp),
        feed_(chunk, true),
        unit_(bounds_.first_unit()),
        group_(chunk.meta().schema, chunk.layout(), chunk.plan()) {}

  // False: a column cannot be read as a column.
  bool prepare(const ColumnScan& scan) {
    for (const ColumnIndex column : scan.columns) sources_.push_back(source_of(column));
    outputs_ = sources_.size();
    for (const ColumnFilter& filter : scan.filters) {
      add_condition(filter.column, ValueSet::matching(filter.op, filter.value));
    }
    for (const ColumnCondition& condition : scan.conditions) {
      add_condition(condition.column, condition.values);
    }
    columns_.resize(sources_.size());
    return std::ranges::all_of(sources_, [this](const Source& source) { return readable(source); });
  }

  RowCursor::Step next(ColumnBatch& batch) override {
    for (; unit_ != bounds_.end_unit() && is_skipped(unit_); ++unit_) {
      statistics_->blocks_skipped += needed(unit_).size();
    }
    if (unit_ == bounds_.end_unit()) return RowCursor::Step::kEnd;
    if (!enter_group()) return RowCursor::Step::kNeedsData;
    count_blocks(*statistics_, blocks_);
    statistics_->rows_read += rows_;
    batch.columns.resize(outputs_);
    batch.memory.clear();
    if (meta().irregular_rows[unit_] == 0) {
      read_regular(batch);
    } else {
      read_by_row(batch);
    }
    for (Slice& block : blocks_) batch.memory.push_back(std::move(block));
    ++unit_;
    return RowCursor::Step::kRow;
  }

  Task<Result<void>> load() override {
    std::vector<std::uint32_t> blocks;
    std::size_t bytes = 0;
    for (std::uint32_t unit = unit_; unit < bounds_.end_unit(); ++unit) {
      if (unit > unit_ && bytes > feed_.window()) break;
      if (is_skipped(unit)) continue;
      for (const std::uint32_t place : needed(unit)) {
        blocks.push_back(unit * meta().blocks_per_unit + place);
        bytes += meta().blocks[blocks.back()].size;
      }
    }
    return feed_.load(std::move(blocks));
  }

  std::string position() const override { return bounds_.begin_of(*chunk_, unit_); }

  void release() override { reader_.reset(); }

 private:
  const ChunkMeta& meta() const { return chunk_->meta(); }
  bool is_key(std::size_t column) const { return meta().schema.columns[column].key; }

  Source source_of(ColumnIndex column) const {
    const ColumnSchema& wanted = chunk_->schema().columns[column];
    Source source{.type = physical_type(wanted.type), .target = column};
    const auto found = meta().schema.find(wanted.name);
    if (!found || meta().schema.columns[*found].key != wanted.key) return source;
    source.column = *found;
    source.type = physical_type(meta().schema.columns[*found].type);
    return source;
  }
  bool readable(const Source& source) const {
    if (source.column == kAbsentColumn) return true;
    // A column that later became `any` is read row by row.
    const ColumnType wanted = chunk_->schema().columns[source.target].type;
    return physical_type(wanted) == source.type && meta().column_flags[source.column] == 0;
  }

  void add_condition(ColumnIndex column, ValueSet values) {
    const auto at = std::ranges::find(sources_, column, &Source::target);
    const auto source = static_cast<std::size_t>(at - sources_.begin());
    if (at == sources_.end()) sources_.push_back(source_of(column));
    ColumnTest test(values, sources_[source].type);
    conditions_.push_back({source, std::move(values), std::move(test)});
  }

  bool is_skipped(std::uint32_t unit) const {
    if (meta().blocks[unit * meta().blocks_per_unit].min_timestamp > timestamp_) return true;
    if (meta().irregular_rows[unit] != 0) return false;
    return std::ranges::any_of(conditions_, [&](const Condition& condition) {
      const Source& source = sources_[condition.source];
      if (source.column == kAbsentColumn) return !condition.test.passes_null();
      const std::size_t at = unit * meta().schema.columns.size() + source.column;
      return !condition.test.may_pass(meta().ranges[at]);
    });
  }
  bool checks_times(std::uint32_t unit) const {
    return meta().blocks[unit * meta().blocks_per_unit].max_timestamp > timestamp_;
  }
  bool checks_bounds(std::uint32_t unit) const { return bounded_ && bounds_.is_edge(unit); }

  // Positions of blocks, ascending.
  std::vector<std::uint32_t> needed(std::uint32_t unit) const {
    const GroupLayout& layout = chunk_->layout();
    std::vector<std::uint32_t> places;
    const auto add = [&](const Source& source) {
      if (source.column != kAbsentColumn) places.push_back(layout.column(source.column));
    };
    for (const Source& source : sources_) add(source);
    const bool by_row = meta().irregular_rows[unit] != 0;
    if (by_row || checks_bounds(unit)) {
      for (std::uint32_t place = 0; place < layout.times(); ++place) places.push_back(place);
    }
    if (by_row || checks_times(unit)) places.push_back(layout.times());
    if (by_row) places.push_back(layout.irregular());
    std::ranges::sort(places);
    const auto repeated = std::ranges::unique(places);
    places.erase(repeated.begin(), repeated.end());
    return places;
  }

  bool enter_group() {
    const std::uint32_t first = unit_ * meta().blocks_per_unit;
    places_ = needed(unit_);
    blocks_.clear();
    for (const std::uint32_t place : places_) {
      blocks_.push_back(feed_.get(first + place));
      if (blocks_.back().empty()) return false;
    }
    rows_ = meta().blocks[first].rows;
    group_.begin(rows_);
    for (std::size_t i = 0; i < places_.size(); ++i) group_.set(places_[i], blocks_[i]);
    return true;
  }

  void decode(const Source& source, ColumnVector& out, bool text_tables) const {
    if (source.column != kAbsentColumn) {
      return group_.segment(source.column).decode(out, text_tables);
    }
    fill_nulls(source, rows_, out);
  }
  static void fill_nulls(const Source& source, std::size_t rows, ColumnVector& out) {
    out.clear();
    out.type = source.type;
    if (is_text_type(source.type)) {
      out.texts.resize(rows);
    } else {
      out.words.resize(rows);
    }
    out.nulls.assign(rows, 1);
  }

  // Rows of the group that are within the bounds and visible, and pass; false: all of them. Columns
  // of conditions are decoded.
  bool choose_rows() {
    decoded_.assign(sources_.size(), false);
    const bool all = !checks_bounds(unit_) && !checks_times(unit_) && conditions_.empty();
    if (all) return false;
    mask_.assign(rows_, 1);
    if (checks_times(unit_)) {
      group_.times().decode(times_);
      for (std::uint32_t row = 0; row < rows_; ++row) mask_[row] = times_[row] <= timestamp_;
    }
    if (checks_bounds(unit_)) {
      for (std::uint32_t row = 0; row < rows_; ++row) {
        if (mask_[row] != 0 && !is_within(row)) mask_[row] = 0;
      }
    }
    for (const Condition& condition : conditions_) {
      const std::size_t at = condition.source;
      if (!decoded_[at]) decode(sources_[at], columns_[at], true);
      decoded_[at] = true;
      condition.test.test(columns_[at], mask_);
    }
    list_rows(mask_, chosen_);
    return chosen_.size() != rows_;
  }

  bool is_within(std::uint32_t row) {
    group_.key(row, key_);
    key_.append(chunk_->added_keys(), '\0');
    return !bounds_.below(as_bytes(key_)) && !bounds_.beyond(as_bytes(key_));
  }

  void read_regular(ColumnBatch& batch) {
    const bool some = choose_rows();
    batch.rows = some ? chosen_.size() : rows_;
    for (std::size_t i = 0; i < outputs_; ++i) {
      ColumnVector& out = batch.columns[i];
      if (batch.rows == 0) {
        out.clear();
        out.type = sources_[i].type;
      } else if (decoded_[i]) {
        std::swap(out, columns_[i]);
        if (some) gather(out, chosen_);
        if (!text_tables_) look_up_texts(out);
      } else if (batch.rows * kSparseShare < rows_) {
        decode_chosen(sources_[i], out);
      } else {
        decode(sources_[i], out, text_tables_);
        if (some) gather(out, chosen_);
      }
    }
  }
  void decode_chosen(const Source& source, ColumnVector& out) const {
    if (source.column == kAbsentColumn) return fill_nulls(source, chosen_.size(), out);
    group_.segment(source.column).decode_rows(chosen_, out, text_tables_);
  }

  void read_by_row(ColumnBatch& batch);
  Value cell(const Source& source, std::uint32_t row);
  bool read_row_values(std::uint32_t row);

  std::shared_ptr<const ChunkReader> reader_;
  const OpenChunk* const chunk_;
  ScanStatistics own_statistics_;
  ScanStatistics* const statistics_;
  const bool text_tables_;
  const bool bounded_;
  const ScanBounds bounds_;
  const Timestamp timestamp_;
  BlockFeed feed_;
  std::uint32_t unit_;
  RowGroup group_;
  std::vector<Source> sources_;  // Of the result, then those of conditions only.
  std::size_t outputs_ = 0;      // How many are of the result.
  std::vector<Condition> conditions_;
  std::vector<ColumnVector> columns_;  // Decoded for conditions, by source.
  std::vector<bool> decoded_;
  std::vector<std::uint32_t> places_;
  std::vector<Slice> blocks_;  // Of the group, in the order of places_.
  std::uint32_t rows_ = 0;
  std::vector<std::uint8_t> mask_;
  std::vector<std::uint32_t> chosen_;
  std::vector<Timestamp> times_;
  std::string key_;
  // For groups that are read by row.
  ColumnSet wanted_ = ColumnSet::none(0);
  std::vector<ColumnIndex> value_columns_;
  std::vector<Value> values_;
  TextMemory folded_;
  RowBuilder row_;
};

// The value columns to read of a row: those of sources and filters, in that order.
bool Cursor::read_row_values(std::uint32_t row) {
  const ReadSpec spec{.timestamp = timestamp_, .all_versions = false, .columns = &wanted_};
  row_.clear();
  if (!group_.read(row, spec, row_)) return false;
  return read_visible(row_.row(), timestamp_, kNullTimestamp, chunk_->schema(), value_columns_,
                      values_.data(), folded_);
}

Value Cursor::cell(const Source& source, std::uint32_t row) {
  if (source.column == kAbsentColumn) return {};
  if (is_key(source.column)) return group_.segment(source.column).get(row);
  const auto at = std::ranges::find(value_columns_, source.target);
  return values_[static_cast<std::size_t>(at - value_columns_.begin())];
}

void append_value(ColumnVector& column, std::size_t row, const Value& value) {
  if (is_text_type(column.type)) {
    column.texts.push_back(value.is_null() ? std::string_view() : value.text());
  } else {
    column.words.push_back(word_of(value));
  }
  if (value.is_null()) column.nulls.resize(row, 0);
  if (value.is_null() || !column.nulls.empty()) column.nulls.push_back(value.is_null() ? 1 : 0);
}

void Cursor::read_by_row(ColumnBatch& batch) {
  wanted_ = ColumnSet::none(chunk_->schema().columns.size());
  value_columns_.clear();
  const auto want = [this](const Source& source) {
    if (source.column == kAbsentColumn || is_key(source.column)) return;
    wanted_.add(source.target);
    value_columns_.push_back(source.target);
  };
  for (const Source& source : sources_) want(source);
  values_.resize(value_columns_.size());
  folded_.clear();
  batch.rows = 0;
  statistics_->rows_merged += rows_;
  for (std::size_t i = 0; i < outputs_; ++i) {
    batch.columns[i].clear();
    batch.columns[i].type = sources_[i].type;
  }
  for (std::uint32_t row = 0; row < rows_; ++row) {
    if (checks_bounds(unit_) && !is_within(row)) continue;
    if (!read_row_values(row)) continue;
    const bool passes = std::ranges::all_of(conditions_, [&](const Condition& condition) {
      return condition.values.contains(cell(sources_[condition.source], row));
    });
    if (!passes) continue;
    for (std::size_t i = 0; i < outputs_; ++i) {
      append_value(batch.columns[i], batch.rows, cell(sources_[i], row));
    }
    ++batch.rows;
  }
}

}  // namespace

std::unique_ptr<ChunkReader::ColumnCursor> make_column_cursor(
    std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, const KeyBounds& bounds,
    const ColumnScan& scan) {
  auto cursor = std::make_unique<Cursor>(std::move(reader), chunk, bounds, scan);
  if (!cursor->prepare(scan)) return nullptr;
  return cursor;
}

}  // namespace moraine::table
