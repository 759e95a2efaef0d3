#include "table/chunk/group_cursor.h"

#include <algorithm>

#include "base/invariant.h"

namespace moraine::table {

namespace {

void fill_nulls(ValueType type, std::size_t rows, ColumnVector& out) {
  out.clear();
  out.type = type;
  if (is_text_type(type)) {
    out.texts.resize(rows);
  } else {
    out.words.resize(rows);
  }
  out.nulls.assign(rows, 1);
}

}  // namespace

GroupCursor::GroupCursor(std::shared_ptr<const ChunkReader> reader, const OpenChunk& chunk,
                         KeyBounds bounds, const ColumnScan& scan)
    : reader_(std::move(reader)),
      chunk_(&chunk),
      statistics_(scan.statistics != nullptr ? scan.statistics : &own_statistics_),
      text_tables_(scan.text_tables),
      bounded_(!bounds.from.empty() || !bounds.to.empty() || !chunk.record().from.empty() ||
               !chunk.record().to.empty()),
      bounds_(chunk, std::move(bounds)),
      timestamp_(scan.timestamp),
      order_(chunk.schema()),
      feed_(chunk, true),
      unit_(bounds_.first_unit()),
      group_(chunk.meta().schema, chunk.layout(), chunk.plan()) {}

std::unique_ptr<GroupCursor> GroupCursor::open(std::shared_ptr<const ChunkReader> reader,
                                               const OpenChunk& chunk, const KeyBounds& bounds,
                                               const ColumnScan& scan) {
  if (chunk.meta().format != OptimizeFor::kScan) return nullptr;
  std::unique_ptr<GroupCursor> cursor(new GroupCursor(std::move(reader), chunk, bounds, scan));
  if (!cursor->prepare(scan)) return nullptr;
  return cursor;
}

bool GroupCursor::prepare(const ColumnScan& scan) {
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

void GroupCursor::add_condition(ColumnIndex column, const ValueSet& values) {
  const auto at = std::ranges::find(sources_, column, &Source::target);
  const auto source = static_cast<std::size_t>(at - sources_.begin());
  if (at == sources_.end()) sources_.push_back(source_of(column));
  conditions_.push_back({source, ColumnTest(values, sources_[source].type)});
}

GroupCursor::Source GroupCursor::source_of(ColumnIndex column) const {
  const ColumnSchema& wanted = chunk_->schema().columns[column];
  Source source{.type = physical_type(wanted.type), .target = column};
  const auto found = meta().schema.find(wanted.name);
  if (found && meta().schema.columns[*found].key == wanted.key) source.column = *found;
  return source;
}

// A column that later became `any` is read row by row.
bool GroupCursor::readable(const Source& source) const {
  return source.column == kAbsentColumn ||
         physical_type(meta().schema.columns[source.column].type) == source.type;
}

ByteSpan GroupCursor::group_from() const {
  const ByteSpan first =
      unit_ == 0 ? as_bytes(chunk_->record().statistics.first_key) : meta().index.at(unit_ - 1);
  const ByteSpan seek = bounds_.seek_key();
  return compare_keys(first, seek) < 0 ? seek : first;
}

std::string GroupCursor::group_to() const {
  if (unit_ + 1 < meta().units()) return std::string(as_text(meta().index.at(unit_)));
  return chunk_->record().statistics.last_key + std::string(chunk_->added_keys() + 1, '\0');
}

std::uint64_t GroupCursor::word_from() const {
  return order_.of_bound(group_from());
}

bool GroupCursor::checks_times() const {
  return meta().blocks[unit_ * meta().blocks_per_unit].max_timestamp > timestamp_;
}

bool GroupCursor::skippable(std::uint32_t unit) const {
  if (meta().blocks[unit * meta().blocks_per_unit].min_timestamp > timestamp_) return true;
  if (meta().irregular_rows[unit] != 0) return false;
  return std::ranges::any_of(conditions_, [&](const Condition& condition) {
    const Source& source = sources_[condition.source];
    if (source.column == kAbsentColumn) return !condition.test.passes_null();
    const std::size_t at = unit * meta().schema.columns.size() + source.column;
    return !condition.test.may_pass(meta().ranges[at]);
  });
}

void GroupCursor::skip() {
  statistics_->blocks_skipped += needed(unit_, false).size();
  ++unit_;
}

// Positions of blocks, ascending.
std::vector<std::uint32_t> GroupCursor::needed(std::uint32_t unit, bool with_keys) const {
  const GroupLayout& layout = chunk_->layout();
  const bool by_row = with_keys || meta().irregular_rows[unit] != 0;
  const bool edge = bounded_ && bounds_.is_edge(unit);
  std::vector<std::uint32_t> places;
  for (const Source& source : sources_) {
    if (source.column != kAbsentColumn) places.push_back(layout.column(source.column));
  }
  if (by_row || edge) {
    for (std::uint32_t place = 0; place < layout.times(); ++place) places.push_back(place);
  }
  const bool newer = meta().blocks[unit * meta().blocks_per_unit].max_timestamp > timestamp_;
  if (by_row || newer) places.push_back(layout.times());
  if (by_row) places.push_back(layout.irregular());
  std::ranges::sort(places);
  const auto repeated = std::ranges::unique(places);
  places.erase(repeated.begin(), repeated.end());
  return places;
}

Task<Result<void>> GroupCursor::load() {
  std::vector<std::uint32_t> blocks;
  std::size_t bytes = 0;
  for (std::uint32_t unit = unit_; unit < bounds_.end_unit(); ++unit) {
    if (unit > unit_ && bytes > feed_.window()) break;
    if (!with_keys_ && skippable(unit)) continue;
    for (const std::uint32_t place : needed(unit, with_keys_)) {
      blocks.push_back(unit * meta().blocks_per_unit + place);
      bytes += meta().blocks[blocks.back()].size;
    }
  }
  return feed_.load(std::move(blocks));
}

bool GroupCursor::enter(bool with_keys) {
  INVARIANT(!inside_ && !ended(), "enters a group from unit {}", unit_);
  with_keys_ = with_keys;
  const std::uint32_t first = unit_ * meta().blocks_per_unit;
  places_ = needed(unit_, with_keys);
  blocks_.clear();
  for (const std::uint32_t place : places_) {
    blocks_.push_back(feed_.get(first + place));
    if (blocks_.back().empty()) return false;
  }
  count_blocks(*statistics_, blocks_);
  group_.begin(meta().blocks[first].rows);
  for (std::size_t i = 0; i < places_.size(); ++i) group_.set(places_[i], blocks_[i]);
  find_rows();
  irregular_.clear();
  if (has_irregular()) {
    const IrregularView& view = group_.irregular();
    for (std::size_t i = 0; i < view.size(); ++i) {
      irregular_.push_back(static_cast<std::uint32_t>(view.row(i)));
    }
  }
  statistics_->rows_read += end_row_ - row_;
  decoded_.assign(sources_.size(), false);
  mask_made_ = false;
  has_absents_ = std::ranges::any_of(sources_, [this](const Source& source) {
    if (chunk_->schema().columns[source.target].key) return false;
    return source.column == kAbsentColumn || group_.segment(source.column).has_absents();
  });
  inside_ = row_ < end_row_;
  if (!inside_) {
    ++unit_;
  } else if (with_keys) {
    decode_keys();
  }
  return true;
}

// The group's rows within the bounds.
void GroupCursor::find_rows() {
  row_ = 0;
  end_row_ = group_.rows();
  if (!checks_bounds()) return;
  const auto first = [this](std::uint32_t from, auto is_before) {
    std::uint32_t to = group_.rows();
    while (from < to) {
      const std::uint32_t middle = from + (to - from) / 2;
      key(middle, key_);
      if (is_before(as_bytes(key_))) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  };
  row_ = first(0, [this](ByteSpan bytes) { return bounds_.below(bytes); });
  end_row_ = first(row_, [this](ByteSpan bytes) { return !bounds_.beyond(bytes); });
}

void GroupCursor::decode_keys() {
  ColumnVector& first = first_key_;
  group_.segment(0).decode(first);
  words_.resize(group_.rows());
  if (is_text_type(first.type)) {
    const bool any = first.type == ValueType::kAny;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] = any ? 0 : KeyOrder::of_text(first.texts[i]);
    }
  } else if (first.type == ValueType::kDouble) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = order_.of_word(first.words[i]);
  } else {
    // The order of the others is that of words with an offset.
    const std::uint64_t offset = order_.of_word(0);
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] = first.words[i] + offset;
  }
  for (std::size_t i = 0; i < first.nulls.size(); ++i) {
    if (first.nulls[i] != 0) words_[i] = 0;
  }
}

void GroupCursor::leave() {
  INVARIANT(inside_, "leaves no group at unit {}", unit_);
  inside_ = false;
  ++unit_;
}

void GroupCursor::finish() {
  INVARIANT(ended(), "finishes at unit {}", unit_);
  blocks_.clear();
  columns_.clear();
  words_ = {};
  mask_ = {};
  times_ = {};
  feed_.clear();
}

void GroupCursor::key_cells(std::uint32_t row, std::vector<Value>& cells) const {
  cells.clear();
  const std::size_t keys = meta().schema.key_count();
  for (std::size_t i = 0; i < keys; ++i) cells.push_back(group_.segment(i).get(row));
  cells.resize(chunk_->schema().key_count());
}

void GroupCursor::key(std::uint32_t row, std::string& out) const {
  group_.key(row, out);
  out.append(chunk_->added_keys(), '\0');
}

std::strong_ordering GroupCursor::compare(std::uint32_t row, std::span<const Value> key) const {
  const std::size_t keys = meta().schema.key_count();
  const std::size_t from = order_.decides_first(words_[row]) ? 1 : 0;
  for (std::size_t i = from; i < key.size(); ++i) {
    const Value own = i < keys ? group_.segment(i).get(row) : Value();
    const std::strong_ordering order = moraine::compare(own, key[i]);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

std::uint32_t GroupCursor::find_irregular(std::uint32_t row) const {
  const auto found = std::ranges::lower_bound(irregular_, row);
  return found == irregular_.end() ? end_row_ : std::min(*found, end_row_);
}

void GroupCursor::decode(std::size_t at, bool text_tables) {
  if (decoded_[at]) return;
  decoded_[at] = true;
  const Source& source = sources_[at];
  ColumnVector& out = columns_[at];
  if (source.column != kAbsentColumn) {
    return group_.segment(source.column).decode(out, text_tables);
  }
  fill_nulls(source.type, group_.rows(), out);
}

void GroupCursor::read_rows(std::size_t i, std::span<const std::uint32_t> rows,
                            ColumnVector& out) const {
  const Source& source = sources_[i];
  if (source.column == kAbsentColumn) return fill_nulls(source.type, rows.size(), out);
  group_.segment(source.column).decode_rows(rows, out, false);
}

void GroupCursor::make_mask() {
  mask_made_ = true;
  masked_ = checks_times() || !conditions_.empty();
  if (!masked_) return;
  mask_.assign(group_.rows(), 1);
  if (checks_times()) {
    group_.times().decode(times_);
    for (std::size_t i = 0; i < mask_.size(); ++i) mask_[i] = times_[i] <= timestamp_ ? 1 : 0;
  }
  for (const Condition& condition : conditions_) {
    decode(condition.source, true);
    condition.test.test(columns_[condition.source], mask_);
  }
}

const ColumnVector& GroupCursor::column(std::size_t i) {
  decode(i, true);
  return columns_[i];
}

void GroupCursor::take(std::size_t i, ColumnVector& out) {
  decode(i, text_tables_);
  std::swap(out, columns_[i]);
  if (!text_tables_) look_up_texts(out);
}

bool GroupCursor::read(std::uint32_t row, const ReadSpec& spec, RowBuilder& out) {
  out.clear();
  if (!group_.read(row, spec, out)) return false;
  key(row, key_);
  out.key = as_bytes(key_);
  return true;
}

}  // namespace moraine::table
