#include "table/chunk/group_cursor.h"

#include <algorithm>

#include "base/invariant.h"

namespace moraine::table {

namespace {

// Whose words are compared at once, without branches.
constexpr std::uint32_t kWordsCounted = 16;

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
  for (std::uint32_t i = 0; i < sources_.size(); ++i) {
    if (is_key(sources_[i])) continue;
    value_sources_.push_back(i);
    has_any_ = has_any_ || sources_[i].type == ValueType::kAny;
  }
  std::ranges::sort(value_sources_, {}, [this](std::uint32_t i) { return sources_[i].target; });
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

void GroupCursor::add_key_ranges(std::vector<KeyColumnRange>& ranges) const {
  const std::size_t keys = std::min(ranges.size(), meta().schema.key_count());
  for (std::uint32_t unit = unit_; unit < bounds_.end_unit(); ++unit) {
    for (std::size_t i = 0; i < keys; ++i) {
      const ColumnRange& range = meta().ranges[unit * meta().schema.columns.size() + i];
      if (!range.values) continue;
      ranges[i].values = true;
      ranges[i].least = std::min(ranges[i].least, range.least);
      ranges[i].greatest = std::max(ranges[i].greatest, range.greatest);
    }
  }
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
  newest_of_group_ = meta().blocks[first].max_timestamp;
  patch_.begin(group_.rows());
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
    if (is_key(source)) return false;
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

void GroupCursor::decode_fields() {
  words_.assign(group_.rows(), 0);
  const std::size_t keys = meta().schema.key_count();
  const std::span<const KeyOrder::Field> fields = order_.fields();
  for (std::size_t i = 0; i < std::min(keys, fields.size()); ++i) {
    const KeyOrder::Field& field = fields[i];
    group_.segment(i).decode(first_key_);
    // Nothing is below the range. The order of words is that of words with an offset.
    const std::uint64_t offset = ordered_word(field.type, 0) - field.least;
    const std::uint64_t* const in = first_key_.words.data();
    const std::uint8_t* const nulls = first_key_.nulls.empty() ? nullptr : first_key_.nulls.data();
    for (std::size_t row = 0; row < words_.size(); ++row) {
      const std::uint64_t of_value = std::min(in[row] + offset, field.span) + KeyOrder::kFirst;
      const bool null = nulls != nullptr && nulls[row] != 0;
      words_[row] |= (null ? 0 : of_value) << field.shift;
    }
  }
}

void GroupCursor::decode_keys() {
  if (!order_.fields().empty()) return decode_fields();
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
  for (std::size_t i = order_.decided(words_[row]); i < key.size(); ++i) {
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
    group_.segment(source.column).decode(out, text_tables);
  } else {
    fill_nulls(source.type, group_.rows(), out);
  }
  if (!patch_.empty() && !is_key(source)) patch_.apply(at, out);
}

void GroupCursor::read_rows(std::size_t i, std::span<const std::uint32_t> rows,
                            ColumnVector& out) const {
  const Source& source = sources_[i];
  if (source.column == kAbsentColumn) {
    fill_nulls(source.type, rows.size(), out);
  } else {
    group_.segment(source.column).decode_rows(rows, out, false);
  }
  if (!patch_.empty() && !is_key(source)) patch_.apply_to_rows(i, rows, out);
}

void GroupCursor::make_mask() {
  mask_made_ = true;
  masked_ = checks_times() || !conditions_.empty();
  if (!masked_) return;
  mask_.assign(group_.rows(), 1);
  if (checks_times()) {
    group_.times().decode(times_);
    for (std::size_t i = 0; i < mask_.size(); ++i) mask_[i] = times_[i] <= timestamp_ ? 1 : 0;
    for (std::uint32_t i = 0; i < patch_.size(); ++i) mask_[patch_.place(i)] = 1;
  }
  key_mask_.clear();
  for (const Condition& condition : conditions_) {
    decode(condition.source, true);
    condition.test.test(columns_[condition.source], mask_);
    if (!is_key(sources_[condition.source])) continue;
    if (key_mask_.empty()) key_mask_.assign(group_.rows(), 1);
    condition.test.test(columns_[condition.source], key_mask_);
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

std::uint32_t GroupCursor::find_word(std::uint32_t row, std::uint64_t word) const {
  const std::uint64_t* const words = words_.data();
  std::uint32_t step = kWordsCounted;
  while (row + step <= end_row_ && words[row + step - 1] < word) {
    row += step;
    step *= 2;
  }
  const auto end = words + std::min(row + step, end_row_);
  if (step > kWordsCounted) {
    return static_cast<std::uint32_t>(std::lower_bound(words + row, end, word) - words);
  }
  // Counting all costs less than searching by branches.
  std::uint32_t below = 0;
  for (const std::uint64_t* at = words + row; at < end; ++at) below += *at < word ? 1 : 0;
  return row + below;
}

bool GroupCursor::replace(std::uint32_t row, const VersionedRow& by) {
  if (!by.folded.empty() || by.write_timestamps.empty() || has_any_) return false;
  const Timestamp time = by.write_timestamps.front();
  if (!by.delete_timestamps.empty() && by.delete_timestamps.front() >= time) return false;
  auto value = by.values.begin();
  for (const std::uint32_t i : value_sources_) {
    const Source& source = sources_[i];
    while (value != by.values.end() && value->column < source.target) ++value;
    if (value == by.values.end() || value->column != source.target || value->timestamp != time ||
        value->aggregate || value->hunk) {
      return false;
    }
  }
  const std::uint32_t entry = patch_.put(row, time);
  value = by.values.begin();
  for (const std::uint32_t i : value_sources_) {
    const Source& source = sources_[i];
    while (value->column < source.target) ++value;
    patch_.set(i, entry, source.type, value->value);
  }
  replaced_.assign(1, entry);
  show_replaced(replaced_);
  return true;
}

void GroupCursor::replace(std::span<const std::uint32_t> rows, GroupCursor& from,
                          std::span<const std::uint32_t> by) {
  replaced_.clear();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    replaced_.push_back(patch_.put(rows[k], from.newest(by[k])));
  }
  bool texts = false;
  for (const std::uint32_t i : value_sources_) {
    patch_.set(i, replaced_, by, from.column(i));
    texts = texts || is_text_type(sources_[i].type);
  }
  if (texts) {
    patch_.keep(from.blocks_);
    patch_.keep(from.patch_.blocks());
  }
  show_replaced(replaced_);
}

// Columns that are decoded and the mask follow.
void GroupCursor::show_replaced(std::span<const std::uint32_t> entries) {
  if (!irregular_.empty()) {
    std::erase_if(irregular_,
                  [this](std::uint32_t row) { return patch_.find(row) != GroupPatch::kNone; });
  }
  for (const std::uint32_t i : value_sources_) {
    if (decoded_[i]) patch_.apply(i, entries, columns_[i]);
  }
  if (!mask_made_ || !masked_) return;
  std::vector<std::uint8_t> passes(patch_.size(), 1);
  for (const Condition& condition : conditions_) {
    if (is_key(sources_[condition.source])) continue;
    condition.test.test(patch_.values(condition.source), passes);
  }
  for (const std::uint32_t entry : entries) {
    const std::uint32_t place = patch_.place(entry);
    const std::uint8_t of_key = key_mask_.empty() ? 1 : key_mask_[place];
    mask_[place] = static_cast<std::uint8_t>(passes[entry] & of_key);
  }
}

bool GroupCursor::read_replaced(std::uint32_t entry, const ReadSpec& spec, RowBuilder& out) {
  out.write_timestamps.push_back(patch_.time(entry));
  for (const std::uint32_t i : value_sources_) {
    const ColumnIndex column = sources_[i].target;
    if (spec.columns != nullptr && !spec.columns->has(column)) continue;
    if (!out.values.empty() && out.values.back().column == column) continue;
    out.values.push_back({value_at(patch_.values(i), entry), patch_.time(entry), column});
  }
  return true;
}

bool GroupCursor::read(std::uint32_t row, const ReadSpec& spec, RowBuilder& out) {
  out.clear();
  const std::uint32_t entry = patch_.find(row);
  const bool found =
      entry != GroupPatch::kNone ? read_replaced(entry, spec, out) : group_.read(row, spec, out);
  if (!found) return false;
  key(row, key_);
  out.key = as_bytes(key_);
  return true;
}

}  // namespace moraine::table
