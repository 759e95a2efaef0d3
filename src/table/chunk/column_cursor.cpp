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

struct Source {
  std::size_t column = kAbsentColumn;  // Of the chunk's schema.
  ValueType type = ValueType::kNull;   // Of the chunk's column; else of the table's.
  ColumnIndex target = 0;
};

struct Filter {
  ColumnFilter filter;
  std::string text;  // Owns the text of the filter's value.
  Source source;
};

class Cursor final : public ChunkReader::ColumnCursor {
 public:
  Cursor(std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, KeyBounds bounds,
         Timestamp timestamp)
      : reader_(std::move(reader)),
        chunk_(&chunk),
        bounded_(!bounds.from.empty() || !bounds.to.empty() || !chunk.record().from.empty() ||
                 !chunk.record().to.empty()),
        bounds_(chunk, std::move(bounds)),
        timestamp_(timestamp),
        feed_(chunk, true),
        unit_(bounds_.first_unit()),
        group_(chunk.meta().schema, chunk.layout(), chunk.plan()) {}

  // False: this column cannot be read as a column.
  bool add_column(ColumnIndex column) {
    sources_.push_back(source_of(column));
    return readable(sources_.back());
  }
  bool add_filter(const ColumnFilter& filter) {
    Filter& added = *filters_.emplace_back(std::make_unique<Filter>());
    added.filter = filter;
    added.source = source_of(filter.column);
    if (filter.value.has_text()) {
      added.text = filter.value.text();
      const bool any = filter.value.type() == ValueType::kAny;
      added.filter.value = any ? Value::any(added.text) : Value(std::string_view(added.text));
    }
    return readable(added.source);
  }

  RowCursor::Step next(ColumnBatch& batch) override {
    while (unit_ != bounds_.end_unit() && is_skipped(unit_)) ++unit_;
    if (unit_ == bounds_.end_unit()) return RowCursor::Step::kEnd;
    if (!enter_group()) return RowCursor::Step::kNeedsData;
    batch.columns.resize(sources_.size());
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

  bool is_skipped(std::uint32_t unit) const {
    if (meta().blocks[unit * meta().blocks_per_unit].min_timestamp > timestamp_) return true;
    if (meta().irregular_rows[unit] != 0) return false;
    return std::ranges::any_of(filters_, [&](const auto& f) {
      if (f->source.column == kAbsentColumn) return !may_pass_null(f->filter);
      const std::size_t at = unit * meta().schema.columns.size() + f->source.column;
      return !may_pass(f->filter, f->source.type, meta().ranges[at]);
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
    for (const auto& f : filters_) add(f->source);
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

  void decode(const Source& source, ColumnVector& out) const {
    if (source.column != kAbsentColumn) return group_.segment(source.column).decode(out);
    out.clear();
    out.type = source.type;
    if (is_text_type(source.type)) {
      out.texts.resize(rows_);
    } else {
      out.words.resize(rows_);
    }
    out.nulls.assign(rows_, 1);
  }

  // Rows of the group that are within the bounds and visible; false: all of them.
  bool choose_rows() {
    const bool all = !checks_bounds(unit_) && !checks_times(unit_) && filters_.empty();
    if (all) return false;
    chosen_.resize(rows_);
    std::iota(chosen_.begin(), chosen_.end(), 0);
    if (checks_times(unit_)) {
      group_.times().decode(times_);
      std::erase_if(chosen_, [this](std::uint32_t row) { return times_[row] > timestamp_; });
    }
    if (checks_bounds(unit_)) {
      std::erase_if(chosen_, [this](std::uint32_t row) { return !is_within(row); });
    }
    for (const auto& f : filters_) {
      decode(f->source, filtered_);
      select(f->filter, filtered_, chosen_);
    }
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
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (batch.rows == 0) {
        batch.columns[i].clear();
        batch.columns[i].type = sources_[i].type;
        continue;
      }
      decode(sources_[i], batch.columns[i]);
      if (some) gather(batch.columns[i], chosen_);
    }
  }

  void read_by_row(ColumnBatch& batch);
  Value cell(const Source& source, std::uint32_t row);
  bool read_row_values(std::uint32_t row);

  std::shared_ptr<const ChunkReader> reader_;
  const OpenChunk* const chunk_;
  const bool bounded_;
  const ScanBounds bounds_;
  const Timestamp timestamp_;
  BlockFeed feed_;
  std::uint32_t unit_;
  RowGroup group_;
  std::vector<Source> sources_;
  std::vector<std::unique_ptr<Filter>> filters_;
  std::vector<std::uint32_t> places_;
  std::vector<Slice> blocks_;  // Of the group, in the order of places_.
  std::uint32_t rows_ = 0;
  std::vector<std::uint32_t> chosen_;
  std::vector<Timestamp> times_;
  ColumnVector filtered_;
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
  for (const auto& f : filters_) want(f->source);
  values_.resize(value_columns_.size());
  folded_.clear();
  batch.rows = 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    batch.columns[i].clear();
    batch.columns[i].type = sources_[i].type;
  }
  for (std::uint32_t row = 0; row < rows_; ++row) {
    if (checks_bounds(unit_) && !is_within(row)) continue;
    if (!read_row_values(row)) continue;
    const bool passes = std::ranges::all_of(
        filters_, [&](const auto& f) { return fits(f->filter, cell(f->source, row)); });
    if (!passes) continue;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      append_value(batch.columns[i], batch.rows, cell(sources_[i], row));
    }
    ++batch.rows;
  }
}

}  // namespace

std::unique_ptr<ChunkReader::ColumnCursor> make_column_cursor(
    std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk, const KeyBounds& bounds,
    Timestamp timestamp, std::span<const ColumnIndex> columns,
    std::span<const ColumnFilter> filters) {
  auto cursor = std::make_unique<Cursor>(std::move(reader), chunk, bounds, timestamp);
  for (const ColumnIndex column : columns) {
    if (!cursor->add_column(column)) return nullptr;
  }
  for (const ColumnFilter& filter : filters) {
    if (!cursor->add_filter(filter)) return nullptr;
  }
  return cursor;
}

}  // namespace moraine::table
