#include "table/chunk/row_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/invariant.h"
#include "table/chunk/unit_writer.h"
#include "table/model/key.h"

namespace moraine::table {
namespace {

std::unexpected<Error> damaged(std::string_view what) {
  return fail(Errc::kCorrupt, fmt::format("row group: {}", what));
}

Result<void> take_version(VarintReader& in) {
  const auto version = in.fixed<std::uint8_t>();
  if (version == kGroupVersion) return {};
  return fail(Errc::kUnsupported, fmt::format("row group of version {}", version));
}

// Row numbers must ascend and bodies must be valid rows; hunk references are completed in place.
Result<void> check_irregular(MutableByteSpan raw, std::uint32_t rows, const TableSchema& schema,
                             const HunkPlaces& hunks) {
  const auto view = IrregularView::open(raw);
  if (!view) return std::unexpected(view.error());
  const std::vector<ValueType> types = value_types(schema);
  std::vector<const std::byte*> places;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < view->size(); ++i) {
    if (view->row(i) >= rows || (i > 0 && view->row(i) <= view->row(i - 1))) {
      return damaged("irregular rows");
    }
    if (!view->in_order(i, end)) return damaged("irregular rows' ends");
    VarintReader in(view->bytes(i));
    const auto kind = in.fixed<std::uint8_t>();
    // The newest timestamp is in another block: a wrong one only gives wrong timestamps.
    if (!check_row(in, types, kind, ~Timestamp{0}, places) || !in.finished()) {
      return damaged("an irregular row");
    }
  }
  if (!view->ends_at(end)) return damaged("irregular rows' end");
  for (const std::byte* place : places) {
    if (auto done = hunks.complete(raw.data() + (place - raw.data())); !done) return done;
  }
  return {};
}

Result<void> check_block(MutableByteSpan raw, std::uint32_t rows, std::uint32_t place,
                         const TableSchema& schema, const HunkPlaces& hunks) {
  const GroupLayout layout(schema);
  if (place == layout.irregular()) return check_irregular(raw, rows, schema, hunks);
  if (place == layout.times()) {
    if (auto times = TimesView::open(raw, rows); !times) {
      return std::unexpected(std::move(times.error()));
    }
    return {};
  }
  const std::size_t column = layout.column_at(place);
  const ValueType type = physical_type(schema.columns[column].type);
  if (auto segment = ColumnSegmentView::open(raw, rows, type, true); !segment) {
    return std::unexpected(std::move(segment.error()));
  }
  return {};
}

}  // namespace

GroupLayout::GroupLayout(const TableSchema& schema) {
  const std::size_t keys = schema.key_count();
  times_ = static_cast<std::uint32_t>(keys);
  place_.resize(schema.columns.size());
  std::uint32_t next = 0;
  for (; next < keys; ++next) place_[next] = next;
  ++next;
  std::vector<bool> placed(schema.columns.size());
  for (std::size_t i = keys; i < schema.columns.size(); ++i) {
    for (std::size_t j = i; j < schema.columns.size(); ++j) {
      const bool together = j == i || (!schema.columns[i].group.empty() &&
                                       schema.columns[i].group == schema.columns[j].group);
      if (placed[j] || !together) continue;
      placed[j] = true;
      place_[j] = next++;
    }
  }
}

std::size_t GroupLayout::column_at(std::uint32_t block) const {
  const auto found = std::ranges::find(place_, block);
  return found == place_.end() ? kNone : static_cast<std::size_t>(found - place_.begin());
}

Result<Slice> open_group_block(const StoredBlock& stored, std::uint32_t place,
                               const TableSchema& schema, const HunkPlaces& hunks) {
  if (stored.rows == 0 || stored.rows > kWordsMax || stored.raw_bytes > kCodecBytesMax) {
    return damaged("its size");
  }
  Buffer memory(stored.raw_bytes + kGroupPadding);
  const MutableByteSpan raw = memory.span().first(stored.raw_bytes);
  std::memset(memory.data() + stored.raw_bytes, 0, kGroupPadding);
  if (auto done = decompress_into(stored.codec, stored.bytes, raw); !done) {
    return std::unexpected(std::move(done.error()));
  }
  if (auto done = check_block(raw, stored.rows, place, schema, hunks); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return std::move(memory).freeze().sub(0, stored.raw_bytes);
}

Result<TimesView> TimesView::open(ByteSpan bytes, std::uint32_t rows) {
  VarintReader in(bytes);
  if (auto fine = take_version(in); !fine) return std::unexpected(std::move(fine.error()));
  TimesView view;
  if (!view.seconds_.take(in) || !view.counters_.take(in) || !in.finished() ||
      view.seconds_.size() != rows || view.counters_.size() != rows) {
    return damaged("its timestamps");
  }
  return view;
}

Timestamp TimesView::get(std::size_t row) const {
  return make_time({.seconds = seconds_.get(row), .counter = counters_.get(row)});
}

void TimesView::decode(std::vector<Timestamp>& out) const {
  out.resize(seconds_.size());
  std::vector<std::uint64_t> counters(counters_.size());
  seconds_.decode(out.data());
  counters_.decode(counters.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = make_time({.seconds = out[i], .counter = counters[i]});
  }
}

Result<IrregularView> IrregularView::open(ByteSpan bytes) {
  VarintReader in(bytes);
  if (auto fine = take_version(in); !fine) return std::unexpected(std::move(fine.error()));
  IrregularView view;
  const bool words = view.rows_.take(in) && view.ends_.take(in);
  view.bytes_ = in.sized();
  if (!words || !in.finished() || view.rows_.size() != view.ends_.size()) {
    return damaged("its irregular rows");
  }
  return view;
}

bool IrregularView::in_order(std::size_t i, std::uint64_t& end) const {
  const std::uint64_t begin = std::exchange(end, ends_.get(i));
  return end >= begin && end <= bytes_.size();
}

ByteSpan IrregularView::bytes(std::size_t i) const {
  const std::uint64_t from = i == 0 ? 0 : ends_.get(i - 1);
  return bytes_.subspan(from, ends_.get(i) - from);
}

std::size_t IrregularView::find(std::uint64_t row) const {
  std::size_t low = 0;
  std::size_t high = rows_.size();
  while (low < high) {
    const std::size_t mid = low + (high - low) / 2;
    const std::uint64_t at = rows_.get(mid);
    if (at == row) return mid;
    if (at < row) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return kNone;
}

RowGroup::RowGroup(const TableSchema& schema, const GroupLayout& layout, const ReadPlan& plan)
    : schema_(&schema),
      layout_(&layout),
      plan_(&plan),
      key_count_(schema.key_count()),
      columns_(schema.columns.size()) {}

std::vector<std::uint32_t> RowGroup::needed(const ColumnSet* columns) const {
  std::vector<std::uint32_t> places;
  for (std::uint32_t place = 0; place <= layout_->times(); ++place) places.push_back(place);
  for (std::size_t i = 0; i < plan_->columns.size(); ++i) {
    if (plan_->wants(i, columns)) places.push_back(layout_->column(key_count_ + i));
  }
  places.push_back(layout_->irregular());
  std::ranges::sort(places);
  return places;
}

void RowGroup::begin(std::uint32_t rows) {
  rows_ = rows;
}

void RowGroup::set(std::uint32_t place, ByteSpan block) {
  if (place == layout_->times()) {
    const auto times = TimesView::open(block, rows_);
    INVARIANT(times, "a block that was checked: {}", times.error().message());
    times_ = *times;
  } else if (place == layout_->irregular()) {
    const auto irregular = IrregularView::open(block);
    INVARIANT(irregular, "a block that was checked: {}", irregular.error().message());
    irregular_ = *irregular;
  } else {
    const std::size_t column = layout_->column_at(place);
    const ValueType type = physical_type(schema_->columns[column].type);
    const auto segment = ColumnSegmentView::open(block, rows_, type, false);
    INVARIANT(segment, "a block that was checked: {}", segment.error().message());
    columns_[column] = *segment;
  }
}

void RowGroup::key(std::uint32_t row, std::string& out) const {
  out.clear();
  for (std::size_t i = 0; i < key_count_; ++i) append_key_column(out, columns_[i].get(row));
}

std::uint32_t RowGroup::lower_bound(ByteSpan key_wanted) const {
  std::uint32_t low = 0;
  std::uint32_t high = rows_;
  while (low < high) {
    const std::uint32_t mid = low + (high - low) / 2;
    key(mid, key_);
    if (compare_keys(as_bytes(key_), key_wanted) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

bool RowGroup::read(std::uint32_t row, const ReadSpec& spec, RowBuilder& out) const {
  const Timestamp newest = times_.get(row);
  if (irregular_.size() != 0) {
    if (const std::size_t at = irregular_.find(row); at != IrregularView::kNone) {
      const ByteSpan bytes = irregular_.bytes(at);
      return read_row(bytes.data() + 1, static_cast<std::uint8_t>(bytes[0]), *plan_, newest, spec,
                      out);
    }
  }
  if (newest > spec.timestamp) return false;
  const std::size_t from = out.values.size();
  for (std::size_t i = 0; i < plan_->columns.size(); ++i) {
    if (!plan_->wants(i, spec.columns)) continue;
    const ColumnSegmentView& segment = columns_[key_count_ + i];
    if (segment.is_absent(row)) continue;
    out.values.push_back(
        {.value = segment.get(row), .timestamp = newest, .column = plan_->columns[i].target});
  }
  out.write_timestamps.push_back(newest);
  if (!plan_->ordered) put_in_column_order(out, from);
  return true;
}

}  // namespace moraine::table
