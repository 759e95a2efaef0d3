#include "client/select_scan.h"

#include <algorithm>

#include "client/select_conditions.h"
#include "query/execute/kernel.h"
#include "query/ranges/infer.h"

namespace moraine::client {
namespace {

using table::KeyBounds;

bool is_empty(const KeyBounds& bounds) {
  return !bounds.to.empty() && bounds.from >= bounds.to;
}

// The piece of the bounds in [from, to) of one tablet.
KeyBounds within(const KeyBounds& bounds, const std::string& from, const std::string& to) {
  KeyBounds piece{.from = std::max(bounds.from, from), .to = bounds.to};
  if (!to.empty() && (piece.to.empty() || to < piece.to)) piece.to = to;
  return piece;
}

// Cuts a range of one tablet where its data allows it.
void add_cut(const OpenRange& tablet, const KeyBounds& bounds, std::size_t count,
             std::vector<KeyBounds>& pieces) {
  std::string from = bounds.from;
  if (tablet.running && count > 1) {
    for (std::string& key : tablet.running->reader().split_keys(bounds, count)) {
      if (key <= from || (!bounds.to.empty() && key >= bounds.to)) continue;
      pieces.push_back({.from = std::move(from), .to = key});
      from = std::move(key);
    }
  }
  pieces.push_back({.from = std::move(from), .to = bounds.to});
}

std::vector<ScanPart> parts_of(const OpenTable& open, const std::vector<KeyBounds>& ranges,
                               std::size_t lanes) {
  std::vector<std::pair<std::size_t, KeyBounds>> whole;  // With their tablets.
  for (const KeyBounds& range : ranges) {
    for (std::size_t i = 0; i < open.ranges.size(); ++i) {
      const bool last = i + 1 == open.ranges.size();
      KeyBounds piece =
          within(range, open.ranges[i].from, last ? std::string() : open.ranges[i + 1].from);
      if (!is_empty(piece)) whole.emplace_back(i, std::move(piece));
    }
  }
  const std::size_t wanted = lanes > 1 ? lanes * kPartsPerLane : 1;
  std::vector<KeyBounds> pieces;
  for (const auto& [tablet, bounds] : whole) {
    add_cut(open.ranges[tablet], bounds, wanted / whole.size(), pieces);
  }
  // Many ranges are small: several of them are one part.
  const std::size_t per_part =
      std::clamp<std::size_t>(pieces.size() / kRangesPerPart, 1, kRangesPerPart);
  std::vector<ScanPart> parts;
  for (KeyBounds& piece : pieces) {
    if (parts.empty() || parts.back().ranges.size() >= per_part) parts.emplace_back();
    parts.back().ranges.push_back(std::move(piece));
  }
  return parts;
}

}  // namespace

namespace {

Result<void> find_columns(const SelectContext& context, const query::Scan& scan, ScanInput& input) {
  const TableSchema& schema = *input.table->schema;
  std::vector<std::size_t> timestamps;  // Of the plan's columns, those with timestamps.
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    std::string_view name = scan.schema->columns[scan.columns[i]].name;
    const bool stamped = context.options.latest_timestamps && name.starts_with(kTimestampPrefix);
    if (stamped) name.remove_prefix(kTimestampPrefix.size());
    const auto found = schema.find(name);
    if (!found) return input.table->altered();
    std::vector<table::ColumnIndex>& to = stamped ? input.timestamps_of : input.columns;
    if (stamped) timestamps.push_back(i);
    input.places.push_back(to.size());
    to.push_back(static_cast<table::ColumnIndex>(*found));
  }
  for (const std::size_t i : timestamps) input.places[i] += input.columns.size();
  return {};
}

}  // namespace

Result<ScanInput> scan_input(SelectContext& context, const query::Scan& scan,
                             const query::Expression* predicate) {
  ScanInput input;
  input.table = context.tables.find(scan.path)->second;
  input.open = input.table->holder->hold();
  if (input.table->is_altered(*input.open)) return input.table->altered();
  TRY_VOID(find_columns(context, scan, input));
  if (predicate != nullptr && context.options.pushdown && input.timestamps_of.empty()) {
    PushedConditions pushed = push_conditions(*predicate);
    input.tested = !pushed.conditions.empty();
    input.residual = std::move(pushed.residual);
    for (table::ColumnCondition& condition : pushed.conditions) {
      condition.column = input.columns[condition.column];
      input.conditions.push_back(std::move(condition));
    }
  }
  std::vector<KeyBounds> ranges;
  for (const query::KeyRange& range : scan.ranges) {
    KeyBounds bounds = query::encode_range(range);
    if (!is_empty(bounds)) ranges.push_back(std::move(bounds));
  }
  input.parts = parts_of(*input.open, ranges, context.lanes.size());
  return input;
}

void PartReader::open_range() {
  NewScan scan;
  scan.client = &context_.client;
  scan.table = input_.open;
  scan.timeout = kScanTimeoutMax;
  scan.request.bounds = part_.ranges[range_++];
  scan.request.columns = input_.columns;
  scan.request.timestamps_of = input_.timestamps_of;
  scan.request.conditions = input_.conditions;
  scan.request.text_tables = true;
  scan.request.columnar = context_.options.columnar;
  scan.request.timestamp = context_.timestamp;
  scan.request.retention_timestamp = context_.options.retention_timestamp;
  scan_ = std::make_unique<Scan>(std::move(scan));
  before_ = {};
}

void PartReader::count() {
  const table::ScanStatistics now = scan_->statistics();
  visited_ = now.rows_read - before_.rows_read;
  bytes_ = now.bytes_read - before_.bytes_read;
  statistics_.blocks_read += now.blocks_read - before_.blocks_read;
  statistics_.blocks_skipped += now.blocks_skipped - before_.blocks_skipped;
  statistics_.rows_merged += now.rows_merged - before_.rows_merged;
  statistics_.rows_read += visited_;
  statistics_.bytes_read += bytes_;
  before_ = now;
}

Task<Result<bool>> PartReader::next(query::Batch& batch) {
  for (;;) {
    if (!scan_) {
      if (range_ == part_.ranges.size()) co_return false;
      open_range();
    }
    CO_TRY(const bool more, co_await scan_->next(batch_));
    count();
    if (more || visited_ > 0) {
      if (!more) scan_.reset();
      batch.rows = 0;
      if (more) show(batch);
      co_return true;
    }
    scan_.reset();
  }
}

void PartReader::show(query::Batch& batch) {
  const table::ColumnBatch& from = scan_->batch();
  batch.rows = from.rows;
  batch.columns.clear();
  tables_.resize(from.columns.size());
  for (const std::size_t place : input_.places) {
    batch.columns.push_back(show_column(place, from.columns[place]));
  }
}

query::Column PartReader::show_column(std::size_t number, const table::ColumnVector& from) {
  const std::size_t rows = batch_.rows;
  query::Column column{.type = from.type};
  if (from.nulls.size() >= rows) column.nulls = from.nulls.data();
  if (from.table) {
    HeldTable& held = tables_[number];
    if (held.table != from.table) held = {.table = from.table, .id = query::new_table_id()};
    column.texts = from.table->data();
    column.codes = from.codes.data();
    column.table_size = static_cast<std::uint32_t>(from.table->size());
    column.table_id = held.id;
    return column;
  }
  const bool text = query::is_text(from.type);
  // Without a value in any row.
  if ((text ? from.texts.size() : from.words.size()) < rows) {
    return query::constant_null(from.type);
  }
  column.words = text ? nullptr : from.words.data();
  column.texts = text ? from.texts.data() : nullptr;
  return column;
}

}  // namespace moraine::client
